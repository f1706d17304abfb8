package config

import (
	"regexp"
	"strings"

	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// variable is what stands between ${ and }: a name, as some clients write it
// after env:, and what holds where it is not set or empty.
var variable = regexp.MustCompile(`^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$`)

// expand replaces ${NAME} and ${NAME:-default} in a string of the file; $${
// stands for ${ itself. Variables that are not set go to unset, at the place of
// their ${.
func (r *reader) expand(n *yamlpos.Node, unset *yamlpos.Errors) string {
	var b strings.Builder
	text := n.Text
	for at := 0; ; {
		i := strings.Index(text[at:], "${")
		if i < 0 {
			b.WriteString(text[at:])
			return b.String()
		}
		start := at + i
		if start > at && text[start-1] == '$' {
			b.WriteString(text[at:start-1] + "${")
			at = start + 2
			continue
		}
		b.WriteString(text[at:start])
		end := strings.IndexByte(text[start:], '}')
		if end < 0 {
			r.errs.AtOffset(n, start, "write $${ for the characters ${ themselves", "a variable starts here and has no }")
			return ""
		}
		at = start + end + 1
		m := variable.FindStringSubmatch(text[start+2 : at-1])
		if m == nil {
			r.errs.AtOffset(n, start, "", "a variable is written ${NAME} or ${NAME:-default}")
			return ""
		}
		value, set := r.lookup(m[1])
		switch {
		case strings.Contains(text[start:at], ":-"):
			if value == "" {
				value = m[2]
			}
		case !set:
			unset.AtOffset(n, start, "set it, or write ${"+m[1]+":-default}", "the environment variable %s is not set", m[1])
		}
		b.WriteString(value)
	}
}
