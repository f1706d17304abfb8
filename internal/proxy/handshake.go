package proxy

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/spillway-mcp/spillway/internal/operation/mcpface"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// profile is what the peers said of themselves. It is under the session's lock.
type profile struct {
	announced string // the server's own name
	client    string // the client's
	revision  string // of a legacy session: agreed on
	legacy    bool   // the client has sent initialize
	resources bool   // we declared the resources capability: the server has none
	noTasks   bool   // the server said that it has no tasks of its own
}

const metaServerInfo = "io.modelcontextprotocol/serverInfo"

// greet reads the client's side of the handshake.
func (s *session) greet(body []byte, m wire.Message) {
	info := wire.Member(body, m.Params, "clientInfo")
	if !info.Present() {
		info = wire.Path(body, m.Params, "_meta", "io.modelcontextprotocol/clientInfo")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.profile.client = wire.Text(wire.Member(body, info, "name").Of(body))
	if wire.StringIs(m.Method.Of(body), "initialize") {
		s.profile.legacy = true
	}
}

// handshake rewrites the answer to initialize or server/discover: it learns the
// server's name and declares what our additions need.
func (s *session) handshake(c *call, body []byte, m wire.Message) change {
	if !m.Result.Present() {
		return change{}
	}
	info := wire.Member(body, m.Result, "serverInfo")
	if !info.Present() {
		info = wire.Path(body, m.Result, "_meta", metaServerInfo)
	}
	caps := wire.Member(body, m.Result, "capabilities")
	s.mu.Lock()
	if name := wire.Text(wire.Member(body, info, "name").Of(body)); name != "" {
		s.profile.announced = name
	}
	s.profile.revision = wire.Text(wire.Member(body, m.Result, "protocolVersion").Of(body))
	link := s.linkFor(c)
	if c.modern {
		s.profile.noTasks = !wire.Path(body, caps, "extensions", mcpface.TasksExtension).Present()
	} else {
		s.profile.noTasks = !wire.Member(body, caps, "tasks").Present()
	}
	declared := s.declareTasks(c, caps.Of(body))
	s.mu.Unlock()
	s.nameRules()

	all := wire.Span{End: len(declared)}
	tools := wire.Member(declared, all, "tools")
	if isObject(declared, tools) && (s.opt.RulesChanged != nil || s.opt.OperationsChanged != nil) && string(wire.Member(declared, tools, "listChanged").Of(declared)) != "true" {
		declared = wire.Splice(declared, wire.SetMember(declared, tools, "listChanged", []byte("true")))
		all.End = len(declared)
	}
	if link && isObject(body, caps) && !wire.Member(declared, all, "resources").Present() {
		declared = wire.Splice(declared, wire.SetMember(declared, all, "resources", []byte("{}")))
		s.mu.Lock()
		s.profile.resources = true
		s.mu.Unlock()
	}
	if bytes.Equal(declared, caps.Of(body)) {
		return change{}
	}
	return change{edits: []wire.Edit{{Span: caps, With: declared}}}
}

func isObject(src []byte, sp wire.Span) bool { return sp.Present() && src[sp.Start] == '{' }

// serverName is the name that rules call the server by.
func (s *session) serverName() string {
	if s.opt.Server != "" {
		return s.opt.Server
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.profile.announced
}

// ledgerName is the name in accounts: never empty.
func (s *session) ledgerName() string { return cmp.Or(s.serverName(), s.opt.Upstream.Name()) }

// ledgerNameOf is the name in accounts of the server of a call.
func (s *session) ledgerNameOf(c *toolCall) string {
	if s.opt.Origin != nil && c.server != "" {
		return c.server
	}
	return s.ledgerName()
}

// origin returns the server that a listed tool comes from, and its name there.
func (s *session) origin(server, name string) (string, string) {
	if s.opt.Origin == nil {
		return server, name
	}
	return s.opt.Origin(name)
}

// nameRules says, once, that no rule names the server, by the name it was given
// or the one it announced: a rules file written for another name would else fail
// silently (RED-06).
func (s *session) nameRules() {
	set, name := s.opt.rules(), s.serverName()
	if s.opt.Origin != nil { // several servers: the name is ours, and rules go by theirs
		return
	}
	if set == nil || name == "" || set.Names(name) || len(set.Servers()) == 0 || !s.once("unnamed "+name) {
		return
	}
	msg := "no rule names this server; only the defaults apply"
	if s.opt.Server == "" {
		msg += " (name it with --server)"
	}
	s.opt.Log.Warn(msg, "server", name, "named", set.Servers())
}

// linkFor reports whether a result may hold a resource_link block (RED-20). The
// session's lock is held.
func (s *session) linkFor(c *call) bool {
	if s.opt.Stash == nil || !c.modern && s.profile.revision < "2025-06-18" {
		return false
	}
	switch s.opt.ResourceLink {
	case "on":
		return true
	case "auto":
		return slices.Contains(linkReaders, s.profile.client)
	}
	return false
}

// linkReaders are the clients known by name to let their model read resource
// links. None was found that does so by itself.
var linkReaders = []string{}
