package reduce

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

func both(payload string) []byte {
	return []byte(`{"content":[{"type":"text","text":` + string(jsontape.AppendQuote(nil, payload)) + `}],"structuredContent":` + payload + `}`)
}

// shown parses what a reduction shows in structuredContent.
func shown(t *testing.T, o Outcome, limit int) jsontape.Value {
	t.Helper()
	if !o.Changed || limit > 0 && (o.After.Text > limit || o.After.Structured > limit) {
		t.Fatalf("changed %v, sizes %+v: %s", o.Changed, o.After, o.Result)
	}
	d, err := jsontape.Parse(o.Result)
	if err != nil {
		t.Fatal(err)
	}
	v := d.Root().Get("structuredContent")
	seen := map[string]bool{}
	for it := v.Iter(); it.Next(); {
		if k := it.Key().Str(); seen[k] {
			t.Errorf("%q twice: %s", k, v.Raw())
		} else {
			seen[k] = true
		}
	}
	return v
}

func cells(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"cell %d":{"row":%d,"values":[1,2,3]}`, i, i)
	}
	return b.String()
}

func list(element string, n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
}

func TestRED08_ProtectedInASummary(t *testing.T) {
	for _, c := range []struct{ name, payload, keep string }{
		{"as it is", `{"summary":"mine","query":{"id":"q-77","text":"x"}` + cells(200) + `}`, ""},
		{"projected", `{"summary":"mine","query":{"id":"q-77","text":"x"}` + cells(200) + `}`, "@"},
		{"behind a projection", `{"summary":"mine","query":{"id":"q-77","text":"x"},"items":{"a":1` + cells(200) + `}}`, "items"},
		{"in a wrapper", `{"result":{"summary":"mine","query":{"id":"q-77","text":"x"}` + cells(200) + `}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := mustCompile(t, Rule{Keep: c.keep, MaxBytes: 900, Always: []string{"summary", "query.id"}})
			v := shown(t, r.Reduce(both(c.payload), listed), 900)
			if w := v.Get("result"); w.Exists() {
				v = w
			}
			if !v.Get("summary").Is("mine") || !v.Lookup("query", "id").Is("q-77") {
				t.Errorf("lost: %s", v.Raw())
			}
		})
	}
}

// TestRED12_WhatIsBesideRows holds that large data beside the rows is
// shortened, and does not push every row out.
func TestRED12_WhatIsBesideRows(t *testing.T) {
	warnings := `"warnings":` + list(`"`+strings.Repeat("w", 100)+`"`, 300)
	items := `"items":` + list(`{"id":1,"name":"abc"}`, 300)
	long := `"` + strings.Repeat("long ", 6000) + `"`
	for _, c := range []struct {
		name, payload string
		rule          Rule
		rows          []string
	}{
		{"a large always", "{" + warnings + "," + items + "}", Rule{Keep: "items[*].{id: id}"}, []string{"rows"}},
		{"a long string under always", `{"message":` + long + "," + items + "}", Rule{Keep: "items[*].{id: id}"}, []string{"rows"}},
		{"a string beside rows further down", `{"customer":{"notes":` + long + "," + items + "}}", Rule{Rows: "customer.items"}, []string{"customer", "items"}},
		{"an element beside the one with the rows", `{"result":[{` + items + `},{"notes":` + long + "}]}", Rule{Rows: "[0].items"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.rule.MaxBytes = 20_000
			o := mustCompile(t, c.rule).Reduce(both(c.payload), listed)
			v := shown(t, o, 20_000)
			if strings.Contains(o.Note, "summary") || !strings.Contains(o.Note, "Shortened inside") {
				t.Errorf("note %q", o.Note)
			}
			if c.rows != nil && v.Lookup(c.rows...).Len() != 300 {
				t.Errorf("rows are gone: %q", o.Note)
			}
		})
	}
	t.Run("a kept string", func(t *testing.T) {
		o := mustCompile(t, Rule{Keep: "body", MaxBytes: 20_000}).Reduce(both(`{"body":`+long+`,"id":1}`), listed)
		if v := shown(t, o, 20_000); v.Get("rows").Kind() != jsontape.String || !strings.Contains(v.Get("rows").Str(), "…[+") {
			t.Errorf("%s", v.Raw())
		}
	})
}

func TestRED08_DottedPathsAreNotShortened(t *testing.T) {
	cursor := strings.Repeat("c", 900)
	payload := `{"page":{"next":"` + cursor + `","note":"` + strings.Repeat("n", 9000) + `"},"items":` + list(`{"id":1}`, 2000) + `}`
	for _, keep := range []string{"", "items"} {
		r := mustCompile(t, Rule{Keep: keep, MaxBytes: 2500, Always: []string{"page.next"}})
		if v := shown(t, r.Reduce(both(payload), listed), 2500); !v.Lookup("page", "next").Is(cursor) {
			t.Errorf("keep %q: %s", keep, v.Raw())
		}
	}
}

// TestRED02_BesideJSONInAString holds that what stands beside a string with
// JSON in it is shown, or named as dropped.
func TestRED02_BesideJSONInAString(t *testing.T) {
	inner := `{"total":3,"items":` + list(`{"id":1,"text":"a text of some length"}`, 60) + `}`
	quoted := string(jsontape.AppendQuote(nil, inner))
	result := func(beside string) []byte {
		return []byte(`{"content":[{"type":"text","text":` + quoted + `}],"structuredContent":{"content":` + quoted + beside + `}}`)
	}
	large := `,"meta":` + list(`"xxxxxxxxxxxxxxxxxxxx"`, 100)
	t.Run("a name that both have", func(t *testing.T) {
		o := mustCompile(t, Rule{MaxRows: intp(2)}).Reduce(result(`,"total":500,"id":9,"text":"t"`), listed)
		v := shown(t, o, 0)
		if !strings.Contains(o.Note, "Dropped: total.") || !v.Get("id").Exists() || !v.Get("text").Exists() {
			t.Errorf("%s", v.Raw())
		}
	})
	t.Run("a name that stands inside what always keeps", func(t *testing.T) {
		o := mustCompile(t, Rule{Keep: "items[*].{i: id}", Always: []string{"items"}}).Reduce(result(`,"text":"t"`), Env{Expand: "reducer_expand", Schema: true})
		if v := shown(t, o, 0); !v.Get("text").Is("t") {
			t.Errorf("%s", v.Raw())
		}
	})
	t.Run("nothing to cut", func(t *testing.T) {
		if o := mustCompile(t, Rule{MaxRows: intp(100), MaxBytes: 20_000}).Reduce(result(large), listed); o.Changed {
			t.Errorf("cut all the same: %s", o.Note)
		}
	})
}
