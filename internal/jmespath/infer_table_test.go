package jmespath_test

import (
	"testing"

	"github.com/spillway-mcp/spillway/internal/jmespath"
)

const search = `{
  "type": "object",
  "properties": {
    "total_count": {"type": "integer"},
    "items": {"type": "array", "items": {"$ref": "#/$defs/Hit"}},
    "tags": {"type": ["array", "null"], "items": {"type": "string"}},
    "owner": {"anyOf": [{"type": "object", "properties": {"login": {"type": "string"}}, "required": ["login"], "additionalProperties": false}, {"type": "null"}]},
    "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
    "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": false},
    "state": {"enum": ["open", "closed"]},
    "matrix": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
    "any": {}
  },
  "required": ["total_count", "items", "owner", "counts", "pair", "state", "matrix"],
  "additionalProperties": false,
  "$defs": {
    "Hit": {
      "type": "object",
      "properties": {
        "id": {"type": "integer", "minimum": 1},
        "path": {"type": "string"},
        "repo": {"allOf": [{"$ref": "#/$defs/Repo"}]},
        "parent": {"$ref": "#/$defs/Hit"}
      },
      "required": ["id", "path", "repo"]
    },
    "Repo": {"type": "object", "properties": {"full_name": {"type": "string"}, "stars": {"type": "integer"}}, "required": ["full_name"]}
  }
}`

func TestRED38_InferredTypes(t *testing.T) {
	root := parse(t, search)
	for _, c := range []struct{ expr, want string }{
		{"total_count", `{"type":"integer"}`},
		{"nowhere", `{"type":"null"}`},
		{"any", `{}`},
		{"any.b", `{}`},
		{"@", `{"$ref":"#"}`},
		{"items", `{"type":"array","items":{"$ref":"#/$defs/Hit"}}`},
		{"tags", `{"anyOf":[{"type":["array","null"],"items":{"type":"string"}},{"type":"null"}]}`},
		{"tags[]", `{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]}`},
		{"owner.login", `{"type":["string","null"]}`},
		{"items[*].path", `{"type":"array","items":{"type":"string"}}`},
		{"items[*].repo.full_name", `{"type":"array","items":{"type":"string"}}`},
		{"items[*].repo.stars", `{"type":"array","items":{"type":"integer"}}`},
		{"items[*].parent.parent.parent.path", `{"type":"array","items":{"type":"string"}}`},
		{"items[0].path", `{"type":["string","null"]}`},
		{"items[:2].id", `{"type":"array","items":{"type":"integer","minimum":1}}`},
		{"items[?id > `3`].path | [0]", `{"type":["string","null"]}`},
		{"items[*].{repo: repo.full_name, stars: repo.stars}", `{"type":"array","items":{"type":"object","properties":{"repo":{"type":"string"},"stars":{"type":["integer","null"]}},"required":["repo","stars"]}}`},
		{"{n: length(items), first: items[0].path}", `{"type":"object","properties":{"n":{"type":"integer"},"first":{"type":["string","null"]}},"required":["n","first"]}`},
		{"owner.{l: login}", `{"anyOf":[{"type":"object","properties":{"l":{"type":"string"}},"required":["l"]},{"type":"null"}]}`},
		{"owner | {l: login}", `{"type":"object","properties":{"l":{"type":["string","null"]}},"required":["l"]}`},
		{"[total_count, state]", `{"type":"array","items":{"anyOf":[{"enum":["open","closed"]},{"type":"integer"}]}}`},
		{"counts.*", `{"type":"array","items":{"type":"integer"}}`},
		{"counts.x", `{"type":["integer","null"]}`},
		{"values(counts)", `{"type":"array","items":{"type":"integer"}}`},
		{"keys(@)", `{"type":"array","items":{"type":"string"}}`},
		{"pair[0]", `{"type":["string","null"]}`},
		{"pair[1]", `{"type":["boolean","null"]}`},
		{"pair[*]", `{"type":"array","items":{"type":["string","boolean"]}}`},
		{"matrix[]", `{"type":"array","items":{"type":"number"}}`},
		{"matrix[*][0]", `{"type":"array","items":{"type":"number"}}`},
		{"state == 'open'", `{"type":"boolean"}`},
		{"total_count > `3`", `{"type":"boolean"}`},
		{"nowhere > `3`", `{"type":["boolean","null"]}`},
		{"total_count + `1`", `{"type":"number"}`},
		{"!any", `{"type":"boolean"}`},
		{"owner.login || total_count", `{"type":["string","integer"]}`},
		{"nowhere || state", `{"enum":["open","closed"]}`},
		{"total_count && state", `{"enum":["open","closed"]}`},
		{"items ? state : `1`", `{"anyOf":[{"enum":["open","closed"]},{"const":1}]}`},
		{"let $n = total_count in items[*].[$n, id]", `{"type":"array","items":{"type":"array","items":{"anyOf":[{"type":"integer","minimum":1},{"type":"integer"}]}}}`},
		{"sum(matrix[])", `{"type":"number"}`},
		{"avg(matrix[])", `{"type":["number","null"]}`},
		{"max_by(items, &id).path", `{"type":["string","null"]}`},
		{"sort_by(items, &id)[*].path", `{"type":"array","items":{"type":"string"}}`},
		{"map(&path, items)", `{"type":"array","items":{"type":"string"}}`},
		{"map(&repo.stars, items)", `{"type":"array","items":{"type":["integer","null"]}}`},
		{"to_string(@)", `{"type":"string"}`},
		{"to_array(total_count)", `{"type":"array","items":{"type":"integer"}}`},
		{"not_null(owner.login, state)", `{"anyOf":[{"enum":["open","closed"]},{"type":["string","null"]}]}`},
		{"merge({a: state}, {b: total_count})", `{"type":"object","properties":{"a":{"enum":["open","closed"]},"b":{"type":"integer"}},"required":["a","b"]}`},
		{"group_by(items, &path)", `{"type":"object","additionalProperties":{"type":"array","items":{"$ref":"#/$defs/Hit"}}}`},
		{"items(counts)", `{"type":"array","items":{"type":"array","items":{"type":["string","integer"]}}}`},
		{"'text'", `{"const":"text"}`},
		{"$.state", `{"enum":["open","closed"]}`},
	} {
		e, err := jmespath.Compile(c.expr)
		if err != nil {
			t.Errorf("%s: %v", c.expr, err)
			continue
		}
		if got := string(e.InferSchema(root)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.expr, got, c.want)
		}
	}
}

// Draft-07 tuples, references with siblings, and what has no types at all.
func TestRED38_InferenceAcrossDialects(t *testing.T) {
	for _, c := range []struct{ schema, expr, want string }{
		{`{"properties":{"t":{"type":"array","items":[{"type":"string"},{"type":"null"}],"additionalItems":{"type":"integer"}}},"required":["t"],"type":"object"}`, "t[*]", `{"type":"array","items":{"type":["string","integer"]}}`},
		{`{"properties":{"t":{"items":[{"type":"string"}]}},"required":["t"],"type":"object"}`, "t[0]", `{"type":["string","null"]}`},
		{`{"properties":{"a":{"type":"integer"}}}`, "a", `{"type":["integer","null"]}`},
		{`true`, "a", `{}`},
		{`{"type":"object","patternProperties":{"^a":{"type":"string"}},"additionalProperties":false}`, "a", `{}`},
		{`{"type":"object","properties":{"a":false}}`, "a", `{"type":"null"}`},
		{`{"$ref":"#/definitions/X","type":"string","definitions":{"X":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`, "a", `{"type":"string"}`},
		{`{"$ref":"https://example.com/x.json"}`, "a", `{}`},
		{`{"type":"object","properties":{"a":{"$ref":"#/nowhere"}},"required":["a"]}`, "a.b", `{}`},
		{`{"type":"object","properties":{"a":{"$id":"https://example.com/a","type":"string"}},"required":["a"]}`, "a", `{}`},
		{`{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"array","items":{"type":"integer"}}]}`, "a", `{"type":["string","null"]}`},
		{`{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"array","items":{"type":"integer"}}]}`, "[*]", `{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"null"}]}`},
		{`{"$ref":"#"}`, "a", `{}`},
		{`{"type":"object","properties":{"a":{"type":"string","nullable":true}},"required":["a"]}`, "a", `{"type":["string","null"]}`},
	} {
		e, err := jmespath.Compile(c.expr)
		if err != nil {
			t.Fatal(c.expr, err)
		}
		if got := string(e.InferSchema(parse(t, c.schema))); got != c.want {
			t.Errorf("%s under %s:\n got %s\nwant %s", c.expr, c.schema, got, c.want)
		}
	}
}
