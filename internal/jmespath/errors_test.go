package jmespath

import (
	"errors"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

func TestCompileErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", "at byte 0: expected an expression, found the end of the expression"},
		{"   ", "at byte 3: expected an expression, found the end of the expression"},
		{"items[*].{a: [", "at byte 14: expected an expression after '[', found the end of the expression"},
		{"items[*", "at byte 7: expected ']' after '*', found the end of the expression"},
		{"items[*].{repo}", "at byte 14: expected ':' after 'repo', found '}'"},
		{"items[*].{a: b,}", "at byte 15: expected a member's name after ',', found '}'"},
		{"items[*]{a: b}", "at byte 8: expected an operator or the end of the expression after ']', found '{'"},
		{"a.b.", "at byte 4: expected a name, '*', '[', '{' or a function after '.', found the end of the expression"},
		{"a[b]", "at byte 2: expected a number, '*', a slice such as 0:10, '?' or ']' after '[', found 'b'"},
		{"a[?b = 'c']", "at byte 5: expected an operator or the ']' of the filter after 'b', found '='; write == to compare"},
		{"a[?b == 'c'", "at byte 11: expected an operator or the ']' of the filter after ''c'', found the end of the expression"},
		{"a[?b == 3]", "at byte 8: expected an expression, found the number 3; a number stands between backticks, `3`, outside of [ ]"},
		{"a || ", "at byte 5: expected an expression after '||', found the end of the expression"},
		{"(a", "at byte 2: expected an operator or ')' after 'a', found the end of the expression"},
		{"a ? b", "at byte 5: expected an operator or the ':' of the '?' after 'b', found the end of the expression"},
		{"a#b", "at byte 1: expected an expression or an operator, found '#'"},
		{"a\x80", "at byte 1: expected an expression or an operator, found byte 0x80"},
		{"'abc", "at byte 0: expected ' at the end of the raw string that begins here, found the end of the expression"},
		{"a.\"b", "at byte 2: expected \" at the end of the quoted name that begins here, found the end of the expression"},
		{"`{\"a\": tru}`", "at byte 7: in a literal between backticks: expected a value, found 't'"},
		{"a == `open`", "at byte 6: in a literal between backticks: expected a value, found 'o'; for a string write 'open'"},
		{"`\"\\`\\`\" x`", "at byte 8: in a literal between backticks: expected the end of the document, found 'x'"},
		{"\"a\\x\"", "at byte 3: in a quoted name: expected one of \" \\ / b f n r t u after '\\', found 'x'"},
		{"lenght(a)", "at byte 0: unknown function lenght(); did you mean length()?"},
		{"a[?start_with(b, 'c')]", "at byte 3: unknown function start_with(); did you mean starts_with()?"},
		{"frobnicate(a)", "at byte 0: unknown function frobnicate()"},
		{"length()", "at byte 0: length() takes 1 argument, found 0"},
		{"join('a')", "at byte 0: join() takes 2 arguments, found 1"},
		{"find_first('a')", "at byte 0: find_first() takes 2 to 4 arguments, found 1"},
		{"merge()", "at byte 0: merge() takes at least 1 argument, found 0"},
		{"sort_by(a, b)", "at byte 11: argument 2 of sort_by() is an expression such as &name, found a value without '&'"},
		{"sort(&a)", "at byte 5: argument 1 of sort() is a value, found an expression with '&'"},
		{"&a", "at byte 0: expected an expression, found '&'"},
		{"let $name = a in $nam", "at byte 17: no let binds the variable $nam here; did you mean $name?"},
		{"let $a = b", "at byte 10: expected an operator, ',' or 'in' after 'b', found the end of the expression"},
		{"let $a b", "at byte 7: expected '=' after '$a', found 'b'"},
		{"a[::0]", "at byte 4: expected a step other than 0"},
		{"a[1:2:3:4]", "at byte 7: expected ']' after '3', found ':'"},
		{"a[1 2]", "at byte 4: expected ']' or ':' after '1', found '2'"},
		{"a[1:2 3]", "at byte 6: expected ':' or ']' after '2', found '3'"},
	} {
		_, err := Compile(c.src)
		if err == nil || err.Error() != c.want {
			t.Errorf("%q:\n got %v\nwant %s", c.src, err, c.want)
		}
	}
}

func TestEvalErrors(t *testing.T) {
	const doc = `{"s": "abc", "n": 1, "l": [1, "a"], "o": {"k": 2}, "e": []}`
	for _, c := range []struct{ src, want string }{
		{"o | length(n)", "at byte 4: length(): argument 1 must be a string or an array or an object, found null"},
		{"abs(s)", "at byte 0: abs(): argument 1 must be a number, found a string"},
		{"sum(l)", "at byte 0: sum(): argument 1 must be an array of numbers, found a string at index 1"},
		{"join(',', l)", "at byte 0: join(): argument 2 must be an array of strings, found a number at index 0"},
		{"sort(l)", "at byte 0: sort(): numbers and strings have no common order, found a string at index 1 after numbers"},
		{"sort_by(l, &@.x)", "at byte 0: sort_by(): only numbers or strings have an order, found null at index 0"},
		{"group_by(l, &@)", "at byte 0: group_by(): the expression must give a string, found a number at index 0"},
		{"from_items(l[*].[@])", "at byte 0: from_items(): each element must be a pair of a name and a value, found 1 elements at index 0"},
		{"from_items([[n, n]])", "at byte 0: from_items(): each pair must begin with a string, found a number at index 0"},
		{"find_first(s, 'b', `1.5`)", "at byte 0: find_first(): argument 3 must be a whole number, found 1.5"},
		{"replace(s, 'a', 'b', `-1`)", "at byte 0: replace(): argument 4 must be 0 or more, found -1"},
		{"pad_left(s, `9`, 'ab')", "at byte 0: pad_left(): argument 3 must be one character, found 2"},
		{"n + s", "at byte 2: + takes numbers, found a string"},
		{"n / `0`", "at byte 2: /: division by zero"},
		{"n // `0`", "at byte 2: //: division by zero"},
		{"-s", "at byte 0: - takes numbers, found a string"},
	} {
		e, err := Compile(c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		d, err := jsontape.Parse([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Search(d.Root())
		var bad *EvalError
		if !errors.As(err, &bad) || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.src, err, c.want)
		}
	}
}
