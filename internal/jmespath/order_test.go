package jmespath

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

func TestDocumentOrder(t *testing.T) {
	const doc = `{"z": 1, "a": [true], "m": {"y": "1", "b": null}}`
	runSearches(t, []searchCase{
		{"keys(@)", doc, `["z","a","m"]`},
		{"values(@)", doc, `[1,[true],{"y":"1","b":null}]`},
		{"*", doc, `[1,[true],{"y":"1","b":null}]`},
		{"@.*", doc, `[1,[true],{"y":"1","b":null}]`},
		{"items(m)", doc, `[["y","1"],["b",null]]`},
		{"from_items(items(@))", doc, `{"z":1,"a":[true],"m":{"y":"1","b":null}}`},
		{"merge(@, {a: z, c: 'new'})", doc, `{"z":1,"a":1,"m":{"y":"1","b":null},"c":"new"}`},
		{"to_string(@)", doc, `"{\"z\":1,\"a\":[true],\"m\":{\"y\":\"1\",\"b\":null}}"`},
		{"{z: z, a: z, z: a}", doc, `{"z":[true],"a":1}`},
		{"group_by([{k: 'b', n: `1`}, {k: 'a', n: `2`}, {k: 'b', n: `3`}, {n: `4`}], &k)", doc,
			`{"b":[{"k":"b","n":1},{"k":"b","n":3}],"a":[{"k":"a","n":2}]}`},
		{"sort_by([{k: 'b', n: `1`}, {k: 'a', n: `2`}, {k: 'b', n: `3`}], &k)[*].n", doc, "[2,1,3]"},
		{"min_by([{k: 'b', n: `1`}, {k: 'b', n: `2`}], &k).n", doc, "1"},
		{"max_by([{k: 'b', n: `1`}, {k: 'b', n: `2`}], &k).n", doc, "1"},
	})
}

func TestRED44_DuplicateKeys(t *testing.T) {
	const doc = `{"a": 1, "b": 2, "a": 3, "o": {"x": 1, "x": 2}}`
	runSearches(t, []searchCase{
		{"@", doc, `{"a":1,"b":2,"a":3,"o":{"x":1,"x":2}}`},
		{"o", doc, `{"x":1,"x":2}`},
		{"a", doc, "3"},
		{"{a: a, x: o.x}", doc, `{"a":3,"x":2}`},
		{"keys(@)", doc, `["a","b","o"]`},
		{"values(@)[:2]", doc, "[3,2]"},
		{"*", doc, `[3,2,{"x":1,"x":2}]`},
		{"length(@)", doc, "3"},
		{"merge(o)", doc, `{"x":2}`},
		{"merge(@, `{\"b\": 9}`).[a, b]", doc, "[3,9]"},
		{"`{\"x\": 2}` == o", doc, "false"},
		{"merge(o) == `{\"x\": 2}`", doc, "true"},
	})
	var big strings.Builder
	for i := range 40 {
		big.WriteString(`"k` + string(rune('a'+i%26)) + `":` + string(rune('0'+i%10)) + `,`)
	}
	runSearches(t, []searchCase{
		{"length(keys(@))", "{" + strings.TrimSuffix(big.String(), ",") + "}", "26"},
		{"values(@)[:3]", "{" + strings.TrimSuffix(big.String(), ",") + "}", "[6,7,8]"},
	})
}

func TestCompositesCompare(t *testing.T) {
	const doc = `{"list": [[1, 2], {"a": 1, "b": [2.0]}, "x"], "o": {"b": [2], "a": 1.0}}`
	runSearches(t, []searchCase{
		{"contains(list, o)", doc, "true"},
		{"contains(list, [`1`, `2`])", doc, "true"},
		{"contains(list, {b: [`2`], a: `1`})", doc, "true"},
		{"contains(list, {b: [`3`], a: `1`})", doc, "false"},
		{"contains(list, [`1`])", doc, "false"},
		{"contains(list, `null`)", doc, "false"},
		{"list[1] == o", doc, "true"},
		{"list[1] == {a: o.a, b: o.b}", doc, "true"},
		{"{a: o.a, b: o.b} == list[1]", doc, "true"},
		{"{a: o.a, c: o.b} == list[1]", doc, "false"},
		{"[o, o] == [list[1], o]", doc, "true"},
		{"[o] != [o, o]", doc, "true"},
		{"list[?@ == `\"\\u0078\"`]", doc, `["x"]`},
		{"contains('abc', `1`)", doc, "false"},
		{"@ == @", doc, "true"},
	})
}

// everyOrder asks for all that a map's iteration order would show in.
const everyOrder = `[keys(@), values(@), @.*, *.*, merge(@, {z: 'z'}), to_string(@), items(@), from_items(items(@)),
	sort_by(values(@), &to_string(@)), max_by(values(@), &to_string(@)), min_by(*, &length(to_string(@))),
	group_by(values(@), &to_string(@)), keys(merge(@, @)), to_string({b: @, a: keys(@)})]`

func orderDoc() []byte {
	doc := []byte(`{"k":0`)
	for i := range 60 {
		name := string(rune('a'+i*7%26)) + string(rune('a'+i*11%26))
		doc = append(doc, (`,"` + name + `":{"v":` + string(rune('0'+i%10)) + `,"` + name + `":[1,2]}`)...)
	}
	return append(doc, '}')
}

// TestSameBytesInEveryProcess starts this test binary again and again: Go
// seeds its maps anew in each process.
func TestSameBytesInEveryProcess(t *testing.T) {
	const child = "SPILLWAY_JMESPATH_CHILD"
	doc, err := jsontape.Parse(orderDoc())
	if err != nil {
		t.Fatal(err)
	}
	e, err := Compile(everyOrder)
	if err != nil {
		t.Fatal(err)
	}
	here, err := e.AppendJSON(nil, doc.Root())
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(child) != "" {
		os.Stdout.Write(append(here, "\nend\n"...))
		return
	}
	processes := 20
	if os.Getenv("SPILLWAY_TEST_LONG") != "" {
		processes = 300
	}
	for i := range processes {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSameBytesInEveryProcess$")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		there, _, _ := bytes.Cut(out, []byte("\nend\n"))
		if !bytes.Equal(here, there) {
			t.Fatalf("process %d gives\n%s\nwant\n%s", i, there, here)
		}
	}
}
