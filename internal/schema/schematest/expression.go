package schematest

import (
	"strings"

	"pgregory.net/rapid"
)

// Expression draws a JMESPath expression over Names. Not every one compiles, and
// fewer succeed on any given value.
func Expression(t *rapid.T) string { return expression(t, 0) }

func name(t *rapid.T) string {
	n := rapid.SampledFrom(Names).Draw(t, "field")
	if strings.ContainsAny(n, ".é") {
		return quote(n)
	}
	return n
}

func expression(t *rapid.T, depth int) string {
	e := func() string { return expression(t, depth+1) }
	k := rapid.IntRange(0, 43).Draw(t, "expression")
	if depth > 3 {
		k %= 9
	}
	switch {
	case k < 6:
		return name(t)
	case k == 6:
		return "@"
	case k == 7:
		return rapid.SampledFrom([]string{"`1`", "'x'", "`null`", "`[1,\"a\",null]`", "`{\"a\":1.5}`", "$", "`\"\"`", "`false`"}).Draw(t, "literal")
	case k == 8:
		return name(t) + "." + name(t)
	case k < 13:
		return e() + "." + name(t)
	case k < 16:
		return e() + "[*]." + name(t)
	case k < 19:
		return name(t) + "[*].{" + name(t) + ":" + e() + "," + name(t) + ":" + name(t) + "}"
	case k == 19:
		return e() + ".*"
	case k == 20:
		return e() + "[]"
	case k == 21:
		return e() + "[]." + name(t)
	case k == 22:
		return e() + rapid.SampledFrom([]string{"[0]", "[-1]", "[1]", "[1:3]", "[:2]", "[::-1]"}).Draw(t, "index")
	case k == 23:
		return name(t) + "[?" + e() + "]"
	case k == 24:
		return e() + "[?" + name(t) + rapid.SampledFrom([]string{"==", "!=", "<", ">="}).Draw(t, "op") + e() + "]." + name(t)
	case k < 28:
		return "{" + name(t) + ":" + e() + "," + name(t) + ":" + e() + "}"
	case k == 28:
		return "[" + e() + "," + e() + "]"
	case k == 29:
		return e() + "|" + e()
	case k == 30:
		return e() + "||" + e()
	case k == 31:
		return e() + "&&" + e()
	case k == 32:
		return "!" + e()
	case k == 33:
		return "(" + e() + ")" + rapid.SampledFrom([]string{"==", "<", "+", "-", "*", "/", "//", "%"}).Draw(t, "infix") + "(" + e() + ")"
	case k == 34:
		return "(" + e() + ")?(" + e() + "):(" + e() + ")"
	case k == 35:
		return "let $x = " + e() + " in [$x," + e() + "]"
	case k == 36:
		return "let $y = " + e() + ", $z = " + e() + " in $y." + name(t) + "||$z"
	}
	return call(t, e)
}

func call(t *rapid.T, e func() string) string {
	f := rapid.SampledFrom([]string{
		"length", "keys", "values", "items", "sum", "avg", "max", "min", "sort", "reverse", "to_string", "to_number", "to_array", "type",
		"abs", "ceil", "floor", "lower", "upper", "trim", "from_items", "not_null", "merge", "zip",
		"contains", "starts_with", "ends_with", "join", "find_first", "find_last", "split", "pad_left", "replace",
		"sort_by", "max_by", "min_by", "group_by", "map",
	}).Draw(t, "function")
	switch f {
	case "contains", "starts_with", "ends_with", "find_first", "find_last", "split":
		return f + "(" + e() + ",'x')"
	case "join":
		return f + "(',', " + e() + ")"
	case "pad_left":
		return f + "(" + e() + ",`5`)"
	case "replace":
		return f + "(" + e() + ",'x','y')"
	case "sort_by", "max_by", "min_by", "group_by":
		return f + "(" + e() + ",&" + e() + ")"
	case "map":
		return f + "(&" + e() + "," + e() + ")"
	case "merge", "zip", "not_null":
		return f + "(" + e() + "," + e() + ")"
	}
	return f + "(" + e() + ")"
}
