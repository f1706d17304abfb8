package jmespath

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	reference "github.com/jmespath/go-jmespath"
	"pgregory.net/rapid"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

const referenceDoc = `{"a": {"b": [1, 2.5, "x", null, {"c": "A", "d": [1, [2, [3]]]}], "c": "str", "d": {}}, "b": [{"a": 1, "c": "z", "d": [1, 2]},
	{"a": 3, "c": "y", "d": []}, {"a": 2, "c": "x", "d": [[2], null, "q"]}], "c": [], "d": false, "e": null, "s": ["b", "a"], "n": [3, 1, 2, 1]}`

// expressions draws an expression of the part of the language that
// go-jmespath has right.
func expressions(t *rapid.T, depth int) string {
	sub := func() string { return expressions(t, depth-1) }
	name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "n", "s"}).Draw(t, "name")
	if depth <= 0 {
		return rapid.SampledFrom([]string{name, name, name, "@", "'x'", "`1`", "`[1, {\"a\": 2}]`", "`null`"}).Draw(t, "leaf")
	}
	switch rapid.IntRange(0, 21).Draw(t, "kind") {
	case 0, 1, 2:
		return sub() + "." + name
	case 3:
		return fmt.Sprintf("%s[%d]", sub(), rapid.IntRange(-4, 4).Draw(t, "index"))
	case 4:
		return sub() + "[*]"
	case 5:
		return sub() + "[]"
	case 6:
		return sub() + "[?" + sub() + "]"
	case 7:
		var parts []string
		for range rapid.IntRange(2, 3).Draw(t, "colons") {
			part := ""
			if n := rapid.IntRange(-4, 5).Draw(t, "part"); n != 5 && n != 0 {
				part = fmt.Sprint(n)
			}
			parts = append(parts, part)
		}
		return "((" + sub() + ")[])[" + strings.Join(parts, ":") + "]"
	case 8:
		return sub() + " | " + sub()
	case 9:
		return "(" + sub() + ")"
	case 10:
		return sub() + rapid.SampledFrom([]string{" || ", " && "}).Draw(t, "logic") + sub()
	case 11:
		return "(!(" + sub() + "))"
	case 12:
		return sub() + rapid.SampledFrom([]string{" == ", " != "}).Draw(t, "same") + sub()
	case 13:
		return "length(" + sub() + ") " + rapid.SampledFrom([]string{"<", "<=", ">", ">="}).Draw(t, "order") + " `1`"
	case 14:
		return sub() + ".[" + sub() + ", " + sub() + "]"
	case 15:
		return sub() + ".{x: " + sub() + ", a: " + sub() + "}"
	case 16:
		return sub() + "[*]." + name
	case 17:
		return "@.[" + sub() + ", " + sub() + "]"
	case 18:
		fn := rapid.SampledFrom([]string{"type", "to_array", "length", "sort", "reverse", "max", "min", "sum", "to_number", "not_null"}).Draw(t, "function")
		return fn + "(" + sub() + ")"
	case 19:
		fn := rapid.SampledFrom([]string{"sort_by", "max_by", "min_by"}).Draw(t, "function")
		return fn + "(" + sub() + ", &" + sub() + ")"
	case 20:
		return "map(&" + sub() + ", " + sub() + ")"
	}
	return "let_free." + name + " || " + name
}

// TestAgainstReference compares with go-jmespath over random expressions.
// Where that engine is known to be wrong, or panics, the case is passed over.
func TestAgainstReference(t *testing.T) {
	doc, err := jsontape.Parse([]byte(referenceDoc))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	check := func(t *rapid.T) {
		src := expressions(t, 4)
		want, wantErr, ok := searchReference(src)
		if !ok {
			return
		}
		compared++
		got, _, err := evaluate(src, doc.Root())
		if err == nil && wantErr != nil {
			t.Fatalf("%s: got %s, want the error %v", src, got, wantErr)
		}
		if err != nil {
			return // go-jmespath takes errors below projections for null
		}
		have, err := jsontape.Parse([]byte(got))
		if err != nil {
			t.Fatal(err)
		}
		other, err := jsontape.Parse([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		if !jsontape.Equal(have.Root(), other.Root()) {
			t.Fatalf("%s: got %s, want %s", src, got, want)
		}
	}
	for range 20 {
		rapid.Check(t, check)
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
}

func searchReference(src string) (result string, err error, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	var data any
	if err := json.Unmarshal([]byte(referenceDoc), &data); err != nil {
		panic(err)
	}
	got, err := reference.Search(src, data)
	if err != nil {
		return "", err, true
	}
	out, err := json.Marshal(got)
	return string(out), err, true
}
