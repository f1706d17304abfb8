package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestScan(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		kind     Kind
		id       string
		method   string
	}{
		{"request", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}`, Request, `7`, `"tools/call"`},
		{"id zero", ` {"id":0,"method":"ping"} `, Request, `0`, `"ping"`},
		{"string id with a quote", `{"id":"a\"b","method":"ping"}`, Request, `"a\"b"`, `"ping"`},
		{"beyond 2^53", `{"id":9007199254740993,"result":{}}`, Response, `9007199254740993`, ``},
		{"null id", `{"id":null,"error":{"code":-32000.0}}`, Response, `null`, ``},
		{"id last", `{"result":{"id":1,"a":["]}"]},"jsonrpc":"2.0","id":2}`, Response, `2`, ``},
		{"duplicate: last wins", `{"id":1,"id":2,"result":[]}`, Response, `2`, ``},
		{"escaped member name", `{"\u0069d":5,"result":null}`, Response, `5`, ``},
		{"notification", `{"method":"notifications/progress","params":{}}`, Notification, ``, `"notifications/progress"`},
		{"batch", `[{"method":"a"},{"method":"b","id":1}]`, Batch, ``, ``},
		{"raw byte 0xFF (K23)", "{\"id\":1,\"result\":{\"a\":\"\xff\"}}", Response, `1`, ``},
		{"backslashes before a quote", `{"a":"\\\\","id":3,"result":"\\\""}`, Response, `3`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Scan([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(m.ID.Of([]byte(tt.in))); m.Kind != tt.kind || got != tt.id {
				t.Errorf("kind %d id %s, want %d %s", m.Kind, got, tt.kind, tt.id)
			}
			if got := string(m.Method.Of([]byte(tt.in))); got != tt.method {
				t.Errorf("method %s, want %s", got, tt.method)
			}
		})
	}
}

func TestScanRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"K64 banner":            "Secure MCP Filesystem Server running on stdio",
		"banner with a bracket": "[INFO] ready",
		"banner with a brace":   "{starting}",
		"empty object":          "{}",
		"no message":            `{"level":"info","msg":"ready"}`,
		"cut off":               `{"id":1,"result":{"a":"b`,
		"two values":            `{"id":1,"result":{}}{"id":2,"result":{}}`,
		"empty array":           "[]",
		"array of numbers":      "[1,2]",
		"blank":                 "  ",
	} {
		if m, err := Scan([]byte(in)); err == nil {
			t.Errorf("%s: %q scanned as %+v", name, in, m)
		}
	}
}

func TestScanDoesNotAllocate(t *testing.T) {
	in := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{"a":"` +
		strings.Repeat(`\"k\": `, 1000) + `"}}}`)
	if n := testing.AllocsPerRun(10, func() {
		m, err := Scan(in)
		if err != nil || !Path(in, m.Params, "arguments", "a").Present() {
			t.Fatal("lost a member")
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestScanDepth(t *testing.T) {
	deep := `{"id":1,"result":` + strings.Repeat("[", 1e6) + strings.Repeat("]", 1e6) + `}`
	if _, err := Scan([]byte(deep)); err != nil {
		t.Error(err)
	}
}

// FuzzScan holds Scan to encoding/json on everything that is valid JSON.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,2,{"b":"\\\""}]}}`,
		`{"id":1.0e3,"id":"x","result":{"\u0069d":null}}`, `[{"id":1,"error":{}}]`, `{"a":"\ud83d\ude00"}`,
		` { "method" : "x" , "params" : [ ] } `, `{"id":1,"result":{"a":1},"result":{"b":2}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := Scan(in)
		for it := ElementsOf(in, Span{0, len(in)}); it.Next(); {
			_ = it.Value().Of(in)
		}
		if !json.Valid(in) {
			return
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(in, &want) != nil || want == nil {
			if err == nil && m.Kind != Batch {
				t.Fatalf("scanned as %+v, encoding/json says no object", m)
			}
			return
		}
		// encoding/json replaces invalid UTF-8 in names; the members we look
		// for are plain, so nothing else may be compared.
		n := 0
		for it := MembersOf(in, Span{0, len(in)}); it.Next(); {
			n++
		}
		if n < len(want) {
			t.Fatalf("%d members, want at least %d", n, len(want))
		}
		for key, sp := range map[string]Span{"id": m.ID, "method": m.Method, "params": m.Params, "result": m.Result, "error": m.Error} {
			if err == nil && string(sp.Of(in)) != string(want[key]) {
				t.Fatalf("%s is %q, want %q", key, sp.Of(in), want[key])
			}
			if got := Member(in, Span{0, len(in)}, key); string(got.Of(in)) != string(want[key]) {
				t.Fatalf("member %s is %q, want %q", key, got.Of(in), want[key])
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	for name, text := range map[string]string{
		"plain": strings.Repeat("lorem ipsum dolor ", 120000),
		"json":  strings.Repeat(`{\"id\":12345,\"name\":\"abc\"},`, 70000),
	} {
		in := []byte(`{"result":{"content":[{"type":"text","text":"` + text + `"}]},"jsonrpc":"2.0","id":1}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if _, err := Scan(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
