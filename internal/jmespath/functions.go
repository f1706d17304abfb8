package jmespath

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
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
		{"abs", 1, 1, "", callAbs},
		{"avg", 1, 1, "", callAvg},
		{"ceil", 1, 1, "", callCeil},
		{"contains", 2, 2, "", callContains},
		{"ends_with", 2, 2, "", callEndsWith},
		{"find_first", 2, 4, "", callFindFirst},
		{"find_last", 2, 4, "", callFindLast},
		{"floor", 1, 1, "", callFloor},
		{"from_items", 1, 1, "", callFromItems},
		{"group_by", 2, 2, "vr", callGroupBy},
		{"items", 1, 1, "", callItems},
		{"join", 2, 2, "", callJoin},
		{"keys", 1, 1, "", callKeys},
		{"length", 1, 1, "", callLength},
		{"lower", 1, 1, "", callLower},
		{"map", 2, 2, "rv", callMap},
		{"max", 1, 1, "", callMax},
		{"max_by", 2, 2, "vr", callMaxBy},
		{"merge", 1, -1, "", callMerge},
		{"min", 1, 1, "", callMin},
		{"min_by", 2, 2, "vr", callMinBy},
		{"not_null", 1, -1, "", callNotNull},
		{"pad_left", 2, 3, "", callPadLeft},
		{"pad_right", 2, 3, "", callPadRight},
		{"replace", 3, 4, "", callReplace},
		{"reverse", 1, 1, "", callReverse},
		{"sort", 1, 1, "", callSort},
		{"sort_by", 2, 2, "vr", callSortBy},
		{"split", 2, 3, "", callSplit},
		{"starts_with", 2, 2, "", callStartsWith},
		{"sum", 1, 1, "", callSum},
		{"to_array", 1, 1, "", callToArray},
		{"to_number", 1, 1, "", callToNumber},
		{"to_string", 1, 1, "", callToString},
		{"trim", 1, 2, "", callTrim},
		{"trim_left", 1, 2, "", callTrimLeft},
		{"trim_right", 1, 2, "", callTrimRight},
		{"type", 1, 1, "", callType},
		{"upper", 1, 1, "", callUpper},
		{"values", 1, 1, "", callValues},
		{"zip", 1, -1, "", callZip},
	}
}

// call is one function call with its arguments evaluated.
type call struct {
	ev   *evaluator
	node *callNode
	cur  value
	args []value // the zero value where the function takes an expression
}

func (ev *evaluator) call(n *callNode, cur value) (value, error) {
	var few [4]value
	c := call{ev: ev, node: n, cur: cur, args: few[:0]}
	for _, arg := range n.args {
		var val value
		if _, isRef := arg.(*refNode); !isRef {
			var err error
			if val, err = ev.eval(arg, cur); err != nil {
				return null, err
			}
		}
		c.args = append(c.args, val)
	}
	return n.fn.call(&c)
}

// ref evaluates the expression given as argument i with e as @.
func (c *call) ref(i int, e value) (value, error) {
	return c.ev.eval(c.node.args[i].(*refNode).of, e)
}

// want is the error unless argument i is of one of the given kinds.
func (c *call) want(i int, kinds ...jsontape.Kind) error {
	if slices.Contains(kinds, c.args[i].k) {
		return nil
	}
	var names []string
	for _, k := range kinds {
		names = append(names, withArticle(k))
	}
	return c.fail(CodeInvalidType, "argument %d must be %s, found %s", i+1, strings.Join(names, " or "), withArticle(c.args[i].k))
}

// wantArrayOf is the error unless argument i is an array of elements of the
// one given kind.
func (c *call) wantArrayOf(i int, kind jsontape.Kind) ([]value, error) {
	if err := c.want(i, jsontape.Array); err != nil {
		return nil, err
	}
	elems, err := c.elements(i)
	for at := range elems {
		if elems[at].k != kind {
			return nil, c.fail(CodeInvalidType, "argument %d must be an array of %ss, found %s at index %d", i+1, kind, withArticle(elems[at].k), at)
		}
	}
	return elems, err
}

// elements returns the elements of argument i, which is an array. They must
// not be changed.
func (c *call) elements(i int) ([]value, error) {
	if err := c.ev.charge(c.node, c.args[i].size()); err != nil {
		return nil, err
	}
	return c.args[i].elements(), nil
}

func (c *call) fail(code, format string, args ...any) error {
	return c.ev.fail(c.node, code, "%s(): "+format, append([]any{c.node.fn.name}, args...)...)
}

func withArticle(k jsontape.Kind) string {
	switch k {
	case jsontape.Null, jsontape.Invalid:
		return "null"
	case jsontape.Array, jsontape.Object:
		return "an " + k.String()
	}
	return "a " + k.String()
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
