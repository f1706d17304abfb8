package httpmcp_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/httpmcp/sse"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// echoUpstream answers each request with its own params, as JSON or as a stream
// with something before it, at random.
func echoUpstream(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		msg, _ := io.ReadAll(r.Body)
		m, err := wire.Scan(msg)
		switch {
		case r.Method == "GET":
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case err != nil || m.Kind != wire.Request:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		body := []byte(`{"protocolVersion":"2025-11-25"}`)
		if wire.StringIs(m.Method.Of(msg), "initialize") {
			w.Header().Set(httpmcp.HeaderSession, "s")
		} else {
			body = m.Params.Of(msg)
		}
		answer := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID.Of(msg), body)
		if rand.N(2) == 0 {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(answer)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for range rand.N(3) {
			_ = sse.Write(w, sse.Head{}, []byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"of":`), m.ID.Of(msg), []byte(`}}`))
		}
		_ = sse.Write(w, sse.Head{}, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// last posts a message and returns what came last, with the id that all before
// it named.
func last(t *testing.T, url, msg, id string, h http.Header) []byte {
	r, err := http.NewRequest("POST", url, strings.NewReader(msg))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = h
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		return body
	}
	var data []byte
	for events := sse.NewReader(resp.Body, 0); ; {
		ev, err := events.Next()
		if err == io.EOF {
			return data
		}
		if err != nil {
			t.Error(err)
			return nil
		}
		if len(ev.Data) > 0 {
			data = ev.Data
			if !bytes.Contains(data, []byte(`"of":`+id+`}`)) && !bytes.Contains(data, []byte(`"id":`+id+`,`)) {
				t.Errorf("call %s was sent %s", id, data)
			}
		}
	}
}

// Many callers at once, of both eras and with all forms of ids, and nobody gets
// what is another's.
func TestManyCallersAtOnce(t *testing.T) {
	url := relayTo(t, echoUpstream(t)).URL
	var wg sync.WaitGroup
	for n := range 40 {
		wg.Go(func() {
			h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
			meta := ""
			if n%2 == 0 {
				meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
				h["Mcp-Protocol-Version"], h["Mcp-Method"] = []string{"2026-07-28"}, []string{"echo"}
			} else {
				r, _ := http.NewRequest("POST", url, strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`))
				r.Header = h
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				h = h.Clone()
				h["Mcp-Session-Id"], h["Mcp-Protocol-Version"] = resp.Header["Mcp-Session-Id"], []string{"2025-11-25"}
			}
			for i := range 25 {
				id := []string{fmt.Sprint(i), fmt.Sprintf(`"%d"`, i), fmt.Sprint(9007199254740993 + i)}[i%3]
				params := fmt.Sprintf(`{"n":%d,"i":%d,"pad":%q%s}`, n, i, strings.Repeat("x", rand.N(20_000)), meta)
				got := last(t, url, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"echo","params":%s}`, id, params), id, h)
				if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, params); string(got) != want {
					t.Errorf("call %d of caller %d:\ngot  %.200s\nwant %.200s", i, n, got, want)
				}
			}
		})
	}
	wg.Wait()
	http.DefaultClient.CloseIdleConnections()
}

// K60: messages of up to 64 MiB pass both edges both ways; over it there is a
// clear error and all goes on.
func TestK60_LargeMessages(t *testing.T) {
	url := relayTo(t, echoUpstream(t)).URL
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"echo"}}
	for _, size := range []int{65_536, 1 << 20, 50_000_000, 65 << 20} {
		params := `{"pad":"` + strings.Repeat("x", size) + `","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
		got := last(t, url, `{"jsonrpc":"2.0","id":1,"method":"echo","params":`+params+`}`, "1", h)
		if size > 64<<20 {
			if !bytes.Contains(got, []byte("over the limit of 67108864 bytes")) {
				t.Errorf("%d bytes: %.200s", size, got)
			}
			continue
		}
		if !bytes.Equal(got, []byte(`{"jsonrpc":"2.0","id":1,"result":`+params+`}`)) {
			t.Errorf("%d bytes came out changed: %d, %.100s", size, len(got), got)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
