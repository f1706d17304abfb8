package reduce

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// ExpandRequest is what reducer_expand is asked for (RED-25). Without
// anything but a ref it asks for the whole original.
type ExpandRequest struct {
	Ref    string
	Rows   string   // "26-50", "26-", "-10" (the last ten), "7": 1-based, inclusive
	Fields []string // names of the projection, or dotted paths of an original row
	Query  string   // JMESPath over the original payload
	Lines  string   // as Rows, over the lines of a text payload
	Block  *int     // one content block, 1-based
	Offset int      // where the next part starts, in bytes of the answer's text
}

// ArgumentError is an expand argument that cannot be honoured: what was given
// and what is allowed (RED-28).
type ArgumentError struct {
	Name  string // the argument
	Given string // as JSON or text
	Want  string // what is allowed
}

func (e *ArgumentError) Error() string {
	if e.Given == "" {
		return e.Name + ": " + e.Want
	}
	return e.Name + " " + e.Given + ": " + e.Want
}

// ParseExpandRequest reads the arguments of a reducer_expand call, a JSON
// object. The error is an [*ArgumentError].
func ParseExpandRequest(args []byte) (ExpandRequest, error) {
	var q ExpandRequest
	d, err := jsontape.Parse(args)
	if err != nil || d.Root().Kind() != jsontape.Object {
		return q, &ArgumentError{Name: "arguments", Want: `a JSON object is needed, as {"ref":"r_9f2c41d08a3b","rows":"26-50"}`}
	}
	for it := d.Root().Iter(); it.Next(); {
		name, v := it.Key().Str(), it.Value()
		if v.Kind() == jsontape.Null {
			continue
		}
		if err := q.set(name, v); err != nil {
			return q, err
		}
	}
	if q.Ref == "" {
		return q, &ArgumentError{Name: "ref", Want: "is missing; it is the r_… id that a note names"}
	}
	return q, q.check()
}

func (q *ExpandRequest) set(name string, v jsontape.Value) error {
	bad := func(want string) error {
		return &ArgumentError{Name: name, Given: clip(string(v.AppendCompact(nil)), 80), Want: want}
	}
	text := func(dst *string, want string) error {
		switch v.Kind() {
		case jsontape.String:
			*dst = v.Str()
		case jsontape.Number:
			*dst = string(v.Raw())
		default:
			return bad(want)
		}
		return nil
	}
	switch name {
	case "ref", "continuation_token":
		if v.Kind() != jsontape.String || !IsRef(v.Str()) {
			return bad("a ref is r_ and 12 hexadecimal digits, as a note names it")
		}
		q.Ref = v.Str()
	case "rows":
		return text(&q.Rows, wantRange("rows"))
	case "lines":
		return text(&q.Lines, wantRange("lines"))
	case "query":
		if v.Kind() != jsontape.String {
			return bad("a JMESPath expression in a string is needed")
		}
		q.Query = v.Str()
	case "fields":
		return q.setFields(v, bad)
	case "block":
		n, ok := wholeNumber(v)
		if !ok || n < 1 {
			return bad("the number of a content block is needed, from 1")
		}
		q.Block = &n
	case "offset":
		n, ok := wholeNumber(v)
		if !ok || n < 0 {
			return bad("a number of bytes from 0 is needed, as the part before named it")
		}
		q.Offset = n
	default:
		return &ArgumentError{Name: name, Want: "is no argument of this tool; allowed are ref, rows, fields, query, lines, block and offset"}
	}
	return nil
}

func (q *ExpandRequest) setFields(v jsontape.Value, bad func(string) error) error {
	const want = `a list of field names or dotted paths is needed, as ["node_id","owner.login"]`
	switch v.Kind() {
	case jsontape.String:
		for _, f := range strings.Split(v.Str(), ",") {
			q.addField(strings.TrimSpace(f))
		}
	case jsontape.Array:
		for it := v.Iter(); it.Next(); {
			if it.Value().Kind() != jsontape.String {
				return bad(want)
			}
			q.addField(it.Value().Str())
		}
	default:
		return bad(want)
	}
	for _, f := range q.Fields {
		if f == "" {
			return bad(want)
		}
	}
	return nil
}

// addField asks for a field; twice is once, since a row has each name once.
func (q *ExpandRequest) addField(name string) {
	if !slices.Contains(q.Fields, name) {
		q.Fields = append(q.Fields, name)
	}
}

// wholeNumber reads an integer; models also send one in a string.
func wholeNumber(v jsontape.Value) (int, bool) {
	var s string
	switch v.Kind() {
	case jsontape.Number:
		s = string(v.Raw())
	case jsontape.String:
		s = v.Str()
	default:
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSuffix(s, ".0"))
	return n, err == nil
}

// check refuses arguments that cannot go together: a block may be named with
// any one of the others, which then look into it.
func (q *ExpandRequest) check() error {
	given := []string{}
	for _, a := range []struct {
		name string
		set  bool
	}{{"rows or fields", q.Rows != "" || len(q.Fields) > 0}, {"query", q.Query != ""}, {"lines", q.Lines != ""}} {
		if a.set {
			given = append(given, a.name)
		}
	}
	if len(given) > 1 {
		return &ArgumentError{Name: "arguments", Given: strings.Join(given, " with "), Want: "only one of them can be asked for in a call"}
	}
	if q.Query != "" {
		if _, err := jmespath.Compile(q.Query); err != nil {
			return &ArgumentError{Name: "query", Given: strconv.Quote(clip(q.Query, 80)), Want: err.Error()}
		}
	}
	return nil
}

func wantRange(of string) string {
	return fmt.Sprintf(`a range of %s is needed: "26-50", "26-", "-10" for the last ten, or "7"`, of)
}

// parseRange reads a range over total things, 1-based and inclusive, and
// returns it as a half-open range from 0.
func parseRange(name, s string, total int, things string) (from, to int, err error) {
	bad := func(want string) (int, int, error) {
		return 0, 0, &ArgumentError{Name: name, Given: strconv.Quote(clip(s, 40)), Want: want}
	}
	a, b, dash := strings.Cut(strings.ReplaceAll(strings.TrimSpace(s), " ", ""), "-")
	first, okA := rangeNumber(a)
	last, okB := rangeNumber(b)
	if !okA || !okB || a == "" && b == "" {
		return bad(wantRange(things))
	}
	switch {
	case !dash:
		last = first
	case a == "":
		if last < 1 {
			return bad(wantRange(things))
		}
		return max(0, total-last), total, nil
	case b == "":
		last = math.MaxInt
	}
	if first < 1 || first > last {
		return bad(things + " count from 1, and a range goes up")
	}
	if first > total {
		return bad(fmt.Sprintf("this result has %s %s", count(total), things))
	}
	if last > total && last != math.MaxInt {
		return bad(fmt.Sprintf("this result has %s %s", count(total), things))
	}
	return first - 1, min(last, total), nil
}

func rangeNumber(s string) (int, bool) {
	if s == "" {
		return 0, true
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0
}
