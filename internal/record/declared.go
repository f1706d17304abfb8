package record

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// DeclaredPaths returns where what is declared of a session may stand, without
// looking.
func DeclaredPaths(session string) []string {
	base := strings.TrimSuffix(strings.TrimSuffix(session, ".zst"), ".jsonl")
	return []string{base + ".expect.yaml", base + ".expect.json"}
}

func loadDeclared(session string) (Declared, error) {
	for _, path := range DeclaredPaths(session) {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Declared{}, err
		}
		return ParseDeclared(path, data)
	}
	return Declared{}, nil
}

// ParseDeclared reads what is declared of a session, YAML or JSON; name stands
// in positions. The error is a [yamlpos.Errors].
func ParseDeclared(name string, data []byte) (Declared, error) {
	root, err := yamlpos.Read(name, data)
	if err != nil {
		return Declared{}, err
	}
	r := declaredReader{}
	if root.Kind != yamlpos.Null {
		r.top(root)
	}
	return r.d, r.errs.Err()
}

type declaredReader struct {
	d    Declared
	errs yamlpos.Errors
}

// members calls read for each key of a map that has no others than names.
func (r *declaredReader) members(n *yamlpos.Node, what string, names []string, read func(key string, v *yamlpos.Node)) {
	if n.Kind != yamlpos.Map {
		r.errs.At(n, "", "%s needs a map, got %s", what, n.Kind)
		return
	}
next:
	for _, p := range n.Pairs {
		for _, name := range names {
			if p.Key.Text == name {
				read(name, p.Value)
				continue next
			}
		}
		r.errs.At(p.Key, yamlpos.DidYouMean(p.Key.Text, names), "unknown key %q in %s", p.Key.Text, what)
	}
}

func (r *declaredReader) str(n *yamlpos.Node, name string) string {
	switch n.Kind {
	case yamlpos.String, yamlpos.Int, yamlpos.Float:
		return n.Text
	}
	r.errs.At(n, "", "%s needs a string, got %s", name, n.Kind)
	return ""
}

func (r *declaredReader) query(n *yamlpos.Node, name string) string {
	q := r.str(n, name)
	var syntax *jmespath.SyntaxError
	if _, err := jmespath.Compile(q); errors.As(err, &syntax) {
		r.errs.AtOffset(n, syntax.Offset, "", "%s: %s", name, syntax.Msg)
	}
	return q
}

func (r *declaredReader) top(root *yamlpos.Node) {
	r.members(root, "a session's declarations", []string{"task", "final_answer", "expect", "expect_state"}, func(key string, v *yamlpos.Node) {
		switch {
		case key == "task":
			r.d.Task = r.str(v, key)
		case key == "final_answer" && v.Kind == yamlpos.List:
			r.d.Listed = true
			for _, item := range v.Items {
				r.d.FinalAnswer = append(r.d.FinalAnswer, r.str(item, "each of final_answer"))
			}
		case key == "final_answer":
			r.d.FinalAnswer = []string{r.str(v, key)}
		case v.Kind != yamlpos.List:
			r.errs.At(v, "", "%s needs a list, got %s", key, v.Kind)
		default:
			for _, item := range v.Items {
				if key == "expect" {
					r.expect(item)
				} else {
					r.state(item)
				}
			}
		}
	})
}

func (r *declaredReader) expect(n *yamlpos.Node) {
	var x Expect
	r.members(n, "expect", []string{"name", "tool", "call", "query", "answer"}, func(key string, v *yamlpos.Node) {
		switch key {
		case "name":
			x.Name = r.str(v, key)
		case "tool":
			x.Tool = r.str(v, key)
		case "call":
			i, err := strconv.Atoi(v.Text)
			if v.Kind != yamlpos.Int || err != nil || i < 1 {
				r.errs.At(v, "", "call needs a number from 1, got %q", v.Text)
			}
			x.Call = i
		case "query":
			x.Query = r.query(v, key)
		case "answer":
			x.Answer = r.query(v, key)
		}
	})
	if (x.Tool == "") == (x.Answer == "") || (x.Tool == "") != (x.Query == "") {
		r.errs.At(n, "", "a check needs tool and query, or answer")
	}
	if x.Name == "" {
		x.Name = x.Query + x.Answer
	}
	r.d.Expect = append(r.d.Expect, x)
}

func (r *declaredReader) state(n *yamlpos.Node) {
	var x ExpectState
	r.members(n, "expect_state", []string{"name", "query", "equals"}, func(key string, v *yamlpos.Node) {
		switch key {
		case "name":
			x.Name = r.str(v, key)
		case "query":
			x.Query = r.query(v, key)
		case "equals":
			data, err := json.Marshal(plain(v))
			if err != nil {
				r.errs.At(v, "", "equals: %v", err)
			}
			x.Equals = string(data)
		}
	})
	if x.Name == "" || x.Query == "" {
		r.errs.At(n, "", "a check of the state needs the name of a read and a query")
	}
	r.d.ExpectState = append(r.d.ExpectState, x)
}

// plain is a node's value for encoding/json, with the digits of its numbers.
func plain(n *yamlpos.Node) any {
	switch n.Kind {
	case yamlpos.Null:
		return nil
	case yamlpos.Bool:
		return n.Text == "true"
	case yamlpos.Int, yamlpos.Float:
		return json.Number(n.Text)
	case yamlpos.List:
		all := make([]any, len(n.Items))
		for i, item := range n.Items {
			all[i] = plain(item)
		}
		return all
	case yamlpos.Map:
		m := map[string]any{}
		for _, p := range n.Pairs {
			m[p.Key.Text] = plain(p.Value)
		}
		return m
	}
	return n.Text
}
