package schema_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema"
)

func TestRED38_HostileSchemasEndInAnOpenOne(t *testing.T) {
	keep, err := jmespath.Compile("a[*].{b: b.c, d: values(@)}")
	if err != nil {
		t.Fatal(err)
	}
	deep := func(n int) string {
		return strings.Repeat(`{"type":"object","properties":{"a":`, n) + "{}" + strings.Repeat("}}", n)
	}
	var doubling, wide strings.Builder
	for i := range 40 {
		fmt.Fprintf(&doubling, `"D%d":{"allOf":[{"$ref":"#/$defs/D%d"},{"$ref":"#/$defs/D%d"}],"minLength":1},`, i, i+1, i+1)
	}
	for i := range 3000 {
		fmt.Fprintf(&wide, `"p%d":{"anyOf":[{"$ref":"#/$defs/D"},{"type":"array","items":{"$ref":"#"}}]},`, i)
	}
	cases := []struct {
		name, schema string
		open         bool
	}{
		{"5 MB", `{"type":"object","properties":{` + strings.Repeat(`"a":{"type":"string","description":"`+strings.Repeat("d", 1000)+`"},`, 5000) + `"z":{}}}`, true},
		{"nested 4,900 deep", deep(4900), true},
		{"nested 90 deep", deep(90), false},
		{"definitions that double 40 times", `{"type":"object","allOf":[{"$ref":"#/$defs/D0"}],"properties":{"a":{"$ref":"#/$defs/D0"}},"$defs":{` + doubling.String() + `"D40":{}}}`, false},
		{"3,000 members with references", `{"type":"object","properties":{` + wide.String() + `"z":{}},"$defs":{"D":{"type":"string","minLength":2}}}`, false},
		{"a reference to itself", `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, false},
		{"a root that is itself", `{"$ref":"#"}`, false},
		{"definitions in a ring", `{"type":"object","allOf":[{"$ref":"#/$defs/A"}],"$defs":{"A":{"allOf":[{"$ref":"#/$defs/B"}]},"B":{"anyOf":[{"$ref":"#/$defs/A"}]}}}`, false},
		{"keywords of wrong types", `{"type":7,"properties":[1],"required":"a","items":3,"allOf":{},"anyOf":[1,null],"enum":{},"$ref":5,"$defs":7,"definitions":[],"$id":3,"minimum":"x"}`, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			doc, err := jsontape.Parse([]byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			listed := schema.RewriteOutput(doc.Root(), schema.Options{Keep: keep, HasRows: true, MaxBytes: true})
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %v", d)
			}
			got, err := jsontape.Parse(listed)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Root().Get("type").Is("object") {
				t.Errorf("root type: %s", got.Root().Get("type").Raw())
			}
			if open := string(listed) == `{"type":"object"}`; open != c.open {
				t.Errorf("open: %v, want %v", open, c.open)
			}
			if len(listed) > 4*len(c.schema)+64<<10 {
				t.Errorf("%d bytes listed of %d", len(listed), len(c.schema))
			}
		})
	}
}

func TestRED38_WhatIsNoSchemaIsLeftAlone(t *testing.T) {
	for _, s := range []string{`null`, `[]`, `"x"`, `1`} {
		doc, err := jsontape.Parse([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		if got := schema.RewriteOutput(doc.Root(), schema.Options{MaxBytes: true}); got != nil {
			t.Errorf("%s: %s", s, got)
		}
	}
	if got := schema.RewriteOutput(jsontape.Value{}, schema.Options{MaxBytes: true}); got != nil {
		t.Errorf("absent: %s", got)
	}
}

func TestRED39_ChangesOnlyWhereARuleCanChangeTheShape(t *testing.T) {
	keep, err := jmespath.Compile("a")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		opt  schema.Options
		want bool
	}{
		{schema.Options{}, false},
		{schema.Options{Modern: true}, false},
		{schema.Options{Keep: keep}, true},
		{schema.Options{HasRows: true}, true},
		{schema.Options{MaxBytes: true}, true},
		{schema.Options{Strip: true}, true},
	} {
		if got := schema.Changes(c.opt); got != c.want {
			t.Errorf("%+v: %v", c.opt, got)
		}
	}
}

// FuzzRewriteOutput: whatever the schema, the answer is JSON with an object at
// its root, and the same every time.
func FuzzRewriteOutput(f *testing.F) {
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/A"}}},"$defs":{"A":{"type":"string","maxLength":3}}}`,
		`{"$id":"x","$ref":"x#/definitions/a","definitions":{"a":{"allOf":[{"$ref":"#"}],"enum":["a",1]}}}`,
		`{"anyOf":[true,false,{"const":{}}],"oneOf":[{"not":{}}],"required":["a","_spillway"]}`,
	} {
		f.Add([]byte(s), "a[*].{b: b}", uint8(3))
	}
	f.Fuzz(func(t *testing.T, upstream []byte, keep string, flags uint8) {
		doc, err := jsontape.Parse(upstream)
		if err != nil {
			return
		}
		opt := schema.Options{HasRows: flags&1 != 0, MaxBytes: flags&2 != 0, Strip: flags&4 != 0, Modern: flags&8 != 0}
		if e, err := jmespath.Compile(keep); err == nil && keep != "" {
			opt.Keep = e
		}
		listed := schema.RewriteOutput(doc.Root(), opt)
		if listed == nil || !schema.Changes(opt) {
			return
		}
		got, err := jsontape.Parse(listed)
		if err != nil {
			t.Fatalf("%v: %s", err, listed)
		}
		if !opt.Modern && !got.Root().Get("type").Is("object") {
			t.Fatalf("no object: %s", listed)
		}
		if !bytes.Equal(listed, schema.RewriteOutput(doc.Root(), opt)) {
			t.Fatal("not the same bytes")
		}
	})
}
