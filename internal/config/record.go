package config

import (
	"math"
	"time"

	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// Record is where sessions are recorded. It is opt-in: without a path nothing
// is.
type Record struct {
	Path     string // a directory; "" where nothing is recorded
	Redact   *record.Redactions
	MaxBytes int64 // of the directory
	Keep     time.Duration
}

func (r *reader) record(n *yamlpos.Node) {
	c := &r.c.Record
	c.MaxBytes, c.Keep = record.DefaultMaxBytes, record.DefaultKeep
	r.fields(n, "record", []field{
		{"path", func(n *yamlpos.Node) { c.Path = r.file(n, "path") }},
		{"redact", r.redact},
		{"max_bytes", func(n *yamlpos.Node) { c.MaxBytes = r.size(n, "max_bytes", 1<<20, math.MaxInt64) }},
		{"keep", func(n *yamlpos.Node) {
			text := r.expanded(n, "keep")
			d, ok := parseDuration(text)
			if !ok && text != "" {
				r.errs.At(n, "", "keep needs a time such as 24h or 30d, got %q", n.Text)
			}
			c.Keep = d
		}},
	})
	if n.Kind == yamlpos.Map && n.Get("path") == nil {
		r.errs.At(n, "", "record needs a path: the directory to keep sessions in")
	}
}

// redact reads the list of what is not kept. An entry is a path, for the results
// of every tool, or a map.
func (r *reader) redact(n *yamlpos.Node) {
	if n.Kind != yamlpos.List {
		r.errs.At(n, "", "redact needs a list, got %s", n.Kind)
		return
	}
	// strings reads a list of strings, or one string. No variable is expanded
	// in them: they are expressions and names.
	strings := func(n *yamlpos.Node, name string, path bool) (all []string) {
		items := []*yamlpos.Node{n}
		if n.Kind == yamlpos.List {
			items = n.Items
		}
		for _, item := range items {
			if item.Kind != yamlpos.String || item.Text == "" {
				r.errs.At(item, "", "%s needs strings, got %s", name, item.Kind)
				continue
			}
			if path {
				if _, err := record.ParsePath(item.Text); err != nil {
					r.errs.At(item, "", "%v", err)
				}
			}
			all = append(all, item.Text)
		}
		return all
	}
	var all []record.Redaction
	for _, item := range n.Items {
		var x record.Redaction
		if item.Kind != yamlpos.Map {
			x.Paths = strings(item, "redact", true)
			all = append(all, x)
			continue
		}
		r.fields(item, "redact", []field{
			{"tool", func(n *yamlpos.Node) { x.Tool = r.expanded(n, "tool") }},
			{"paths", func(n *yamlpos.Node) { x.Paths = strings(n, "paths", true) }},
			{"args", func(n *yamlpos.Node) { x.Args = strings(n, "args", true) }},
			{"names", func(n *yamlpos.Node) { x.Names = strings(n, "names", false) }},
			{"drop", func(n *yamlpos.Node) { x.Drop = r.flag(n, "drop") }},
		})
		if len(x.Paths)+len(x.Args)+len(x.Names) == 0 && !x.Drop {
			r.errs.At(item, "", "an entry of redact needs paths, args, names, or drop: true")
		}
		all = append(all, x)
	}
	if len(r.errs) > 0 {
		return
	}
	compiled, err := record.Compile(all)
	if err != nil {
		r.errs.At(n, "", "%v", err)
	}
	r.c.Record.Redact = compiled
}
