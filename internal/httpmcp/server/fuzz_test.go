package server_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/httpmcp/server"
)

// FuzzRequest sends what nobody should. Whatever it is, it is answered, with
// JSON where there is a body, and leaves nothing open.
func FuzzRequest(f *testing.F) {
	f.Add("POST", modernCall, "2026-07-28", "tools/call", "x", "", "")
	f.Add("POST", call1, "2025-11-25", "", "", "session", "")
	f.Add("POST", "["+call1+`,{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]`, "", "", "", "session", "")
	f.Add("GET", "", "2025-11-25", "", "", "session", "0-0")
	f.Add("GET", "", "2025-11-25", "", "", "session", "18446744073709551615-18446744073709551615")
	f.Add("DELETE", "", "", "", "", "nope", "")
	f.Add("POST", `{"id":null,"method":"initialize","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":5}}}`, "2026-07-28", "=?base64??=", "\xff", "", "")
	f.Fuzz(func(t *testing.T, method, body, revision, mcpMethod, name, session, last string) {
		if strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || method == "" {
			return
		}
		k := &core{}
		s := server.New(k, server.Options{})
		defer s.Close()
		begin := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`))
		begin.Header.Set("Content-Type", "application/json")
		first := httptest.NewRecorder()
		s.ServeHTTP(first, begin)

		r := httptest.NewRequest(method, "http://localhost/mcp", strings.NewReader(body))
		if session == "session" {
			session = first.Header().Get("Mcp-Session-Id")
		}
		for key, value := range map[string]string{"Content-Type": "application/json", "Mcp-Session-Id": session, "Mcp-Protocol-Version": revision, "Mcp-Method": mcpMethod, "Mcp-Name": name, "Last-Event-ID": last} {
			if value != "" {
				r.Header.Set(key, value)
			}
		}
		w := httptest.NewRecorder()
		if method == "GET" && session != "" {
			k.last().Close() // its stream would not end
		}
		s.ServeHTTP(w, r)
		if w.Code == 0 || w.Code >= 500 {
			t.Errorf("status %d", w.Code)
		}
		if w.Body.Len() > 0 && w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) && json.Valid([]byte(body)) {
			t.Errorf("no JSON: %s", w.Body)
		}
		until(t, "nothing is left open", func() bool { n := s.Counts(); return n.Calls == 0 && n.Streams == 0 })
	})
}
