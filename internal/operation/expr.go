package operation

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// names are the members of the root that an expression runs over.
type names []string

var (
	inReadCall   = names{"params", "key", "cursor"}
	inPage       = names{"params", "page", "key"}
	inCall       = names{"params", "key", "operation_key", "step", "item", "item_id", "target", "revision"}
	inAnswer     = append(inCall[:len(inCall):len(inCall)], "page")
	inFailure    = append(inAnswer[:len(inAnswer):len(inAnswer)], "error")
	inParams     = names{"params", "key"}
	inReadAnswer = append(inReadCall[:len(inReadCall):len(inReadCall)], "error")
)

// expression is a compiled expression that knows where it stands.
type expression struct {
	expr *jmespath.Expr
	src  string
}

// expression reads an expression over a root with these members. It returns
// nil where it reported an error.
func (b *builder) expression(n *yamlpos.Node, name string, root names) *expression {
	if n.Kind != yamlpos.String || strings.TrimSpace(n.Text) == "" {
		hint := ""
		if n.Kind == yamlpos.Map || n.Kind == yamlpos.List {
			hint = "put the expression in quotes"
		}
		b.errs.At(n, hint, "%s needs a JMESPath expression, got %s", name, n.Given())
		return nil
	}
	return b.compile(n, 0, n.Text, name, root)
}

// source reads an expression that package contract compiles.
func (b *builder) source(n *yamlpos.Node, name, place string, root names) string {
	b.places[place] = n
	if e := b.expression(n, name, root); e != nil {
		return e.src
	}
	return ""
}

// recordSource reads an expression over one record, which contract compiles
// with the parameters bound as $params.
func (b *builder) recordSource(n *yamlpos.Node, name, place string) string {
	b.places[place] = n
	if n.Kind != yamlpos.String || strings.TrimSpace(n.Text) == "" {
		b.errs.At(n, "", "%s needs a JMESPath expression over a record, got %s", name, n.Given())
		return ""
	}
	before := ""
	if strings.Contains(n.Text, "$params") {
		before = "let $params = `{}` in ("
	}
	full := before + n.Text
	if before != "" {
		full += ")"
	}
	if _, err := jmespath.Compile(full); err != nil {
		b.syntax(n, -len(before), name, err)
		return ""
	}
	return n.Text
}

func (b *builder) compile(n *yamlpos.Node, shift int, src, name string, root names) *expression {
	e, err := jmespath.Compile(src)
	if err != nil {
		b.syntax(n, shift, name, err)
		return nil
	}
	for _, read := range e.Reads(jmespath.KindsOf(jsontape.Null, jsontape.True, jsontape.False, jsontape.Number, jsontape.String, jsontape.Array, jsontape.Object)) {
		if len(read.Path) == 0 {
			continue
		}
		at := shift + max(0, strings.Index(src, read.Path[0]))
		switch first := read.Path[0]; {
		case !has(root, first):
			b.errs.AtOffset(n, at, yamlpos.DidYouMean(first, root), "%s: there is no %q here; an expression sees %s", name, first, strings.Join(root, ", "))
			return nil
		case first == "step" && len(read.Path) > 1 && !has(b.steps, read.Path[1]):
			hint := yamlpos.DidYouMean(read.Path[1], b.steps)
			if hint == "" {
				hint = "a step sees only those before it"
			}
			b.errs.AtOffset(n, at, hint, "%s: no step %q comes before this", name, read.Path[1])
			return nil
		}
	}
	return &expression{e, src}
}

func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// scope is what expressions run over, as JSON members.
type scope struct {
	buf []byte
}

// scopeOf begins a scope with what an invocation knows.
func scopeOf(in *contract.Invocation) *scope {
	s := &scope{}
	params := []byte(in.Params)
	if params == nil {
		params = []byte("{}")
	}
	s.set("params", params)
	key := in.StepKey
	if key == "" {
		key = in.Key
	}
	s.text("key", key)
	s.text("operation_key", in.Key)
	s.text("target", in.Target)
	if in.Revision != "" {
		s.text("revision", in.Revision)
	}
	if in.Cursor != nil {
		s.text("cursor", *in.Cursor)
	}
	if in.Item != nil {
		s.text("item_id", in.Item.ID)
		s.set("item", in.Item.Value)
	}
	if len(in.Results) > 0 {
		// Maps of raw JSON have one order: encoding/json sorts the names.
		if raw, err := json.Marshal(in.Results); err == nil {
			s.set("step", raw)
		}
	}
	return s
}

// with returns the scope and one more member; s stays as it is.
func (s *scope) with(name string, raw []byte) *scope {
	t := &scope{append([]byte(nil), s.buf...)}
	t.set(name, raw)
	return t
}

func (s *scope) set(name string, raw []byte) {
	if len(raw) == 0 {
		raw = []byte("null")
	}
	if len(s.buf) > 0 {
		s.buf = append(s.buf, ',')
	}
	s.buf = append(jsontape.AppendQuote(s.buf, name), ':')
	s.buf = append(s.buf, raw...)
}

func (s *scope) text(name, value string) { s.set(name, jsontape.AppendQuote(nil, value)) }

// root parses the scope.
func (s *scope) root() (jsontape.Value, error) {
	whole := make([]byte, 0, len(s.buf)+2)
	whole = append(append(append(whole, '{'), s.buf...), '}')
	doc, err := jsontape.Parse(whole)
	if err != nil {
		return jsontape.Value{}, err
	}
	return doc.Root(), nil
}

// eval runs e over a parsed scope.
func (e *expression) eval(root jsontape.Value) (jmespath.Result, error) {
	r, err := e.expr.Search(root)
	if err != nil {
		return r, fmt.Errorf("%s: %w", e.src, err)
	}
	return r, nil
}

// json runs e over a scope and returns the result as JSON.
func (e *expression) json(s *scope) ([]byte, error) {
	root, err := s.root()
	if err != nil {
		return nil, err
	}
	r, err := e.eval(root)
	if err != nil {
		return nil, err
	}
	return r.AppendJSON(nil), nil
}

// truth runs e over a scope.
func (e *expression) truth(s *scope) (bool, error) {
	root, err := s.root()
	if err != nil {
		return false, err
	}
	r, err := e.eval(root)
	if err != nil {
		return false, err
	}
	return r.Truthy(), nil
}

// plain runs e over a scope and returns a string, number or boolean as text,
// "" for null.
func (e *expression) plain(s *scope) (string, error) {
	root, err := s.root()
	if err != nil {
		return "", err
	}
	r, err := e.eval(root)
	if err != nil {
		return "", err
	}
	return plainText(r, e.src)
}

func plainText(r jmespath.Result, src string) (string, error) {
	switch r.Kind() {
	case jsontape.Null:
		return "", nil
	case jsontape.String:
		return r.Text(), nil
	case jsontape.Number, jsontape.True, jsontape.False:
		return string(r.AppendJSON(nil)), nil
	}
	return "", fmt.Errorf("%s: %s; a string or number is wanted", src, r.Kind())
}
