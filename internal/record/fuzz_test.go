package record

import (
	"bytes"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// A recording may be anybody's, torn and changed by hand: it is read, or refused.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"kind":"session","version":1,"started":"2026-11-30T08:00:00Z"}` + "\n" + `{"kind":"call","at":1,"result":{"content":[]},"cut":{"rows":1}}` + "\n"))
	f.Add([]byte(`{"kind":"session","version":1}` + "\n" + `{"kind":"call","at":"x","env":[],"faults":{}}` + "\n" + `{"ki`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("x", data)
		if err != nil {
			return
		}
		for i := range s.Events {
			line := s.Events[i].AppendJSON(nil)
			if _, err := jsontape.Parse(line); err != nil || bytes.IndexByte(line, '\n') >= 0 {
				t.Fatalf("written again it is no line of JSON: %q: %v", line, err)
			}
		}
	})
}

// Whatever a result holds, what is left of it is JSON, and the value that was to
// be redacted is not in it.
func FuzzRedact(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"{\"a\":[{\"b\":\"zebra-4711\"}]}"}]}`))
	f.Add([]byte(`{"content":[],"structuredContent":{"result":{"b":"zebra-4711","a":[1,{"b":{"c":"zebra-4711"}}]}}}`))
	rules, err := Compile([]Redaction{{Paths: []string{"a[*].b", "b"}, Names: []string{"c"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := jsontape.Parse(data); err != nil {
			return
		}
		e := Event{Kind: KindCall, Result: data, Args: []byte(`{"c":"zebra-4711"}`)}
		r := redactor{rules: rules}
		r.event(&e)
		if _, err := jsontape.Parse(e.Result); err != nil {
			t.Fatalf("%q became %q: %v", data, e.Result, err)
		}
		// It was redacted in the arguments, so no string may be it any more.
		if bytes.Contains(e.Result, []byte(`"zebra-4711"`)) {
			t.Fatalf("%q became %q", data, e.Result)
		}
	})
}
