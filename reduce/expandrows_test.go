package reduce

import (
	"fmt"
	"strings"
	"testing"
)

// TestRED26_RowsAreThoseOfTheNote holds that where a note says that a row range
// gets more, the rows count in the array of which the note counted.
func TestRED26_RowsAreThoseOfTheNote(t *testing.T) {
	rows := func(kind string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"id":"%s %d","name":"a name that takes some bytes"},`, kind, i+1)
		}
		return "[" + strings.TrimSuffix(b.String(), ",") + "]"
	}
	payload := `{"data":{"items":` + rows("inner", 40) + `},"other":[1,2,3],"m":{"a":` + rows("a", 10) + `,"b":` + rows("b", 10) + `},"items":` + rows("outer", 30) + `}`
	for _, c := range []struct{ keep, rows, third string }{
		{"data.items", "", "inner 3"},
		{"data", "", "inner 3"},
		{"data", "items", "inner 3"},
		{"", "data.items", "inner 3"},
		{"items[*].{id: id}", "", "outer 3"},
		{"data.items || items", "", "inner 3"},
		{"reverse(items)", "", "outer 28"},
		{"{list: data.items, n: length(items)}", "", "inner 3"},
		{"{list: data.items, items: m.a}", "", ""},
		{"m", "", ""},
		{"", "", ""},
	} {
		t.Run(c.keep+"/"+c.rows, func(t *testing.T) {
			r := mustCompile(t, Rule{Keep: c.keep, Rows: c.rows, MaxRows: intp(2)})
			o := r.Reduce(both(payload), listed)
			if said := strings.Contains(o.Note, "a row range or"); !o.Changed || said != (c.third != "") {
				t.Fatalf("note %q", o.Note)
			}
			out, err := r.Expand(both(payload), ExpandRequest{Ref: o.Ref, Rows: "3", Fields: []string{"id"}}, 0)
			if c.third == "" {
				if err == nil || !strings.Contains(err.Error(), "several arrays") {
					t.Errorf("%s, %v", out, err)
				}
				return
			}
			if err != nil || !strings.Contains(string(out), `\"id\":\"`+c.third+`\"`) {
				t.Errorf("%s, %v", out, err)
			}
			if whole, err := r.Expand(both(payload), ExpandRequest{Ref: o.Ref, Rows: "3"}, 0); err != nil || !strings.Contains(string(whole), "a name that") {
				t.Errorf("%s, %v", whole, err)
			}
		})
	}
}

func TestRED25_AFieldAskedTwice(t *testing.T) {
	for _, args := range []string{`{"ref":"r_0123456789ab","fields":["id","id"]}`, `{"ref":"r_0123456789ab","fields":"id, id"}`} {
		if q, err := ParseExpandRequest([]byte(args)); err != nil || len(q.Fields) != 1 {
			t.Errorf("%s: %q, %v", args, q.Fields, err)
		}
	}
}
