package proxy

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// What is found in a long message while it arrives is what Scan finds in it; a
// message that is no JSON all through is left to Scan, which lets it pass.
func TestRED44_LongMessagesAreReadAheadAsScanReadsThem(t *testing.T) {
	text := strings.Repeat(`{\"a\":[1,2.50,\"é \\\\ \\n\"],\"b\":null},\n`, 20_000)
	rows := strings.TrimSuffix(strings.Repeat(`{"id":12345678901234567890, "b" : [1.0,"\u00e9"]},`, 9_000), ",")
	result := `{"content":[{"type":"text","text":"` + text + `"}],"structuredContent":{"rows":[` + rows + `]}}`
	for name, c := range map[string]struct {
		body   string
		parsed bool
	}{
		"a result":             {`{"result":` + result + `,"jsonrpc":"2.0","id":7}`, true},
		"the id first":         {`{ "jsonrpc" : "2.0" , "id" : "x" , "result" : ` + result + ` }`, true},
		"twice, last wins":     {`{"id":1,"result":{"x":1},"result":` + result + `,"id":2}`, true},
		"escapes in the names": {`{"\u0069d":1,"r\u0065sult":` + result + `}`, true},
		"a notification":       {`{"method":"m","params":` + result + `}`, true},
		"a control character":  {`{"id":1,"result":{"content":[{"type":"text","text":"` + text + "\x01" + `"}]}}`, false},
		"an escape of no JSON": {`{"id":1,"result":{"t":"` + text + `\x"}}`, false},
		"a batch":              {`[{"id":1,"result":` + result + `}]`, false},
		"no message":           {`{"jsonrpc":"2.0","other":` + result + `}`, false},
		"a torn one":           {`{"id":1,"result":` + result, false},
		"too long to keep":     {`{"id":1,"result":{"t":"` + strings.Repeat("x", aheadMost) + `"}}`, false},
		"short":                {`{"id":1,"result":{}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			var a ahead
			r := wire.NewReader(iotest.HalfReader(strings.NewReader(c.body+"\r\n"+c.body+"\n")), 0)
			r.Follow(&a)
			for range 2 {
				f, err := r.Next()
				if err != nil || string(f.Body()) != c.body {
					t.Fatalf("%d bytes, error %v", f.Len(), err)
				}
				p := a.take(f.Body())
				m, ok := p.message(f.Body())
				if ok != c.parsed {
					t.Fatalf("parsed ahead: %v, want %v", ok, c.parsed)
				}
				want, err := wire.Scan(f.Body())
				if ok && (err != nil || m != want) {
					t.Errorf("%+v, want %+v; %v", m, want, err)
				}
				if v := p.at(want.Result); v.Exists() != (ok && want.Result.Present()) {
					t.Errorf("a result: %v", v.Exists())
				} else if v.Exists() && string(v.Raw()) != string(want.Result.Of(f.Body())) {
					t.Error("another result")
				}
				p.free()
				if p.at(want.Result).Exists() {
					t.Error("it is used after it was freed")
				}
			}
		})
	}
}

// A message over the limit leaves nothing behind that the next one could be
// taken for.
func TestK60_NothingOfADroppedMessageIsTaken(t *testing.T) {
	var a ahead
	over := `{"id":1,"result":{}}` + strings.Repeat(" ", 600_000)
	blank := strings.Repeat(" ", 300_000)
	r := wire.NewReader(strings.NewReader(over+"\n"+blank+"\n{\"id\":2,\"result\":{}}\n"), 500_000)
	r.Follow(&a)
	if _, err := r.Next(); err == nil {
		t.Fatal("a message over the limit was returned")
	}
	if a.doc != nil {
		t.Error("what was read of it is still held")
	}
	f, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if a.doc != nil {
		t.Error("what was read of the blank line is still held")
	}
	if p := a.take(f.Body()); p != nil {
		t.Errorf("the short one is taken for %.60s", p.doc.Bytes())
	}
}

// A message behind one that was read ahead and left is not taken for it.
func TestNothingOfAnOtherMessageIsTaken(t *testing.T) {
	var a ahead
	long := `{"id":1,"result":"` + strings.Repeat("x", 300_000) + `"}`
	r := wire.NewReader(strings.NewReader(long+"\n{\"id\":2,\"result\":{}}\n"), 0)
	r.Follow(&a)
	first, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if p := a.take(first.Body()); p == nil || p.doc.Root().Get("id").Raw()[0] != '1' {
		t.Fatal("the long message was not read ahead")
	}
	second, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if p := a.take(second.Body()); p != nil {
		t.Errorf("the short one is taken for %.60s", p.doc.Bytes())
	}
	if v := (*parsed)(nil).at(wire.Span{Start: 1, End: 2}); v != (jsontape.Value{}) {
		t.Error("no document has a value")
	}
}
