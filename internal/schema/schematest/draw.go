package schematest

import (
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

const maxDepth = 4

func (g *generator) node(depth int) drawn {
	if depth >= maxDepth {
		return g.scalar()
	}
	switch k := rapid.IntRange(0, 19).Draw(g.t, "node"); {
	case k < 6:
		return g.scalar()
	case k < 10:
		return g.object(depth)
	case k < 13:
		return g.array(depth)
	case k < 15:
		return g.choice(depth)
	case k < 17:
		if len(g.defs) > 0 {
			return g.ref()
		}
		return g.object(depth)
	case k == 17:
		return g.nullable(g.node(depth + 1))
	case k == 18:
		return drawn{rapid.SampledFrom([]string{"{}", "true"}).Draw(g.t, "any"), anyValue}
	}
	return g.decorated(g.object(depth))
}

func (g *generator) ref() drawn {
	i := rapid.IntRange(0, len(g.defs)-1).Draw(g.t, "ref")
	def := g.defs[i]
	ref := "#/" + g.where + "/" + g.names[i]
	schema := `{"$ref":` + quote(ref) + `}`
	if chance(g.t, "beside ref", 20) {
		schema = `{"description":"d","type":"object","$ref":` + quote(ref) + `}`
	}
	return drawn{schema, func(t *rapid.T, depth int) string {
		if depth > 6 || def.gen == nil {
			return "null"
		}
		return def.gen(t, depth+1)
	}}
}

func (g *generator) nullable(d drawn) drawn {
	return drawn{`{"anyOf":[` + d.schema + `,{"type":"null"}]}`, func(t *rapid.T, depth int) string {
		if chance(t, "null", 30) {
			return "null"
		}
		return d.gen(t, depth)
	}}
}

func (g *generator) choice(depth int) drawn {
	n := rapid.IntRange(1, 3).Draw(g.t, "branches")
	var schemas []string
	var gens []func(*rapid.T, int) string
	for range n {
		d := g.node(depth + 1)
		schemas = append(schemas, d.schema)
		gens = append(gens, d.gen)
	}
	keyword := rapid.SampledFrom([]string{"anyOf", "oneOf", "anyOf", "allOf"}).Draw(g.t, "choice")
	return drawn{`{` + quote(keyword) + `:[` + strings.Join(schemas, ",") + `]}`, func(t *rapid.T, depth int) string {
		return gens[rapid.IntRange(0, n-1).Draw(t, "branch")](t, depth)
	}}
}

// decorated adds a keyword that a cut can upset, or that must not be read
// wrongly.
func (g *generator) decorated(d drawn) drawn {
	if d.schema == "true" || d.schema == "{}" {
		return d
	}
	added := rapid.SampledFrom([]string{
		`"maxProperties":9`, `"minProperties":1`, `"propertyNames":{"maxLength":8}`, `"not":{"required":["zz"]}`,
		`"if":{"required":["a"]},"then":{"required":["a"]},"else":{}`, `"dependentRequired":{"a":["b"]}`,
		`"dependencies":{"a":["b"]}`, `"dependentSchemas":{"a":{"properties":{"b":{"type":"string","maxLength":3}}}}`,
		`"patternProperties":{"^[ab]":{"type":["string","integer","array"]}}`, `"unevaluatedProperties":{"type":"string"}`,
		`"not":{"properties":{"name":{"maxLength":40}},"required":["name"]}`, `"description":"what it is"`,
	}).Draw(g.t, "decoration")
	return drawn{merge(d.schema, []string{added}), d.gen}
}

func (g *generator) object(depth int) drawn {
	n := rapid.IntRange(0, 4).Draw(g.t, "properties")
	var names, parts, required []string
	fields := map[string]drawn{}
	for range n {
		name := rapid.SampledFrom(Names).Draw(g.t, "name")
		if _, ok := fields[name]; ok {
			continue
		}
		d := g.node(depth + 1)
		if chance(g.t, "never", 2) {
			d = drawn{"false", nil}
		}
		fields[name] = d
		names = append(names, name)
		parts = append(parts, quote(name)+":"+d.schema)
		if d.gen != nil && chance(g.t, "required", 60) {
			required = append(required, quote(name))
		}
	}
	s := []string{`"type":"object"`}
	if chance(g.t, "type list", 10) {
		s[0] = `"type":["object","null"]`
	}
	if len(parts) > 0 || chance(g.t, "empty properties", 50) {
		s = append(s, `"properties":{`+strings.Join(parts, ",")+`}`)
	}
	if len(required) > 0 {
		s = append(s, `"required":[`+strings.Join(required, ",")+`]`)
	}
	rest := anyValue
	switch rapid.IntRange(0, 5).Draw(g.t, "additional") {
	case 0, 1, 2:
		s = append(s, `"additionalProperties":false`)
		rest = nil
	case 3:
		d := g.node(depth + 1)
		s = append(s, `"additionalProperties":`+d.schema)
		rest = d.gen
	}
	d := drawn{"{" + strings.Join(s, ",") + "}", func(t *rapid.T, depth int) string {
		return drawObject(t, depth, names, fields, required, rest)
	}}
	if chance(g.t, "decorated", 15) {
		return g.decorated(d)
	}
	return d
}

func drawObject(t *rapid.T, depth int, names []string, fields map[string]drawn, required []string, rest func(*rapid.T, int) string) string {
	var members []string
	for _, name := range names {
		must := false
		for _, r := range required {
			must = must || r == quote(name)
		}
		gen := fields[name].gen
		if gen == nil || !must && (depth > 6 || chance(t, "left out", 30)) {
			continue
		}
		if chance(t, "twice", 2) {
			members = append(members, quote(name)+":0") // the last wins
		}
		members = append(members, quote(name)+":"+gen(t, depth+1))
	}
	if rest != nil && depth < 5 && chance(t, "more members", 30) {
		for range rapid.IntRange(1, 2).Draw(t, "more") {
			name := rapid.SampledFrom(Names).Draw(t, "other name")
			if _, ok := fields[name]; !ok {
				members = append(members, quote(name)+":"+rest(t, depth+1))
			}
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (g *generator) array(depth int) drawn {
	if chance(g.t, "tuple", 15) {
		return g.tuple(depth)
	}
	elem := g.node(depth + 1)
	s := `{"type":"array"`
	if chance(g.t, "items first", 80) {
		s += `,"items":` + elem.schema
	} else {
		elem = drawn{"", anyValue}
	}
	s += rapid.SampledFrom([]string{"", "", "", `,"minItems":1`, `,"minItems":2`, `,"maxItems":50`, `,"uniqueItems":true`,
		`,"contains":{"type":"string"}`, `,"contains":{},"minContains":2`}).Draw(g.t, "array facet")
	return drawn{s + "}", func(t *rapid.T, depth int) string {
		n := rapid.IntRange(0, 3).Draw(t, "length")
		if depth > 6 {
			n = 0
		} else if depth < 3 && chance(t, "long array", 40) {
			n = rapid.IntRange(10, 40).Draw(t, "length")
		}
		var parts []string
		same := ""
		for i := range n {
			if i > 3 && same != "" && chance(t, "same again", 90) {
				parts = append(parts, same)
				continue
			}
			same = elem.gen(t, depth+1)
			parts = append(parts, same)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}}
}

func (g *generator) tuple(depth int) drawn {
	a, b := g.node(depth+1), g.node(depth+1)
	rest := rapid.SampledFrom([]string{"", "false", `{"type":"string"}`}).Draw(g.t, "rest of tuple")
	keyword, more := "prefixItems", "items"
	if g.draft == Draft07 {
		keyword, more = "items", "additionalItems"
	}
	s := `{"type":"array",` + quote(keyword) + `:[` + a.schema + `,` + b.schema + `]`
	if rest != "" {
		s += `,` + quote(more) + `:` + rest
	}
	return drawn{s + "}", func(t *rapid.T, depth int) string {
		if depth > 6 {
			return "[]"
		}
		parts := []string{a.gen(t, depth+1), b.gen(t, depth+1), `"more"`}
		return "[" + strings.Join(parts[:rapid.IntRange(0, 3).Draw(t, "of tuple")], ",") + "]"
	}}
}

func (g *generator) scalar() drawn {
	switch rapid.IntRange(0, 11).Draw(g.t, "scalar") {
	case 0, 1:
		return drawn{`{"type":"string"}`, anyString}
	case 2:
		facet := rapid.SampledFrom([]string{
			`"maxLength":400`, `"minLength":1`, `"minLength":90`, `"pattern":"^[^ ]*$"`, `"pattern":"x$"`, `"contentEncoding":"base64"`,
		}).Draw(g.t, "string facet")
		return drawn{`{"type":"string",` + facet + `}`, anyString}
	case 3:
		return drawn{`{"type":"string","format":"uri"}`, func(t *rapid.T, _ int) string {
			return quote("https://example.com/" + strings.Repeat("p/", rapid.IntRange(0, 200).Draw(t, "path")))
		}}
	case 4:
		long := strings.Repeat("long ", rapid.IntRange(13, 40).Draw(g.t, "long const"))
		value := rapid.SampledFrom([]string{`"x"`, `7`, `null`, quote(long), `["a","b","c"]`, `{"a":"b"}`}).Draw(g.t, "const")
		return drawn{`{"const":` + value + `}`, func(*rapid.T, int) string { return value }}
	case 5:
		values := []string{`"x"`, `"y"`, `1`, `null`, quote(strings.Repeat("z", 100)), `[1,2,3]`}
		n := rapid.IntRange(1, len(values)).Draw(g.t, "enum")
		return drawn{`{"enum":[` + strings.Join(values[:n], ",") + `]}`, func(t *rapid.T, _ int) string {
			return values[rapid.IntRange(0, n-1).Draw(t, "of enum")]
		}}
	case 6:
		return drawn{`{"type":"boolean"}`, func(t *rapid.T, _ int) string {
			return strconv.FormatBool(rapid.Bool().Draw(t, "bool"))
		}}
	case 7, 8:
		return drawn{`{"type":"integer","minimum":0}`, func(t *rapid.T, _ int) string {
			return rapid.SampledFrom([]string{"0", "7", "9007199254740993", "12345678901234567890"}).Draw(t, "int")
		}}
	case 9:
		return drawn{`{"type":"number"}`, func(t *rapid.T, _ int) string {
			return rapid.SampledFrom([]string{"0", "1.0", "-2.5", "1e3"}).Draw(t, "number")
		}}
	case 10:
		return drawn{`{"type":["string","null"]}`, func(t *rapid.T, d int) string {
			if chance(t, "null", 40) {
				return "null"
			}
			return anyString(t, d)
		}}
	}
	return drawn{`{"type":"null"}`, func(*rapid.T, int) string { return "null" }}
}

func anyString(t *rapid.T, depth int) string {
	switch rapid.IntRange(0, 9).Draw(t, "string") {
	case 0:
		return `""`
	case 1, 2, 7:
		return quote(strings.Repeat("x", rapid.IntRange(60, 3000).Draw(t, "length")))
	case 3:
		return quote(strings.Repeat("line of text\n", rapid.IntRange(2, 200).Draw(t, "lines")))
	case 4:
		return quote("data:image/png;base64," + strings.Repeat("QUJD", rapid.IntRange(1, 400).Draw(t, "base64")))
	case 5:
		if depth < 4 {
			return quote(anyValue(t, depth+2)) // JSON in a string
		}
	case 6:
		return `"\ud83d\ude00 é\\\" \u0000"`
	}
	return quote(rapid.SampledFrom([]string{"x", "y", "z z", "42", "[1,2]"}).Draw(t, "short"))
}

func anyValue(t *rapid.T, depth int) string {
	k := rapid.IntRange(0, 9).Draw(t, "any value")
	if depth > 5 {
		k %= 6
	}
	switch k {
	case 0:
		return "null"
	case 1:
		return "true"
	case 2:
		return "-1.50"
	case 3, 4:
		return quote(rapid.SampledFrom([]string{"x", "", "long long long long long long long long long long long long long long"}).Draw(t, "any string"))
	case 5:
		return "12"
	case 6, 7:
		var parts []string
		for range rapid.IntRange(0, 4).Draw(t, "any array") {
			parts = append(parts, anyValue(t, depth+1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	var parts []string
	for range rapid.IntRange(0, 4).Draw(t, "any object") {
		parts = append(parts, quote(rapid.SampledFrom(Names).Draw(t, "any name"))+":"+anyValue(t, depth+1))
	}
	return "{" + strings.Join(parts, ",") + "}"
}
