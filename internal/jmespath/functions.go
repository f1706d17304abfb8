package jmespath

import (
	"fmt"
	"slices"
	"strings"
)

// function is one built-in function.
type function struct {
	name     string
	min, max int    // arguments; max is -1 where there may be any number
	refs     string // one byte an argument: 'r' takes &expression, anything else a value
	call     func(c *call) (value, error)
}

// functions lists every function, sorted by name.
var functions []*function

func init() {
	functions = []*function{
		{"abs", 1, 1, "", nil},
		{"avg", 1, 1, "", nil},
		{"ceil", 1, 1, "", nil},
		{"contains", 2, 2, "", nil},
		{"ends_with", 2, 2, "", nil},
		{"find_first", 2, 4, "", nil},
		{"find_last", 2, 4, "", nil},
		{"floor", 1, 1, "", nil},
		{"from_items", 1, 1, "", nil},
		{"group_by", 2, 2, "vr", nil},
		{"items", 1, 1, "", nil},
		{"join", 2, 2, "", nil},
		{"keys", 1, 1, "", nil},
		{"length", 1, 1, "", nil},
		{"lower", 1, 1, "", nil},
		{"map", 2, 2, "rv", nil},
		{"max", 1, 1, "", nil},
		{"max_by", 2, 2, "vr", nil},
		{"merge", 1, -1, "", nil},
		{"min", 1, 1, "", nil},
		{"min_by", 2, 2, "vr", nil},
		{"not_null", 1, -1, "", nil},
		{"pad_left", 2, 3, "", nil},
		{"pad_right", 2, 3, "", nil},
		{"replace", 3, 4, "", nil},
		{"reverse", 1, 1, "", nil},
		{"sort", 1, 1, "", nil},
		{"sort_by", 2, 2, "vr", nil},
		{"split", 2, 3, "", nil},
		{"starts_with", 2, 2, "", nil},
		{"sum", 1, 1, "", nil},
		{"to_array", 1, 1, "", nil},
		{"to_number", 1, 1, "", nil},
		{"to_string", 1, 1, "", nil},
		{"trim", 1, 2, "", nil},
		{"trim_left", 1, 2, "", nil},
		{"trim_right", 1, 2, "", nil},
		{"type", 1, 1, "", nil},
		{"upper", 1, 1, "", nil},
		{"values", 1, 1, "", nil},
		{"zip", 1, -1, "", nil},
	}
}

func lookup(name string) *function {
	i, ok := slices.BinarySearchFunc(functions, name, func(f *function, name string) int { return strings.Compare(f.name, name) })
	if !ok {
		return nil
	}
	return functions[i]
}

// resolve finds the function that a call names, and checks the arguments as
// far as that can be done without data.
func resolve(name token, args []node) (*function, error) {
	fn := lookup(name.text)
	if fn == nil {
		hint := ""
		var names []string
		for _, f := range functions {
			names = append(names, f.name)
		}
		if near := nearest(name.text, names); near != "" {
			hint = "; did you mean " + near + "()?"
		}
		return nil, &SyntaxError{name.pos, fmt.Sprintf("unknown function %s()%s", clip(name.text), hint), CodeUnknownFunction}
	}
	if n := len(args); n < fn.min || fn.max >= 0 && n > fn.max {
		return nil, &SyntaxError{name.pos, fmt.Sprintf("%s() takes %s, found %d", fn.name, fn.arity(), n), CodeInvalidArity}
	}
	for i, arg := range args {
		_, isRef := arg.(*refNode)
		takes := i < len(fn.refs) && fn.refs[i] == 'r'
		switch {
		case takes && !isRef:
			return nil, &SyntaxError{arg.at(), fmt.Sprintf("argument %d of %s() is an expression such as &name, found a value without '&'", i+1, fn.name), CodeInvalidType}
		case isRef && !takes:
			return nil, &SyntaxError{arg.at(), fmt.Sprintf("argument %d of %s() is a value, found an expression with '&'", i+1, fn.name), CodeInvalidType}
		}
	}
	return fn, nil
}

func (f *function) arity() string {
	plural := func(n int) string {
		if n == 1 {
			return "1 argument"
		}
		return fmt.Sprintf("%d arguments", n)
	}
	switch {
	case f.max < 0:
		return "at least " + plural(f.min)
	case f.max > f.min:
		return fmt.Sprintf("%d to %d arguments", f.min, f.max)
	}
	return plural(f.min)
}

// nearest returns the name most like the given one, or "" where none is.
func nearest(given string, names []string) string {
	best, at := 3, ""
	if len(given) > 40 {
		return ""
	}
	for _, name := range names {
		if d := distance(given, name); d < best && d < max(len(given), len(name))*2/3 {
			best, at = d, name
		}
	}
	return at
}

// distance counts the insertions, deletions and substitutions of bytes from a
// to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost = 1 + min(diagonal, row[j], row[j-1])
			}
			diagonal, row[j] = row[j], cost
		}
	}
	return row[len(b)]
}
