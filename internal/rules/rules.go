// Package rules owns the rules file: which settings hold for which tool of
// which server. It loads and validates the file with a position for every
// error, resolves the rule of a tool (RED-06, RED-08), formats the file,
// explains where each setting comes from, and picks up changes while running.
//
// It does not apply rules to results; package reduce does. Whether a server or
// a tool that a rule names exists is not known here, see [Set.Unmatched].
//
// Start with [Load] or [Watch], then [Set.For] and [Tool.Pick].
package rules

import (
	"fmt"
	"os"
	"slices"

	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// Error is one fault of a rules file, with its position.
type Error = yamlpos.Error

// Errors are all faults of a rules file, ordered by position.
type Errors = yamlpos.Errors

// Set is a validated rule set. It is immutable and safe for concurrent use.
type Set struct {
	file     string
	digest   string
	top      *rule     // nil if the file has no top default
	topTool  *Tool     // what holds where no server's rules do
	servers  []*server // in the file's order
	byName   map[string]*server
	warnings Errors
}

// server is the part of the file under one server's name.
type server struct {
	name    string
	node    *yamlpos.Node // its key
	def     *rule         // its default; nil if it has none
	defTool *Tool
	entries []*entry // tools and globs, in the file's order
	tools   map[string]*entry
	globs   []*entry // the longest first
}

// entry is what stands under a tool's name or a glob: one rule, or several
// with conditions, of which at most the last has none.
type entry struct {
	pattern string
	node    *yamlpos.Node // its key
	level   Level
	rules   []*rule
	tool    *Tool // resolved, for the tools that match this entry
}

// Load reads the rules file at path, YAML or JSON. The error is of the file
// system, or an [Errors].
func Load(path string) (*Set, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// readFile reads a file that is not larger than a rules file may be.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("rules file: %w", err)
	}
	if info.Size() > yamlpos.MaxBytes {
		return nil, Errors{{File: path, Msg: fmt.Sprintf("the file has %d bytes; at most %d are allowed", info.Size(), yamlpos.MaxBytes)}}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("rules file: %w", err)
	}
	return data, nil
}

// Parse validates a rules file's content; name stands in positions. The error
// is an [Errors]. A file without a rule is a set without rules: what holds
// with no file at all ([Default]) is not added to any file.
func Parse(name string, data []byte) (*Set, error) {
	root, err := yamlpos.Read(name, data)
	if err != nil {
		return nil, err
	}
	return Build(root)
}

// Build validates rules that stand inside another file, as in spillway.yaml.
// The error is an [Errors].
func Build(root *yamlpos.Node) (*Set, error) {
	b := builder{set: &Set{file: root.File(), byName: map[string]*server{}}}
	b.file(root)
	b.resolve()
	b.clashes()
	if err := b.errs.Err(); err != nil {
		return nil, err
	}
	b.set.warnings.Sort()
	b.set.digest = b.set.sum()
	return b.set, nil
}

// Default returns the rule set that holds where there is no rules file:
// "default: {max_bytes: 20k}" (RED-06).
func Default() *Set {
	s, err := Parse("", []byte("default: {max_bytes: 20k}"))
	if err != nil {
		panic("rules: the built-in rule set is broken: " + err.Error())
	}
	return s
}

// File returns the name that the rules were read from; "" if built in.
func (s *Set) File() string { return s.file }

// Digest returns a hash of what the rules say, 64 hex digits. Layout,
// comments, the order of servers and tools, and how a size or a name is
// written do not count.
func (s *Set) Digest() string { return s.digest }

// Warnings returns what is in the file without effect in this version, with
// positions.
func (s *Set) Warnings() Errors { return slices.Clone(s.warnings) }

// Servers returns the names of the servers that have rules, in the file's
// order.
func (s *Set) Servers() []string {
	names := make([]string, len(s.servers))
	for i, srv := range s.servers {
		names[i] = srv.name
	}
	return names
}

// Names reports whether the file names the server. If it does not, only the
// top default holds for it.
func (s *Set) Names(server string) bool { return s.byName[server] != nil }

// For returns what holds for a tool: the exact tool's rules, else those of the
// longest glob that matches, else the server's default, else the top default,
// each inheriting what it does not set from the next of them (RED-06). It is
// never nil; with no rule at all it has no variants.
func (s *Set) For(server, tool string) *Tool {
	srv := s.byName[server]
	switch {
	case srv == nil:
		return s.topTool
	case srv.tools[tool] != nil:
		return srv.tools[tool].tool
	}
	if g := srv.glob(tool); g != nil {
		return g.tool
	}
	return srv.defTool
}

// glob returns the longest glob that matches the tool, or nil.
func (srv *server) glob(tool string) *entry {
	for _, g := range srv.globs {
		if match(g.pattern, tool) {
			return g
		}
	}
	return nil
}

// Elsewhere returns one warning for each server that has rules and is none of
// servers; with a suggestion where a name is close.
func (s *Set) Elsewhere(servers []string) Errors {
	var errs Errors
	for _, srv := range s.servers {
		if !slices.Contains(servers, srv.name) {
			errs.At(srv.node, yamlpos.DidYouMean(srv.name, servers), "%q is no server of the configuration", srv.name)
		}
	}
	return errs
}

// Unmatched returns one warning for each tool or glob under the server's name
// that matches none of its tools; with a suggestion where a name is close.
func (s *Set) Unmatched(server string, tools []string) Errors {
	srv := s.byName[server]
	if srv == nil {
		return nil
	}
	var errs Errors
	for _, e := range srv.entries {
		if slices.ContainsFunc(tools, func(t string) bool { return match(e.pattern, t) }) {
			continue
		}
		what := "is no tool of"
		if e.level == LevelGlob {
			what = "matches no tool of"
		}
		errs.At(e.node, yamlpos.DidYouMean(e.pattern, tools), "%q %s %q", e.pattern, what, server)
	}
	return errs
}
