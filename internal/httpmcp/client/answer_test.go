package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/httpmcp/client"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// What upstreams answer to a request, and what becomes of it, in both eras.
func TestAnswers(t *testing.T) {
	event := func(data string) string { return "data: " + data + "\n\n" }
	for _, c := range []struct {
		name   string
		answer func(w http.ResponseWriter)
		want   []string
		err    string // a part of it
	}{
		{"JSON", func(w http.ResponseWriter) { sendJSON(w, 200, result) }, []string{result}, ""},
		{"JSON with spaces and repeated keys", func(w http.ResponseWriter) {
			sendJSON(w, 200, " {\"id\":1,\r\n\"id\" : 1.0, \"result\":{\"n\":1e400,\"n\":2}}\n")
		},
			[]string{" {\"id\":1,\r\n\"id\" : 1.0, \"result\":{\"n\":1e400,\"n\":2}}\n"}, ""},
		{"unknown members", func(w http.ResponseWriter) { sendJSON(w, 200, `{"id":1,"foo":[],"result":null}`) }, []string{`{"id":1,"foo":[],"result":null}`}, ""},
		{"a batch of one", func(w http.ResponseWriter) { sendJSON(w, 200, "["+progress+", "+result+"]") }, []string{progress, result}, ""},
		{"an error with a null id", func(w http.ResponseWriter) {
			sendJSON(w, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000.0,"message":"m"}}`)
		}, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32000.0,"message":"m"}}`}, ""},
		{"an error without an id", func(w http.ResponseWriter) { sendJSON(w, 200, `{"error":{"code":1,"message":"m"}}`) },
			[]string{`{"error":{"code":1,"message":"m"},"id":1}`}, ""},
		{"404 with the error that means it", func(w http.ResponseWriter) {
			sendJSON(w, 404, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}`)
		}, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}`}, ""},
		{"a stream", func(w http.ResponseWriter) { sendStream(w, event(progress), event(result)) }, []string{"stream", progress, result}, ""},
		{"a stream with everything", func(w http.ResponseWriter) {
			sendStream(w, "\xEF\xBB\xBF: hello\r", "\n\r\nid\r\nretry: 5\ndata\n\n", "event: ping\ndata: 1\n\n", "data: {\"id\":1,\ndata:\"result\":\r\ndata: {}}\n", "\n", event(result))
		}, []string{"stream", "{\"id\":1,\n\"result\":\n{}}"}, ""},
		{"a stream with lines that are no message", func(w http.ResponseWriter) { sendStream(w, event("hello"), event("{}"), event(result)) }, []string{"stream", result}, ""},
		{"a stream with a request of the server", func(w http.ResponseWriter) {
			sendStream(w, event(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`), event(result))
		}, []string{"stream", `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`, result}, ""},
		{"a stream with another's response", func(w http.ResponseWriter) { sendStream(w, event(`{"id":"1","result":{}}`), event(result)) }, []string{"stream", `{"id":"1","result":{}}`, result}, ""},
		{"a stream with an error of no request", func(w http.ResponseWriter) {
			sendStream(w, event(`{"id":null,"error":{"code":-32000.0,"message":"m"}}`), event(result))
		}, []string{"stream", result}, ""},
		{"a stream with nothing but an error of no request", func(w http.ResponseWriter) {
			sendStream(w, event(progress), event(`{"id":null,"error":{"code":-32000.0,"message":"m"}}`))
		}, []string{"stream", progress, `{"id":1,"error":{"code":-32000.0,"message":"m"}}`}, ""},
		{"a stream that stays open behind the response", func(w http.ResponseWriter) {
			sendStream(w, event(result), strings.Repeat(": more\n", 100_000))
		}, []string{"stream", result}, ""},
		{"a stream that ends early", func(w http.ResponseWriter) { sendStream(w, event(progress)) }, []string{"stream", progress}, "ended without a response: upstream up ended the stream"},
		{"a stream cut within an event", func(w http.ResponseWriter) { sendStream(w, event(progress), "data: {") }, []string{"stream", progress}, "ended without a response"},
		{"a body cut short", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			sendJSON(w, 200, result)
		}, nil, "ended without a response"},
		{"another type", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
		}, nil, `content of type "text/html"`},
		{"no JSON", func(w http.ResponseWriter) { sendJSON(w, 200, "hello") }, nil, "a body that is none"},
		{"another message", func(w http.ResponseWriter) { sendJSON(w, 200, progress) }, []string{progress}, "not it"},
		{"202", func(w http.ResponseWriter) { w.WriteHeader(202) }, nil, "with status 202"},
		{"500", func(w http.ResponseWriter) { http.Error(w, "a\n b", 500) }, nil, "upstream up answered with HTTP status 500 Internal Server Error: a b"},
		{"401", func(w http.ResponseWriter) { http.Error(w, "", http.StatusUnauthorized) }, nil, "status 401"},
		{"the connection is cut", func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }, nil, "upstream up at http://127.0.0.1"},
		{"too large", func(w http.ResponseWriter) { sendJSON(w, 200, strings.Repeat(" ", 200_000)) }, nil, "message of 200000 bytes is over the limit of 100000"},
		{"too large, of unknown length", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, strings.Repeat(" ", 200_000))
		}, nil, "over the limit of 100000"},
		{"too large in a stream", func(w http.ResponseWriter) { sendStream(w, event(progress), event(strings.Repeat("x", 150_000))) }, []string{"stream", progress}, "message of 150000 bytes is over the limit of 100000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			up := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if !initialized(w, r, bodyOf(r)) {
					c.answer(w)
				}
			})
			u := upstream(t, up.URL, client.Options{MaxFrame: 100_000})
			for _, modern := range []bool{false, true} {
				var l log
				var err error
				if modern {
					err = u.Stateless(t.Context(), out(modernCall), l.answer())
				} else {
					s := opened(t, u)
					err = s.Send(t.Context(), out(call), l.answer())
					if c.name[:3] == "404" { // there it says that the session is lost
						if !errors.Is(err, client.ErrSessionLost) {
							t.Error(err)
						}
						continue
					}
				}
				l.want(t, c.want...)
				if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
					t.Errorf("modern %v: got error %v, want %q", modern, err, c.err)
				}
			}
		})
	}
}

func TestScannedSavesASecondScan(t *testing.T) {
	up := serve(t, func(w http.ResponseWriter, r *http.Request) { sendJSON(w, 200, result) })
	var got string
	err := upstream(t, up.URL, client.Options{}).Stateless(t.Context(), out(modernCall), client.Answer{Scanned: func(msg []byte, m wire.Message) {
		got = string(m.Result.Of(msg))
	}})
	if err != nil || got != `{"ok":true}` {
		t.Error(got, err)
	}
}

func TestNotificationsAndResponsesAreTaken(t *testing.T) {
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if body := bodyOf(r); !initialized(w, r, body) {
			w.WriteHeader(202)
		}
	})
	u := upstream(t, up.URL, client.Options{})
	s := opened(t, u)
	for _, msg := range []string{progress, result} {
		if err := s.Send(t.Context(), out(msg), client.Answer{}); err != nil {
			t.Error(err)
		}
	}
	if err := u.Stateless(t.Context(), out(progress), client.Answer{}); err != nil {
		t.Error(err)
	}
}

func TestHeadersRepeatTheBody(t *testing.T) {
	var got http.Header
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		sendJSON(w, 200, result)
	})
	params, err := httpmcp.Params([]byte(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},
		"deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"deep-n"},"s":{"type":"string","x-mcp-header":"S"}}},
		"no":{"type":"string","x-mcp-header":"No"},"absent":{"type":"boolean","x-mcp-header":"Absent"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	o := out(modernCall)
	o.Params = params
	o.Header = http.Header{"Mcp-Param-Region": {"client's own"}, "Mcp-Session-Id": {"x"}}
	if err := upstream(t, up.URL, client.Options{}).Stateless(t.Context(), o, client.Answer{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?w6k=?=",
		"Mcp-Param-Region": "eu", "Mcp-Param-Deep-N": "5", "Mcp-Param-S": "=?base64?w7w=?=", "Mcp-Param-No": "", "Mcp-Param-Absent": "",
		"Mcp-Session-Id": "", "Accept": "application/json, text/event-stream", "Content-Type": "application/json", "Accept-Encoding": "",
	} {
		if got.Get(name) != want {
			t.Errorf("%s: got %q, want %q", name, got.Get(name), want)
		}
	}
}

// What a modern client says of its arguments is for the upstream to check.
func TestParamHeadersPassAsTheyCame(t *testing.T) {
	var got http.Header
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		sendJSON(w, 200, result)
	})
	o := out(modernCall)
	o.Params = []httpmcp.Param{{Header: "Mcp-Param-Region", Path: []string{"region"}, Type: "string"}, {Header: "Mcp-Param-S", Path: []string{"deep", "s"}, Type: "string"}}
	o.Header = http.Header{"Mcp-Method": {"tools/call"}, "Mcp-Name": {"another"}, "Mcp-Param-Region": {"wrong"}, "Mcp-Param-Unknown": {"=?base64?!?="}}
	if err := upstream(t, up.URL, client.Options{}).Stateless(t.Context(), o, client.Answer{}); err != nil {
		t.Fatal(err)
	}
	if got.Get("Mcp-Param-Region") != "wrong" || got.Get("Mcp-Param-Unknown") != "=?base64?!?=" || got["Mcp-Param-S"] != nil || got.Get("Mcp-Name") != "=?base64?w6k=?=" {
		t.Error(got)
	}
}

func TestModernEndOfContextClosesTheResponse(t *testing.T) {
	gone := make(chan bool)
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = bodyOf(r)
		sendStream(w, "data: "+progress+"\n\n")
		<-r.Context().Done()
		gone <- true
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("the client has gone")
	err := upstream(t, up.URL, client.Options{}).Stateless(ctx, out(modernCall), client.Answer{Message: func([]byte) { cancel(mine) }})
	if err != mine {
		t.Error(err)
	}
	<-gone
}

func TestSilentUpstream(t *testing.T) {
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = bodyOf(r)
		sendStream(w, "data: "+progress+"\n\n")
		<-r.Context().Done()
	})
	err := upstream(t, up.URL, client.Options{SilentTime: 20 * time.Millisecond}).Stateless(t.Context(), out(modernCall), client.Answer{})
	if err == nil || !strings.Contains(err.Error(), "silent for too long") {
		t.Error(err)
	}
}

func TestProbe(t *testing.T) {
	discover := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	for _, c := range []struct {
		status int
		body   string
		era    client.Era
		fails  bool
	}{
		{200, `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}`, client.Modern, false},
		{400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":""}}`, client.Modern, false},
		{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":""}}`, client.Modern, false},
		{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}`, client.Legacy, false},
		{200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":""}}`, client.Legacy, false},
		{200, `{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":""}}`, client.Legacy, false},
		{404, `not found`, client.Legacy, false},
		{405, ``, client.Legacy, false},
		{202, ``, client.Legacy, false},
		{200, `{"jsonrpc":"2.0","id":1,"result":{}}`, client.Legacy, false},
		{http.StatusUnauthorized, ``, client.Legacy, true},
		{503, ``, client.Legacy, true},
	} {
		up := serve(t, func(w http.ResponseWriter, r *http.Request) { sendJSON(w, c.status, c.body) })
		era, _, err := upstream(t, up.URL, client.Options{}).Probe(t.Context(), out(discover))
		if era != c.era || (err != nil) != c.fails {
			t.Errorf("%d %s: %v %v", c.status, c.body, era, err)
		}
	}
	u := upstream(t, "http://127.0.0.1:1", client.Options{})
	if _, _, err := u.Probe(t.Context(), out(discover)); err == nil {
		t.Error("nobody listens there")
	}
}
