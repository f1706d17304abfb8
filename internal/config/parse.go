package config

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
	"github.com/spillway-mcp/spillway/reduce"
)

// estimators are the token counters of RED-46, the default first.
var estimators = []string{"bytes/4", "cl100k_base", "o200k_base"}

// reader fills a Config from a file's tree.
type reader struct {
	c      *Config
	places places
	dir    string // of the file
	lookup func(string) (string, bool)
	errs   yamlpos.Errors
}

func parse(name string, data []byte, p places, lookup func(string) (string, bool)) (*Config, error) {
	root, err := yamlpos.Read(name, data)
	if err != nil {
		return nil, err
	}
	r := reader{c: defaults(p, lookup), places: p, dir: filepath.Dir(name), lookup: lookup}
	r.c.File = name
	if root.Kind != yamlpos.Null {
		r.top(root)
	}
	if err := r.errs.Err(); err != nil {
		return nil, err
	}
	r.c.Warnings.Sort()
	return r.c, nil
}

// field is one key of a map and what reads its value.
type field struct {
	name string
	read func(n *yamlpos.Node)
}

// fields reads a map that has no other keys than these.
func (r *reader) fields(n *yamlpos.Node, what string, fields []field) {
	if n.Kind != yamlpos.Map {
		r.errs.At(n, "", "%s needs a map, got %s", what, n.Kind)
		return
	}
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	for _, p := range n.Pairs {
		i := slices.Index(names, p.Key.Text)
		switch {
		case i < 0:
			r.errs.At(p.Key, yamlpos.DidYouMean(p.Key.Text, names), "unknown key %q in %s", p.Key.Text, what)
		case p.Value.Kind == yamlpos.Null:
			r.errs.At(p.Value, "leave the key out for its default", "%s has no value", p.Key.Text)
		default:
			fields[i].read(p.Value)
		}
	}
}

func (r *reader) top(root *yamlpos.Node) {
	c := r.c
	fields := []field{
		{"servers", func(n *yamlpos.Node) { r.servers(n, true) }},
		{"mcpServers", func(n *yamlpos.Node) { r.servers(n, false) }},
		{"rules", r.rules},
		{"stash", r.stash},
		{"ledger", r.ledger},
		{"expand", func(n *yamlpos.Node) { c.Expand = r.word(n, "expand", "on", "off") != "off" }},
		{"expand_budget", func(n *yamlpos.Node) {
			c.ExpandBudget = int(r.size(n, "expand_budget", reduce.MinMaxBytes, math.MaxInt32))
		}},
		{"resource_link", func(n *yamlpos.Node) { c.ResourceLink = r.word(n, "resource_link", "off", "on", "auto") }},
		{"max_frame", func(n *yamlpos.Node) { c.MaxFrame = int(r.size(n, "max_frame", 1024, math.MaxInt32)) }},
		{"operations", func(n *yamlpos.Node) { c.Operations = r.file(n, "operations") }},
		{"journal", r.journal},
		{"serve", r.serve},
		{"record", r.record},
	}
	if root.JSON() && root.Get("mcpServers") != nil {
		root = r.clientFile(root, fields)
	}
	r.fields(root, "the configuration", fields)
}

// clientFile takes from a file that another client keeps its servers in what
// is ours, and warns of the rest: such a file has settings of its own.
func (r *reader) clientFile(root *yamlpos.Node, fields []field) *yamlpos.Node {
	ours := *root
	ours.Pairs = nil
	for _, p := range root.Pairs {
		if slices.ContainsFunc(fields, func(f field) bool { return f.name == p.Key.Text }) {
			ours.Pairs = append(ours.Pairs, p)
		} else {
			r.c.Warnings.At(p.Key, "", "%q is another program's setting and has no effect here", p.Key.Text)
		}
	}
	return &ours
}

// rules reads the path of a rules file, or the rules themselves, in which no
// variable is expanded.
func (r *reader) rules(n *yamlpos.Node) {
	if n.Kind != yamlpos.Map {
		r.c.RulesFile = r.file(n, "rules")
		return
	}
	set, err := rules.Build(n)
	var errs yamlpos.Errors
	switch {
	case errors.As(err, &errs):
		r.errs = append(r.errs, errs...)
	case err != nil:
		r.errs.At(n, "", "rules: %v", err)
	default:
		r.c.InlineRules = set
	}
}

func (r *reader) stash(n *yamlpos.Node) {
	s := &r.c.Stash
	r.fields(n, "stash", []field{
		{"path", func(n *yamlpos.Node) { s.Path = r.file(n, "path") }},
		{"ttl", func(n *yamlpos.Node) {
			text := r.expanded(n, "ttl")
			d, ok := parseDuration(text)
			if !ok && text != "" {
				r.errs.At(n, "", "ttl needs a time such as 24h, 90m or 7d, got %q", n.Text)
			}
			s.TTL = d
		}},
		{"max_bytes", func(n *yamlpos.Node) { s.MaxBytes = r.size(n, "max_bytes", 1, math.MaxInt64) }},
		{"max_bytes_per_caller", func(n *yamlpos.Node) {
			s.MaxBytesPerCaller = r.size(n, "max_bytes_per_caller", 1, math.MaxInt64)
		}},
	})
	if n.Get("max_bytes_per_caller") == nil {
		s.MaxBytesPerCaller = s.MaxBytes
	}
}

func (r *reader) ledger(n *yamlpos.Node) {
	l := &r.c.Ledger
	r.fields(n, "ledger", []field{
		{"path", func(n *yamlpos.Node) { l.Path = r.file(n, "path") }},
		{"estimator", func(n *yamlpos.Node) { r.estimator(n, l) }},
	})
}

// estimator reads a name, or another program as {command: [...]}.
func (r *reader) estimator(n *yamlpos.Node, l *Ledger) {
	if n.Kind != yamlpos.Map {
		l.Estimator = r.word(n, "estimator", estimators...)
		return
	}
	r.fields(n, "estimator", []field{{"command", func(n *yamlpos.Node) { l.Command = r.texts(n, "command") }}})
	if n.Get("command") == nil {
		r.errs.At(n, "", "estimator needs a name or a command")
	} else if c := n.Get("command"); c.Kind == yamlpos.List && len(c.Items) == 0 {
		r.errs.At(c, "", "command needs a program")
	}
}

// leastKey is the length of a seal key in bytes.
const leastKey = 32

// journal reads where operations are recorded. No message shows the url or the
// key.
func (r *reader) journal(n *yamlpos.Node) {
	j := &r.c.Journal
	r.fields(n, "journal", []field{
		{"path", func(n *yamlpos.Node) { j.Path = r.file(n, "path") }},
		{"url", func(n *yamlpos.Node) {
			j.URL = r.expanded(n, "url")
			if u := j.URL; u != "" && !strings.HasPrefix(u, "postgres://") && !strings.HasPrefix(u, "postgresql://") {
				r.errs.At(n, "", "url needs the form postgres://USER:PASSWORD@HOST/DATABASE")
			}
		}},
		{"key", func(n *yamlpos.Node) {
			j.Key = []byte(r.expanded(n, "key"))
			if len(j.Key) > 0 && len(j.Key) < leastKey {
				r.errs.At(n, "make one with: openssl rand -hex 32", "key needs %d characters or more, got %d", leastKey, len(j.Key))
			}
		}},
	})
	switch path, url := n.Get("path"), n.Get("url"); {
	case path != nil && url != nil:
		r.errs.At(url, "", "journal has a path and a url; it can have one")
	case url != nil && n.Get("key") == nil:
		r.errs.At(url, `add key: "${SPILLWAY_JOURNAL_KEY}", the same on every machine`, "a journal with a url needs a key: there is no file beside it to keep one in")
	}
}

// expanded reads a string that is not empty, with its variables; "" if it
// reported an error. Messages show what stands in the file, never the value of
// a variable.
func (r *reader) expanded(n *yamlpos.Node, name string) string {
	if n.Kind != yamlpos.String {
		r.errs.At(n, "", "%s needs a string, got %s", name, n.Kind)
		return ""
	}
	before := len(r.errs)
	text := r.expand(n, &r.errs)
	if text == "" && len(r.errs) == before {
		r.errs.At(n, "", "%s is empty", name)
	}
	return text
}

func (r *reader) file(n *yamlpos.Node, name string) string {
	text := r.expanded(n, name)
	if text == "" {
		return ""
	}
	return r.path(text)
}

func (r *reader) word(n *yamlpos.Node, name string, words ...string) string {
	if n.Kind == yamlpos.Bool {
		hint := ""
		if slices.Contains(words, "off") {
			hint = `did you mean "` + map[string]string{"true": "on", "false": "off"}[n.Text] + `"?`
		}
		r.errs.At(n, hint, "%s must be one of %s, got %s", name, strings.Join(words, ", "), n.Text)
		return ""
	}
	text := r.expanded(n, name)
	if text != "" && !slices.Contains(words, text) {
		r.errs.At(n, yamlpos.DidYouMean(n.Text, words), "%s must be one of %s, got %q", name, strings.Join(words, ", "), n.Text)
	}
	return text
}

func (r *reader) size(n *yamlpos.Node, name string, least, most int64) int64 {
	text := n.Text
	if n.Kind != yamlpos.Int {
		if text = r.expanded(n, name); text == "" {
			return 0
		}
	}
	size, ok := yamlpos.ParseSize(text)
	switch {
	case !ok && n.Kind == yamlpos.String:
		r.errs.At(n, "", "%s needs %s, got %q", name, yamlpos.SizeForms, n.Text)
	case most < math.MaxInt64 && (!ok || size < least || size > most):
		r.errs.At(n, "", "%s must be from %d to %d bytes, got %s", name, least, most, n.Text)
	case !ok || size < least:
		r.errs.At(n, "", "%s must be at least %d bytes, got %s", name, least, n.Text)
	}
	return size
}
