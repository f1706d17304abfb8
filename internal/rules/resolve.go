package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
	"github.com/spillway-mcp/spillway/reduce"
)

// maxVariants bounds what conditions on tools and globs may multiply to.
const maxVariants = 10_000

// resolve makes the Tool of every entry and default, so that For has only to
// find it, and reports what a resolved rule cannot be.
func (b *builder) resolve() {
	r := resolver{builder: b, reducers: map[string]*reduce.Reducer{}}
	s := b.set
	s.topTool = r.tool("", LevelDefault, s.top)
	for _, srv := range s.servers {
		srv.defTool = r.tool(srv.name, LevelServerDefault, srv.def, s.top)
		for _, e := range srv.entries {
			levels := [][]*rule{e.rules}
			if e.level == LevelTool {
				if g := srv.glob(e.pattern); g != nil {
					levels = append(levels, g.rules)
				}
			}
			e.tool = r.levels(srv.name, e.pattern, e.level, append(levels, one(srv.def), one(s.top)))
		}
	}
}

func one(r *rule) []*rule {
	if r == nil {
		return nil
	}
	return []*rule{r}
}

type resolver struct {
	*builder
	variants int
	reducers map[string]*reduce.Reducer // by digest of the rule
	bad      map[string]bool            // errors that were reported
}

// tool resolves defaults, which have no alternatives.
func (r *resolver) tool(server string, level Level, rules ...*rule) *Tool {
	var levels [][]*rule
	for _, rule := range rules {
		levels = append(levels, one(rule))
	}
	return r.levels(server, "default", level, levels)
}

// levels resolves the rules of a tool, the nearest level first. Where a level
// has alternatives, the first whose condition holds counts, or none of them:
// every combination is a variant of its own, in an order in which the first
// that holds is the right one.
func (r *resolver) levels(server, pattern string, level Level, levels [][]*rule) *Tool {
	t := &Tool{Server: server, Match: pattern, Level: level}
	r.combine(t, levels, nil)
	t.Pass = len(t.Variants) > 0
	for _, v := range t.Variants {
		t.Pass = t.Pass && v.Reducer.Rule().Pass
	}
	// What tools/list shows comes from the rules without a condition.
	var chain []*rule
	for _, rules := range levels {
		if n := len(rules); n > 0 && rules[n-1].get("when") == nil {
			chain = append(chain, rules[n-1])
		}
	}
	for _, o := range merge(chain) {
		switch o.Key {
		case "rename":
			t.Rename = o.Value.(string)
		case "description":
			t.Description = o.Value.(string)
		case "hide":
			t.Hide = o.Value.(bool)
		default:
			continue
		}
		t.Listing = append(t.Listing, o)
	}
	return t
}

// combine appends the variants of chain and what the levels below add to it.
func (r *resolver) combine(t *Tool, levels [][]*rule, chain []*rule) {
	if r.variants > maxVariants {
		return
	}
	if len(levels) == 0 {
		if len(chain) > 0 {
			r.variant(t, chain)
		}
		return
	}
	for _, rule := range levels[0] {
		r.combine(t, levels[1:], append(slices.Clip(chain), rule))
	}
	if n := len(levels[0]); n == 0 || levels[0][n-1].get("when") != nil {
		r.combine(t, levels[1:], chain)
	}
}

func (r *resolver) variant(t *Tool, chain []*rule) {
	r.variants++
	if r.variants > maxVariants {
		r.errs.At(chain[0].node, "", "the conditions of tools and globs combine to more than %d rules", maxVariants)
		return
	}
	v := Variant{Origin: merge(chain)}
	v.Origin = slices.DeleteFunc(v.Origin, func(o Origin) bool { return listing(o.Key) })
	rule := toRule(v.Origin)
	v.Digest = ruleDigest(v.Origin)
	if v.Reducer = r.reducers[v.Digest]; v.Reducer == nil {
		reducer, err := reduce.Compile(rule)
		if err != nil {
			r.ruleError(chain, err)
			reducer, _ = reduce.Compile(reduce.Rule{})
		}
		v.Reducer = reducer
		r.reducers[v.Digest] = reducer
	}
	if conditions := whens(chain); len(conditions) > 0 {
		when, err := jmespath.Compile(strings.Join(conditions, " && "))
		if err != nil {
			r.errs.At(chain[0].node, "", "when: %v", err)
		}
		v.When = when
	}
	t.Variants = append(t.Variants, v)
}

// whens returns the conditions of a chain, in parentheses if there are several.
func whens(chain []*rule) (conditions []string) {
	for _, rule := range chain {
		if s := rule.get("when"); s != nil {
			conditions = append(conditions, s.value.(string))
		}
	}
	if len(conditions) > 1 {
		for i, c := range conditions {
			conditions[i] = "(" + c + ")"
		}
	}
	return conditions
}

// ruleError reports what reduce refuses, once, where the key was set.
func (r *resolver) ruleError(chain []*rule, err error) {
	var bad *reduce.RuleError
	if !errors.As(err, &bad) {
		r.once(chain[0].node, -1, err.Error())
		return
	}
	for _, rule := range chain {
		if s := rule.get(bad.Key); s != nil {
			r.once(s.node, bad.Offset, bad.Key+": "+bad.Msg)
			return
		}
	}
	r.once(chain[0].node, -1, bad.Key+": "+bad.Msg)
}

func (r *resolver) once(n *yamlpos.Node, off int, msg string) {
	id := fmt.Sprintf("%d:%d:%s", n.Line, n.Col, msg)
	if !r.bad[id] {
		if r.bad == nil {
			r.bad = map[string]bool{}
		}
		r.bad[id] = true
		r.errs.AtOffset(n, off, "", "%s", msg)
	}
}

// merge lays the rules of a chain over one another, the nearest first: each
// key from the first rule that sets it, always united (RED-06, RED-08). The
// conditions are left out.
func merge(chain []*rule) (list []Origin) {
	for _, k := range keys {
		switch k.name {
		case "when":
		case "always":
			list = append(list, union(chain)...)
		default:
			for _, rule := range chain {
				if s := rule.get(k.name); s != nil {
					list = append(list, rule.origin(s, s.value))
					break
				}
			}
		}
	}
	return list
}

// union unites the lists of always from the top default down: a nearer level
// adds a name, or removes one with !name, also from the built-in list.
func union(chain []*rule) (list []Origin) {
	for i := len(chain) - 1; i >= 0; i-- {
		s := chain[i].get("always")
		if s == nil {
			continue
		}
		for j, name := range s.value.([]string) {
			opposite := "!" + name
			if bare, ok := strings.CutPrefix(name, "!"); ok {
				opposite = bare
			}
			list = slices.DeleteFunc(list, func(o Origin) bool { return o.Value == opposite })
			if !slices.ContainsFunc(list, func(o Origin) bool { return o.Value == name }) {
				o := chain[i].origin(s, name)
				if j < len(s.node.Items) {
					o.Line, o.Col = s.node.Items[j].Line, s.node.Items[j].Col
				}
				list = append(list, o)
			}
		}
	}
	return list
}

// origin says where a setting comes from.
func (r *rule) origin(s *setting, value any) Origin {
	o := Origin{Key: s.key, Value: value, Level: r.level, File: s.node.File(), Line: s.node.Line, Col: s.node.Col}
	if r.level == LevelTool || r.level == LevelGlob {
		o.Match = r.pattern
	}
	if o.File == "" {
		o.Level, o.Line, o.Col = LevelBuiltIn, 0, 0
	}
	return o
}

func listing(name string) bool {
	i := slices.Index(keyNames, name)
	return i >= 0 && keys[i].listing
}

// toRule gives the reducer what was resolved.
func toRule(list []Origin) (r reduce.Rule) {
	for _, o := range list {
		switch v := o.Value.(type) {
		case string:
			switch o.Key {
			case "keep":
				r.Keep = v
			case "rows":
				r.Rows = v
			case "text":
				r.Text = v
			case "write":
				r.Write = v
			case "always":
				r.Always = append(r.Always, v)
			}
		case int:
			switch o.Key {
			case "max_rows":
				r.MaxRows = &v
			case "max_bytes":
				r.MaxBytes = v
			}
		case bool:
			switch o.Key {
			case "heavy":
				r.Heavy = v
			case "token_param":
				r.TokenParam = v
			case "allow_markers":
				r.AllowMarkers = v
			case "pass":
				r.Pass = v
			}
		case []string:
			switch o.Key {
			case "strip":
				r.Strip = v
			case "light_key":
				r.LightKey = v
			}
		}
	}
	return r
}

// ruleDigest hashes a resolved rule: the first 16 hex digits of SHA-256 over
// its keys and values.
func ruleDigest(list []Origin) string {
	h := sha256.New()
	for _, o := range list {
		writeSetting(h, o.Key, o.Value)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func writeSetting(w interface{ Write([]byte) (int, error) }, key string, value any) {
	text, err := json.Marshal(value)
	if err != nil { // strings, numbers and truth values only
		panic(err)
	}
	fmt.Fprintf(w, "%s %s\n", key, text)
}

// sum hashes everything that the set says.
func (s *Set) sum() string {
	var lines []string
	add := func(server, pattern string, i int, r *rule) {
		if r == nil {
			return
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%q %q %03d\n", server, pattern, i)
		for _, s := range r.settings {
			writeSetting(&b, s.key, s.value)
		}
		lines = append(lines, b.String())
	}
	add("", "default", 0, s.top)
	for _, srv := range s.servers {
		lines = append(lines, fmt.Sprintf("%q\n", srv.name))
		add(srv.name, "default", 0, srv.def)
		for _, e := range srv.entries {
			for i, r := range e.rules {
				add(srv.name, e.pattern, i, r)
			}
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}
