package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// Server is one upstream: a command to start, or a URL to connect to.
type Server struct {
	Name    string
	Command string // empty where URL is set
	Args    []string
	Env     map[string]string // added to our own environment
	Dir     string            // where to start the command; "" is our own
	URL     string
	Headers map[string]string

	// Prefix stands before the names of the server's tools and prompts, where
	// several servers are behind one endpoint; "": only where names clash.
	Prefix string
	// PerSession gives each client a process of its own, where they would
	// share one.
	PerSession bool
	// ForwardHeaders are the names of the clients' headers that the server
	// gets (K66).
	ForwardHeaders []string
}

// Argv returns the command with its arguments.
func (s Server) Argv() []string { return append([]string{s.Command}, s.Args...) }

// entry is a server as it was read, and the variables that it lacks.
type entry struct {
	Server
	unset yamlpos.Errors
}

// ServerNames returns the names of the servers in the file's order.
func (c *Config) ServerNames() []string {
	names := make([]string, len(c.servers))
	for i, s := range c.servers {
		names[i] = s.Name
	}
	return names
}

// Server returns a server by its name. Variables that its entry uses and that
// are not set are an error here, a [yamlpos.Errors], and not when the file is
// read: to look into the stash, say, takes no server's token.
func (c *Config) Server(name string) (Server, error) {
	for _, s := range c.servers {
		if s.Name == name {
			return s.Server, s.unset.Err()
		}
	}
	names := c.ServerNames()
	switch hint := yamlpos.DidYouMean(name, names); {
	case len(names) == 0:
		return Server{}, fmt.Errorf("no server %q: the configuration names none", name)
	case hint != "":
		return Server{}, fmt.Errorf("no server %q in the configuration; %s", name, hint)
	default:
		return Server{}, fmt.Errorf("no server %q in the configuration; it names %s", name, strings.Join(names, ", "))
	}
}

// servers reads the entries under servers, where unknown keys are errors, or
// under mcpServers, which other clients write with keys of their own.
func (r *reader) servers(n *yamlpos.Node, strict bool) {
	if n.Kind != yamlpos.Map {
		r.errs.At(n, "", "the servers need a map from names to entries, got %s", n.Kind)
		return
	}
	for _, p := range n.Pairs {
		name := p.Key.Text
		switch {
		case name == "" || name == "default":
			r.errs.At(p.Key, "", "a server cannot be named %q", name)
			continue
		case slices.Contains(r.c.ServerNames(), name):
			r.errs.At(p.Key, "", "the server %q stands under servers and under mcpServers", name)
			continue
		case !strict && p.Value.Get("disabled") != nil && p.Value.Get("disabled").Text == "true":
			r.c.Warnings.At(p.Key, "", "the server %q is disabled", name)
			continue
		}
		r.server(name, p.Key, p.Value, strict)
	}
}

func (r *reader) server(name string, key, n *yamlpos.Node, strict bool) {
	e := entry{Server: Server{Name: name}}
	what := fmt.Sprintf("the server %q", name)
	fields := []field{
		{"command", func(n *yamlpos.Node) { e.Command = r.secret(n, "command", &e) }},
		{"args", func(n *yamlpos.Node) {
			if n.Kind != yamlpos.List {
				r.errs.At(n, "", "args needs a list of strings, got %s", n.Kind)
			}
			for _, item := range n.Items {
				e.Args = append(e.Args, r.secret(item, "each of args", &e))
			}
		}},
		{"env", func(n *yamlpos.Node) { e.Env = r.strings(n, "env", &e) }},
		{"cwd", func(n *yamlpos.Node) { e.Dir = r.path(r.secret(n, "cwd", &e)) }},
		{"url", func(n *yamlpos.Node) { e.URL = r.secret(n, "url", &e) }},
		{"headers", func(n *yamlpos.Node) { e.Headers = r.strings(n, "headers", &e) }},
		{"prefix", func(n *yamlpos.Node) { e.Prefix = r.prefix(n) }},
		{"per_session", func(n *yamlpos.Node) { e.PerSession = r.flag(n, "per_session") }},
		{"forward_headers", func(n *yamlpos.Node) { e.ForwardHeaders = r.headerNames(n) }},
		{"type", func(n *yamlpos.Node) { r.word(n, "type", "stdio", "http", "streamable-http", "sse") }},
	}
	if !strict && n.Kind == yamlpos.Map {
		n = r.clientFile(n, fields)
	}
	before := len(r.errs)
	r.fields(n, what, fields)
	command, url := n.Get("command"), n.Get("url")
	switch {
	case len(r.errs) > before:
	case command == nil && url == nil:
		r.errs.At(key, "", "%s needs a command or a url", what)
	case command != nil && url != nil:
		r.errs.At(url, "", "%s has a command and a url; it can have one", what)
	case url != nil && (e.Args != nil || e.Env != nil || e.Dir != ""):
		r.errs.At(key, "", "%s has a url; args, env and cwd belong to a command", what)
	case url != nil && e.PerSession:
		r.errs.At(n.Get("per_session"), "", "%s has a url; each client has its own session there anyway", what)
	case command != nil && e.ForwardHeaders != nil:
		r.errs.At(n.Get("forward_headers"), "", "%s has a command; forward_headers belong to a url", what)
	case command != nil && e.Headers != nil:
		r.errs.At(key, "", "%s has a command; headers belong to a url", what)
	}
	if e.Command != "" && strings.HasPrefix(e.Command, "~") {
		e.Command = r.path(e.Command)
	}
	r.c.Warnings = append(r.c.Warnings, e.unset...)
	r.c.servers = append(r.c.servers, e)
}

// secret reads a string whose value may be secret: no message shows it.
func (r *reader) secret(n *yamlpos.Node, name string, e *entry) string {
	if n.Kind != yamlpos.String {
		hint := ""
		if n.Kind == yamlpos.Int || n.Kind == yamlpos.Float || n.Kind == yamlpos.Bool {
			hint = "put it in quotes"
		}
		r.errs.At(n, hint, "%s needs a string, got %s", name, n.Kind)
		return ""
	}
	return r.expand(n, &e.unset)
}

// strings reads a map from names to strings.
func (r *reader) strings(n *yamlpos.Node, name string, e *entry) map[string]string {
	if n.Kind != yamlpos.Map {
		r.errs.At(n, "", "%s needs a map from names to strings, got %s", name, n.Kind)
		return nil
	}
	values := map[string]string{}
	for _, p := range n.Pairs {
		values[p.Key.Text] = r.secret(p.Value, name+" "+p.Key.Text, e)
	}
	return values
}

// Environ returns our own environment with the server's variables.
func (s Server) Environ(own []string) []string {
	env := slices.Clone(own)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		env = append(env, name+"="+s.Env[name])
	}
	return env
}
