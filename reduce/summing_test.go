package reduce

import (
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// RED-22: the ref of a large result, which is hashed beside the cutting, is the
// one of the canonical form; also where the result was parsed before.
func TestRED22_LargeResultsHaveTheSameRef(t *testing.T) {
	rows := strings.TrimSuffix(strings.Repeat(`{"b":[1,2.50,{"z":"\u00e9","a":null}],"a":"x \"y\" z"},`, 4000), ",")
	result := []byte(`{"content":[],"structuredContent":{"items":[` + rows + `]}}`)
	want, canonical, err := Ref(result)
	if err != nil {
		t.Fatal(err)
	}
	one := 1
	r, err := Compile(Rule{MaxRows: &one})
	if err != nil {
		t.Fatal(err)
	}
	if !r.likelyCut(Env{Expand: "x"}, len(result)) {
		t.Fatal("the result is not hashed beside the cutting")
	}
	o := r.Reduce(result, Env{Expand: "x"})
	if !o.Changed || o.Ref != want || o.Canonical != canonical {
		t.Errorf("ref %s of a changed (%v) result, want %s; %v", o.Ref, o.Changed, want, o.Err)
	}
	d, err := jsontape.Parse([]byte(`{"id":1,"result":` + string(result) + `}`))
	if err != nil {
		t.Fatal(err)
	}
	if p := r.ReduceParsed(d.Root().Get("result"), Env{Expand: "x"}); string(p.Result) != string(o.Result) || p.Ref != o.Ref {
		t.Errorf("parsed before: %.200s, ref %s", p.Result, p.Ref)
	}
}

// A hash that nobody asks for ends before Reduce does, since the document it
// reads is used again.
func TestHashThatIsNotNeededEnds(t *testing.T) {
	d, err := jsontape.Parse([]byte(`{"structuredContent":[` + strings.Repeat(`{},`, 100_000) + `{}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s := startSum(d.Root())
	s.end()
	select {
	case <-s.done:
	default:
		t.Error("it goes on")
	}
	(*summing)(nil).end()
}

// Faults while hashing fail open like any other (RED-18).
func TestRED18_FaultOfTheHashFailsOpen(t *testing.T) {
	s := &summing{done: make(chan struct{}), fault: "torn"}
	close(s.done)
	o := func() (o Outcome) {
		defer failOpen([]byte("as it came"), &o)
		s.result()
		return o
	}()
	if string(o.Result) != "as it came" || o.Err == nil || o.Changed {
		t.Errorf("%+v", o)
	}
}
