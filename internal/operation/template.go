package operation

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// shape is a JSON value with expressions in it: every string is an expression,
// everything else stands for itself.
type shape struct {
	expr  *expression // of a string
	json  []byte      // of a number, true, false or null
	names []string    // of a map
	items []*shape    // of a map or list
	list  bool
}

// shape reads a value in which strings are expressions.
func (b *builder) shape(n *yamlpos.Node, name string, root names) *shape {
	switch n.Kind {
	case yamlpos.String:
		return &shape{expr: b.expression(n, name, root)}
	case yamlpos.Map:
		s := &shape{}
		for _, p := range n.Pairs {
			s.names = append(s.names, p.Key.Text)
			s.items = append(s.items, b.shape(p.Value, name+"."+p.Key.Text, root))
		}
		return s
	case yamlpos.List:
		s := &shape{list: true}
		for i, item := range n.Items {
			s.items = append(s.items, b.shape(item, fmt.Sprintf("%s[%d]", name, i), root))
		}
		return s
	}
	return &shape{json: b.json(n)}
}

// append writes the value over a root. Members that are null are left out: an
// optional parameter that was not given is no argument.
func (s *shape) append(dst []byte, root jsontape.Value) ([]byte, error) {
	switch {
	case s.expr != nil:
		r, err := s.expr.eval(root)
		if err != nil {
			return dst, err
		}
		return r.AppendJSON(dst), nil
	case s.json != nil:
		return append(dst, s.json...), nil
	}
	open, end := byte('{'), byte('}')
	if s.list {
		open, end = '[', ']'
	}
	dst = append(dst, open)
	n := 0
	for i, item := range s.items {
		if item.expr != nil && !s.list {
			r, err := item.expr.eval(root)
			if err != nil {
				return dst, err
			}
			if r.IsNull() {
				continue
			}
		}
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		if !s.list {
			dst = append(jsontape.AppendQuote(dst, s.names[i]), ':')
		}
		var err error
		if dst, err = item.append(dst, root); err != nil {
			return dst, err
		}
	}
	return append(dst, end), nil
}

// template is text with {expressions} and ${VARIABLES} in it; {{ and }} stand
// for braces.
type template struct {
	parts []part
	unset string // a variable that is not set: the call cannot be made
}

type part struct {
	text string
	expr *expression
}

var variable = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}`)

// template reads such a text.
func (b *builder) template(n *yamlpos.Node, name string, root names) *template {
	if n.Kind != yamlpos.String {
		hint := ""
		if n.Kind == yamlpos.Int || n.Kind == yamlpos.Float || n.Kind == yamlpos.Bool {
			hint = "put it in quotes"
		}
		b.errs.At(n, hint, "%s needs a text, got %s", name, n.Kind)
		return &template{}
	}
	t := &template{}
	var lit strings.Builder
	flush := func() {
		if lit.Len() > 0 {
			t.parts = append(t.parts, part{text: lit.String()})
			lit.Reset()
		}
	}
	text := n.Text
	for i := 0; i < len(text); {
		if m := variable.FindStringSubmatch(text[i:]); m != nil {
			value, set := b.opt.Lookup(m[1])
			if value == "" && strings.Contains(m[0], ":-") {
				value, set = m[2], true
			}
			if !set {
				t.unset, b.unset = m[1], m[1]
				b.set.Warnings.AtOffset(n, i, "set it, or write ${"+m[1]+":-default}", "the environment variable %s is not set", m[1])
			}
			lit.WriteString(value)
			i += len(m[0])
			continue
		}
		switch {
		case strings.HasPrefix(text[i:], "{{"), strings.HasPrefix(text[i:], "}}"):
			lit.WriteByte(text[i])
			i += 2
		case text[i] == '{':
			end := closing(text, i)
			if end < 0 {
				b.errs.AtOffset(n, i, "write {{ for a brace itself", "%s: an expression starts here and has no }", name)
				return t
			}
			flush()
			t.parts = append(t.parts, part{expr: b.compile(n, i+1, text[i+1:end], name, root)})
			i = end + 1
		default:
			lit.WriteByte(text[i])
			i++
		}
	}
	flush()
	return t
}

// closing returns where the brace at i is closed, outside of JMESPath's quotes;
// -1 if it is not.
func closing(text string, i int) int {
	depth := 0
	for ; i < len(text); i++ {
		switch c := text[i]; c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		case '\'', '"', '`':
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return -1
}

// fill writes the text over a root; escape is applied to what expressions
// give, and may be nil.
func (t *template) fill(root jsontape.Value, escape func(string) string) (string, error) {
	if t.unset != "" {
		return "", fmt.Errorf("the environment variable %s is not set", t.unset)
	}
	var out strings.Builder
	for _, p := range t.parts {
		if p.expr == nil {
			out.WriteString(p.text)
			continue
		}
		r, err := p.expr.eval(root)
		if err != nil {
			return "", err
		}
		value, err := plainText(r, p.expr.src)
		if err != nil {
			return "", err
		}
		if escape != nil {
			if value == "" || value == "." || value == ".." {
				return "", fmt.Errorf("%s: %q cannot stand in a URL's path", p.expr.src, value)
			}
			value = escape(value)
		}
		out.WriteString(value)
	}
	return out.String(), nil
}

// literal returns the text before the first expression.
func (t *template) literal() string {
	if len(t.parts) == 0 || t.parts[0].expr != nil {
		return ""
	}
	return t.parts[0].text
}

// fixedOrigin reports whether no expression can change the scheme and host of
// a URL: credentials are for those alone.
func (t *template) fixedOrigin() bool {
	lit := t.literal()
	u, err := url.Parse(lit)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return false
	}
	_, rest, _ := strings.Cut(lit, "://")
	return len(t.parts) == 1 || strings.ContainsAny(rest, "/?")
}

// escapeSegment escapes for a URL's path or query, "/" and "?" included: what
// an expression gives is one piece of data and no structure.
func escapeSegment(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
