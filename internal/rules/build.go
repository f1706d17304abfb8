package rules

import (
	"errors"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// Level is where a setting comes from, the nearest first.
type Level string

// The levels of RED-06, in the order in which they are asked.
const (
	LevelTool          Level = "tool"
	LevelGlob          Level = "glob"
	LevelServerDefault Level = "server default"
	LevelDefault       Level = "default"
	LevelBuiltIn       Level = "built in"
)

// rule is one rule as it was written.
type rule struct {
	level    Level
	server   string
	pattern  string
	node     *yamlpos.Node
	settings []setting // in the order of keys
}

// setting is one key of a rule with its checked value.
type setting struct {
	key   string
	value any // string, int, bool or []string
	node  *yamlpos.Node
}

// get returns the setting of a key, or nil; r may be nil.
func (r *rule) get(key string) *setting {
	if r == nil {
		return nil
	}
	for i := range r.settings {
		if r.settings[i].key == key {
			return &r.settings[i]
		}
	}
	return nil
}

// maxAlternatives is how many rules a tool's list may hold.
const maxAlternatives = 32

// builder makes a Set from a file's tree, and gathers what is wrong with it.
type builder struct {
	set  *Set
	errs Errors
}

func (b *builder) file(root *yamlpos.Node) {
	switch root.Kind {
	case yamlpos.Null:
		b.set.warnings.At(root, "", "the file has no rules, so nothing is reduced")
		return
	case yamlpos.Map:
	default:
		b.errs.At(root, "", "a rules file is a map from default and server names to rules, got %s", root.Given())
		return
	}
	for _, p := range root.Pairs {
		switch {
		case p.Key.Text == "default":
			b.set.top = b.rule(p.Value, &rule{level: LevelDefault, pattern: "default"})
		case isKey(p.Key.Text) && p.Value.Kind != yamlpos.Map:
			b.errs.At(p.Key, "put it under default, or under a server's tool", "%q is a key of a rule; at the top of the file stand server names and default", p.Key.Text)
		default:
			b.server(p)
		}
	}
}

func (b *builder) server(p yamlpos.Pair) {
	name, n := p.Key.Text, p.Value
	switch {
	case name == "":
		b.errs.At(p.Key, "", "a server's name cannot be empty")
		return
	case isGlob(name):
		b.errs.At(p.Key, "what holds for all servers goes under default", "a server's name cannot hold * or ?, got %q", name)
		return
	case b.looksLikeRule(n) && yamlpos.Nearest(name, []string{"default"}) != "":
		b.errs.At(p.Key, `did you mean "default"?`, "%q holds the keys of a rule, and is no server with tools", name)
		return
	case n.Kind == yamlpos.Null:
		b.errs.At(p.Key, "write {} if that is meant", "the server %q has no rules", name)
		return
	case n.Kind != yamlpos.Map:
		b.errs.At(n, "", "the server %q needs a map from tools to rules, got %s", name, n.Given())
		return
	}
	srv := &server{name: name, node: p.Key, tools: map[string]*entry{}}
	b.set.servers = append(b.set.servers, srv)
	b.set.byName[name] = srv
	for _, p := range n.Pairs {
		switch {
		case p.Key.Text == "default":
			srv.def = b.rule(p.Value, &rule{level: LevelServerDefault, server: name, pattern: "default"})
		case isKey(p.Key.Text) && !rulesLike(p.Value):
			b.errs.At(p.Key, "put it under a tool's name or under default", "%q is a key of a rule; under the server %q stand tool names and default", p.Key.Text, name)
		case p.Key.Text == "":
			b.errs.At(p.Key, "", "a tool's name cannot be empty")
		default:
			b.entry(srv, p)
		}
	}
	sortGlobs(srv.globs)
}

// looksLikeRule reports whether n is a map that holds keys of a rule with
// values that no tool could have.
func (b *builder) looksLikeRule(n *yamlpos.Node) bool {
	for _, p := range n.Pairs {
		if !isKey(p.Key.Text) || rulesLike(p.Value) {
			return false
		}
	}
	return len(n.Pairs) > 0
}

// rulesLike reports whether n could stand under a tool's name: a rule, or a
// list of rules.
func rulesLike(n *yamlpos.Node) bool {
	return n.Kind == yamlpos.Map || n.Kind == yamlpos.List && len(n.Items) > 0 && n.Items[0].Kind == yamlpos.Map
}

// entry reads what stands under a tool's name or a glob.
func (b *builder) entry(srv *server, p yamlpos.Pair) {
	e := &entry{pattern: p.Key.Text, node: p.Key, level: LevelTool}
	if isGlob(e.pattern) {
		e.level = LevelGlob
		srv.globs = append(srv.globs, e)
	} else {
		srv.tools[e.pattern] = e
	}
	srv.entries = append(srv.entries, e)
	alternatives := []*yamlpos.Node{p.Value}
	switch p.Value.Kind {
	case yamlpos.Null:
		b.errs.At(p.Key, "write {} if that is meant", "the tool %q has no rule", e.pattern)
		return
	case yamlpos.List:
		alternatives = p.Value.Items
		if len(alternatives) == 0 || len(alternatives) > maxAlternatives {
			b.errs.At(p.Value, "", "the list of %q needs 1 to %d rules, got %d", e.pattern, maxAlternatives, len(alternatives))
			return
		}
	}
	for _, n := range alternatives {
		if r := b.rule(n, &rule{level: e.level, server: srv.name, pattern: e.pattern}); r != nil {
			e.rules = append(e.rules, r)
		}
	}
	b.order(e)
}

// order reports alternatives that can never apply.
func (b *builder) order(e *entry) {
	for i, r := range e.rules[:max(len(e.rules)-1, 0)] {
		if r.node.Get("when") == nil {
			b.errs.At(e.rules[i+1].node, "put the rule without when last", "this rule of %q never applies: the one before it has no when", e.pattern)
			return
		}
	}
	seen := map[string]*setting{}
	for _, r := range e.rules {
		when := r.get("when")
		if when == nil {
			continue
		}
		if first := seen[when.value.(string)]; first != nil {
			b.errs.At(when.node, "", "this rule of %q never applies: the one with the same when at %d:%d does", e.pattern, first.node.Line, first.node.Col)
			continue
		}
		seen[when.value.(string)] = when
	}
}

// rule reads one rule into r, whose level and pattern are set. It returns nil
// if n is no rule at all.
func (b *builder) rule(n *yamlpos.Node, r *rule) *rule {
	r.node = n
	if n.Kind != yamlpos.Map {
		hint := ""
		if n.Kind == yamlpos.Null {
			hint = "write {} if that is meant"
		}
		if n.Kind == yamlpos.List {
			hint = "a list of rules with when stands under a tool's name or a glob"
		}
		b.errs.At(n, hint, "the rule of %q is a map of keys, got %s", r.pattern, n.Given())
		return nil
	}
	for _, k := range keys {
		if v := n.Get(k.name); v != nil && b.allowed(k, v, n, r) {
			if value := k.read(b, k.name, v); value != nil {
				r.settings = append(r.settings, setting{k.name, value, v})
			}
		}
	}
	for _, p := range n.Pairs {
		if !isKey(p.Key.Text) {
			b.unknown(p, r)
		}
	}
	b.warn(r)
	return r
}

func (b *builder) unknown(p yamlpos.Pair, r *rule) {
	hint := yamlpos.DidYouMean(p.Key.Text, keyNames)
	if hint == "" && rulesLike(p.Value) {
		switch r.level {
		case LevelDefault:
			hint = "tools stand under the name of their server"
		default:
			hint = "tools stand directly under the name of their server"
		}
	}
	b.errs.At(p.Key, hint, "unknown key %q", p.Key.Text)
}

// allowed reports whether a key may stand in this rule, and reports if not.
func (b *builder) allowed(k key, v, n *yamlpos.Node, r *rule) bool {
	isDefault := r.level == LevelDefault || r.level == LevelServerDefault
	switch {
	case v.Kind == yamlpos.Null:
		b.errs.At(v, "leave the key out to inherit it", "%s has no value", k.name)
	case k.name == "when" && isDefault:
		b.errs.At(v, `use the glob "*" for rules with conditions`, "a default takes no when: it holds where no other rule does")
	case k.name == "rename" && r.level != LevelTool:
		b.errs.At(v, "", "rename needs the exact name of one tool, and stands under %q", r.pattern)
	case k.name == "description" && isDefault:
		b.errs.At(v, "", "description needs the name of a tool, and stands under %q", r.pattern)
	case k.listing && n.Get("when") != nil:
		b.errs.At(v, "put it in a rule without when", "%s is shown in tools/list and cannot depend on the arguments of a call", k.name)
	default:
		return true
	}
	return false
}

// warn notes what has no effect, since another key of the same rule says so.
func (b *builder) warn(r *rule) {
	write, heavy := r.get("write"), r.get("heavy")
	if write == nil || write.value != "off" || heavy != nil && heavy.value == true {
		return
	}
	for _, s := range r.settings {
		if s.key == "light_key" || s.key == "token_param" && s.value == true {
			b.set.warnings.At(s.node, "", "%s has no effect beside write: off: nothing is confirmed", s.key)
		}
	}
}

// syntax reports a JMESPath error where it is in the file.
func (b *builder) syntax(name string, n *yamlpos.Node, err error) {
	var syntax *jmespath.SyntaxError
	if errors.As(err, &syntax) {
		b.errs.AtOffset(n, syntax.Offset, "", "%s: %s", name, syntax.Msg)
		return
	}
	b.errs.At(n, "", "%s: %v", name, err)
}
