package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/config"
)

// A child sees no headers, so what they repeat of a call's arguments is checked
// for it, as an HTTP server of 2026-07-28 has to.
func TestModernHeadersOfAChildsTool(t *testing.T) {
	const table = `{"resultType":"complete","tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"say":{"type":"string","x-mcp-header":"Say"}}}}],"ttlMs":0,"cacheScope":"private"}`
	alone := config.Server{Name: "a", Command: "a"}
	prefixed := alone
	prefixed.Prefix = "x"
	for name, server := range map[string]config.Server{"echo": alone, "x_echo": prefixed} {
		t.Run(name, func(t *testing.T) {
			f := newModernFake("a")
			f.answers["tools/list"] = table
			s := newSite(t, "{}", map[string]*fake{"a": f}, server)
			list := func() {
				t.Helper()
				if got := s.mustModern("ann", "tools/list", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`); !strings.Contains(got, `"`+name+`"`) {
					t.Fatal(got)
				}
			}
			call := func(say string, header ...string) (int, string) {
				t.Helper()
				body := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + name + `","arguments":{` + say + `},` + modernMeta + `}}`
				r, err := http.NewRequestWithContext(t.Context(), "POST", s.web.URL+"/mcp", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header = http.Header{
					"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "X-Caller": {"ann"},
					"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {name}, "Mcp-Param-Say": header,
				}
				resp, err := s.web.Client().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				got, _ := io.ReadAll(resp.Body)
				return resp.StatusCode, string(got)
			}
			list()
			f.take()
			for why, c := range map[string]struct {
				say    string
				header []string
			}{
				"missing":        {`"say":"hi"`, nil},
				"other":          {`"say":"hi"`, []string{"ho"}},
				"twice":          {`"say":"hi"`, []string{"hi", "hi"}},
				"badly sealed":   {`"say":"hi"`, []string{"=?base64?aGk!?="}},
				"of no argument": {``, []string{"hi"}},
			} {
				status, got := call(c.say, c.header...)
				if status != 400 || !strings.Contains(got, `"code":-32020`) || !strings.Contains(got, "Mcp-Param-Say") || !strings.Contains(got, `"id":2`) {
					t.Errorf("%s: status %d, %s", why, status, got)
				}
			}
			for _, seen := range f.take() {
				if strings.HasPrefix(seen, "tools/call") { // the other era's process may be told that it is initialized
					t.Errorf("the child was asked %q", seen)
				}
			}
			for _, header := range []string{"hi", "=?base64?aGk=?="} {
				if status, got := call(`"say":"hi"`, header); status != 200 || !strings.Contains(got, `"text":"hi"`) {
					t.Errorf("header %s: status %d, %s", header, status, got)
				}
			}
			if status, got := call(``); status != 200 {
				t.Errorf("neither header nor argument: status %d, %s", status, got)
			}
			// The tool changes: what its new schema does not say, it needs no more.
			f.mu.Lock()
			f.answers["tools/list"] = strings.Replace(table, `,"x-mcp-header":"Say"`, "", 1)
			f.mu.Unlock()
			list()
			if status, got := call(`"say":"hi"`); status != 200 {
				t.Errorf("after a change: status %d, %s", status, got)
			}
		})
	}
}
