package jsontape

import (
	"strings"
	"testing"
)

func TestRED44_Find(t *testing.T) {
	long := strings.Repeat("n", 70)
	doc, err := Parse([]byte(`{"a":1,"b":{"a":9},"a":2,"\u0063":3,"":4,"` + long + `":5,"nnnnnn":6,"d":[{"e":7}]}`))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a", "b", "c", "", "d", "e", long, "nnnnnn"}
	found := make([]Value, len(names))
	doc.Root().Find(names, found)
	for i, name := range names {
		var want Value
		for it := doc.Root().Iter(); it.Next(); {
			if it.Key().Str() == name {
				want = it.Value()
			}
		}
		if found[i] != want || doc.Root().Get(name) != want {
			t.Errorf("for %q Find gives %q, Get %q, want %q", name, found[i].Raw(), doc.Root().Get(name).Raw(), want.Raw())
		}
	}
	if got := string(found[0].Raw()); got != "2" {
		t.Errorf("of duplicates Find gives %s, want the last, 2", got)
	}
	doc.Root().Get("d").Find(names, found)
	Value{}.Find(names, found)
}

func TestSameKeysComparesNamesInOrder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[1,{"x":2}],"c":3}`, `{ "a" : {"y":[]}, "b":null, "c":"c" }`, true},
		{`{}`, `{ }`, true},
		{`{"a":1,"b":2}`, `{"b":1,"a":2}`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":1}`, `{"\u0061":1}`, false}, // as they are written
		{`["a"]`, `["a"]`, false},
	} {
		a, err := Parse([]byte(c.a))
		if err != nil {
			t.Fatal(err)
		}
		b, err := Parse([]byte(c.b))
		if err != nil {
			t.Fatal(err)
		}
		if got := SameKeys(a.Root(), b.Root()); got != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
	if SameKeys(Value{}, Value{}) {
		t.Error("what is absent has keys")
	}
}
