package record

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jmespath"
)

// Path names places in a JSON document.
type Path []Step

// Step is one step of a Path.
type Step struct {
	Name  string // a member
	Index int    // with At: an element, from the end where it is under 0
	At    bool
	Any   bool // every element of an array, or every member of an object
	Self  bool // @: no step at all
}

// ParsePath reads a path: a JMESPath of names, [*], [], * and [n], which are the
// expressions that name places, such as items[*].owner.email. An array that a
// name is looked for in stands for each of its elements. Functions, filters and
// multi-selects make new values, which stand nowhere, and are refused.
func ParsePath(text string) (Path, error) {
	if _, err := jmespath.Compile(text); err != nil {
		return nil, fmt.Errorf("path %q: %w", text, err)
	}
	bad := func() (Path, error) {
		return nil, fmt.Errorf("path %q: only names, [*], [], * and [n] name places, as in items[*].owner.email", text)
	}
	var p Path
	for rest := strings.TrimSpace(text); rest != ""; {
		switch {
		case rest[0] == '.':
			rest = rest[1:]
		case rest[0] == '@':
			p, rest = append(p, Step{Self: true}), rest[1:]
		case rest[0] == '*':
			p, rest = append(p, Step{Any: true}), rest[1:]
		case strings.HasPrefix(rest, "[*]"):
			p, rest = append(p, Step{Any: true}), rest[3:]
		case strings.HasPrefix(rest, "[]"):
			p, rest = append(p, Step{Any: true}), rest[2:]
		case rest[0] == '[':
			inner, after, ok := strings.Cut(rest[1:], "]")
			n, err := strconv.Atoi(strings.TrimSpace(inner))
			if !ok || err != nil {
				return bad()
			}
			p, rest = append(p, Step{Index: n, At: true}), after
		case rest[0] == '"':
			end := 1
			for end < len(rest) && rest[end] != '"' {
				if rest[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(rest) {
				return bad()
			}
			name, err := strconv.Unquote(rest[:end+1])
			if err != nil {
				return bad()
			}
			p, rest = append(p, Step{Name: name}), rest[end+1:]
		default:
			end := strings.IndexFunc(rest, func(c rune) bool {
				return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
			})
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return bad()
			}
			p, rest = append(p, Step{Name: rest[:end]}), rest[end:]
		}
	}
	if len(p) == 0 {
		return bad()
	}
	return p, nil
}
