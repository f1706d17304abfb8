package jmespath

import (
	"fmt"
	"strings"
	"testing"
)

func TestReads(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"!draft && !prerelease", "draft:bool prerelease:bool"},
		{"state == 'open'", "state:string"},
		{"amount > `3` && user.id == `7`", "amount:number user.id:number"},
		{"closed_at == `null`", ""},
		{"a < b", "a:number|string b:number|string"},
		{"a || b", "a:bool b:bool"},
		{"length(labels) > `0`", "labels:string|array|object"},
		{"contains(tags, 'x')", "tags:string|array"},
		{"labels[*].name | contains(@, 'x')", "labels:array"},
		{"let $p = `1` in id == $p", "id:bool|number|string|array|object"},
		{"not_null(a, b) == `1`", ""},
		{"type(a) == 'null'", ""},
		{"@.ok", "ok:bool"},
	} {
		e, err := Compile(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range e.Reads(KindsBool) {
			var k []string
			for _, n := range []struct {
				set  Kinds
				name string
			}{{KindsBool, "bool"}, {KindsNumber, "number"}, {KindsString, "string"}, {KindsArray, "array"}, {KindsObject, "object"}} {
				if r.Kinds&n.set != 0 {
					k = append(k, n.name)
				}
			}
			got = append(got, fmt.Sprintf("%s:%s", strings.Join(r.Path, "."), strings.Join(k, "|")))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s reads %q, want %q", c.expr, s, c.want)
		}
	}
}
