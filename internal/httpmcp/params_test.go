package httpmcp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/wire"
)

func TestParams(t *testing.T) {
	for schema, want := range map[string]string{
		`{}`: "[]",
		`{"type":"object","properties":{"a":{"type":"string"}}}`:                                                                  "[]",
		`{"properties":{"b":{"type":"integer","x-mcp-header":"B-b"},"a":{"type":"string","x-mcp-header":"A"}}}`:                   "[{Mcp-Param-B-B [b] integer} {Mcp-Param-A [a] string}]",
		`{"properties":{"o":{"properties":{"a.b":{"type":"boolean","x-mcp-header":"X"}}}}}`:                                       "[{Mcp-Param-X [o a.b] boolean}]",
		`{"properties":{"o":{"items":{"properties":{"a":{"type":"boolean","x-mcp-header":"X"}}}},"t":true}}`:                      "[]",
		`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`:                                                               `property "a": x-mcp-header needs a string, integer or boolean, got type "number"`,
		`{"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}}`:                                                      `got type ""`,
		`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`:                                                                "no header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":5}}}`:                                                                 "no header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"A b"}}}`:                                                             "no header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"A\r\nX: y"}}}`:                                                       "no header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"o":{"properties":{"b":{"type":"string","x-mcp-header":"a"}}}}}`: `property "o.b": x-mcp-header "a" is there twice`,
	} {
		params, err := httpmcp.Params([]byte(schema))
		got := fmt.Sprint(params)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", schema, got, want)
		}
	}
	deep := strings.Repeat(`{"properties":{"a":`, 100_000)
	if _, err := httpmcp.Params([]byte(deep)); err != nil {
		t.Error(err)
	}
}

func TestCheckParams(t *testing.T) {
	params, err := httpmcp.Params([]byte(`{"properties":{"s":{"type":"string","x-mcp-header":"S"},"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":"boolean","x-mcp-header":"B"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, headers string
		ok            bool
	}{
		{`{}`, ``, true},
		{`{"s":null}`, ``, true},
		{`{"s":"a"}`, `S=a`, true},
		{`{"s":"a"}`, ``, false},
		{`{"s":"a"}`, `S=b`, false},
		{`{"s":"a"}`, `S=A`, false},
		{`{}`, `S=a`, false},
		{`{"s":null}`, `S=a`, false},
		{`{"s":"\u00fc"}`, `S==?base64?w7w=?=`, true},
		{`{"s":"Hello"}`, `S==?base64?SGVsbG8=?=`, true},
		{`{"s":"Hello"}`, `S==?base64?SGVsbG8?=`, false},
		{`{"s":"Hello"}`, `S==?base64?SGVs!!!bG8=?=`, false},
		{`{"s":"SGVsbG8="}`, `S=SGVsbG8=`, true},
		{`{"s":"=?base64?SGVsbG8="}`, `S==?base64?SGVsbG8=`, true},
		{`{"n":5}`, `N=5`, true},
		{`{"n":5.0}`, `N=5`, true},
		{`{"n":5}`, `N=5.0`, true},
		{`{"n":9007199254740993}`, `N=9007199254740993`, true},
		{`{"n":9007199254740993}`, `N=9007199254740992`, false},
		{`{"n":5.5}`, `N=5.5`, false},
		{`{"n":5}`, `N=6`, false},
		{`{"b":true}`, `B=true`, true},
		{`{"b":true}`, `B=True`, false},
		{`{"s":["a"]}`, `S=a`, false},
		{`{"s":"a"}`, `Other=a;S=a`, true},
	} {
		h := http.Header{}
		for pair := range strings.SplitSeq(c.headers, ";") {
			if name, value, ok := strings.Cut(pair, "="); ok {
				h.Set("Mcp-Param-"+name, value)
			}
		}
		msg := []byte(`{"arguments":` + c.args + `}`)
		args := wire.Member(msg, wire.Span{End: len(msg)}, "arguments")
		e := httpmcp.CheckParams(h, params, msg, args)
		if (e == nil) != c.ok || e != nil && e.Code != httpmcp.CodeHeaderMismatch {
			t.Errorf("%s with %s: %v", c.args, c.headers, e)
		}
		// What we set ourselves passes our own check.
		own := http.Header{}
		httpmcp.SetParams(own, params, msg, args)
		if e := httpmcp.CheckParams(own, params, msg, args); e != nil && !strings.Contains(e.Message, "no string, integer") {
			t.Errorf("%s: %v", c.args, e)
		}
	}
}

func FuzzValue(f *testing.F) {
	for _, s := range []string{"", "plain", " x", "ü", "=?base64?eA==?=", "a\r\nb", "\x00", "=?base64??="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		enc := httpmcp.EncodeValue(s)
		if strings.ContainsFunc(enc, func(r rune) bool { return r < ' ' || r > '~' }) || strings.TrimSpace(enc) != enc {
			t.Errorf("%q is no header value", enc)
		}
		if dec, ok := httpmcp.DecodeValue(enc); !ok || dec != s {
			t.Errorf("%q became %q", s, dec)
		}
	})
}

func FuzzParams(f *testing.F) {
	f.Add([]byte(`{"properties":{"s":{"type":"string","x-mcp-header":"S"},"o":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		params, err := httpmcp.Params(schema)
		if err != nil {
			return
		}
		for _, p := range params {
			if !strings.HasPrefix(p.Header, "Mcp-Param-") || strings.ContainsAny(p.Header, " :\r\n") || len(p.Path) == 0 {
				t.Errorf("%+v", p)
			}
		}
	})
}

func TestErrorsAreJSON(t *testing.T) {
	e := &httpmcp.Error{Code: -1, Message: "a\"\\\n\x00\xff", Data: []byte(`{"a":1}`)}
	if got := string(e.Response([]byte(`"x"`))); got != `{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"a\"\\\n\u0000`+"\uFFFD"+`","data":{"a":1}}}` || !utf8.ValidString(got) {
		t.Error(got)
	}
	if got := string(httpmcp.Errorf(5, "m").Response(nil)); got != `{"jsonrpc":"2.0","id":null,"error":{"code":5,"message":"m"}}` {
		t.Error(got)
	}
}
