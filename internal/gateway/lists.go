package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// listKinds are the methods that list, the member that they list in, and the
// capability that they need.
var listKinds = map[string]struct{ member, capability string }{
	"tools/list":               {"tools", "tools"},
	"prompts/list":             {"prompts", "prompts"},
	"resources/list":           {"resources", "resources"},
	"resources/templates/list": {"resourceTemplates", "resources"},
	"tasks/list":               {"tasks", "tasks"},
}

// maxPages bounds the pages of one upstream's list.
const maxPages = 1000

// metaMissing is the member of a list's _meta that says which upstreams it lacks.
const metaMissing = "io.github.spillway-mcp/missing"

// merge answers a list with the lists of all upstreams, in their order.
func (c *conn) merge(f *inflight, msg []byte, m wire.Message) {
	if cursor := wire.Member(msg, m.Params, "cursor"); cursor.Present() && !(cursor.End-cursor.Start == 4) {
		c.refuse(f, -32602, "cursor %s: the list has one page", clip(string(cursor.Of(msg)), 60))
		return
	}
	items, missing := c.lists(f.ctx, f.method, metaOf(msg, m), f.header)
	var o, meta object
	o.set(listKinds[f.method].member, array(items))
	if len(missing) > 0 {
		var all [][]byte
		for _, l := range missing {
			var one object
			one.setText("server", l.p.src.cfg.Name)
			one.setText("why", clip(l.err.Error(), 300))
			all = append(all, one.bytes())
		}
		meta.set(metaMissing, array(all))
	}
	if c.modern {
		o.setText("resultType", "complete")
		o.set("ttlMs", []byte("0"))
		o.setText("cacheScope", "private")
		meta.set("io.modelcontextprotocol/serverInfo", c.g.serverInfo())
	}
	if meta.b != nil {
		o.set("_meta", meta.bytes())
	}
	c.reply(f, o.bytes())
}

// lists reads a list of all upstreams and notes in the catalog whose what is.
// Upstreams that do not answer in time are missing, and their clients are told
// to list again when they are back.
func (c *conn) lists(ctx context.Context, method string, meta []byte, header http.Header) (items [][]byte, missing []listed) {
	kind := listKinds[method]
	peers := c.all()
	all := make([]listed, len(peers))
	var wait sync.WaitGroup
	limit, cancel := context.WithTimeoutCause(ctx, c.g.opt.ListTime, fmt.Errorf("did not answer %s within %v", method, c.g.opt.ListTime))
	defer cancel()
	for i, p := range peers {
		wait.Go(func() {
			all[i] = listed{p: p}
			all[i].items, all[i].err = c.pages(limit, p, method, kind.member, kind.capability, meta, header)
		})
	}
	wait.Wait()
	var there []listed
	for _, l := range all {
		if l.err == nil {
			there = append(there, l)
			continue
		}
		l.p.markMissed()
		if _, said := c.g.said.LoadOrStore("missing "+l.p.src.cfg.Name, true); !said {
			c.g.opt.Log.Warn("a list lacks a server", "server", l.p.src.cfg.Name, "method", method, "err", l.err)
		}
		missing = append(missing, l)
	}
	away := make(map[*source]bool)
	for _, l := range missing {
		away[l.p.src] = true
	}
	switch method {
	case "tools/list":
		return c.listTools(there, away), missing
	case "prompts/list":
		return c.listPrompts(there, away), missing
	}
	for _, l := range there {
		items = append(items, l.items...)
	}
	c.noteResources(method, there, away)
	return items, missing
}

// keep adds to what a list has made known what was known before of servers that
// the list lacks: whoever has their names may use them, and is told that the
// server is down or, once it is back, served.
func keep[V any](now, before map[string]V, src func(V) *source, away map[*source]bool) {
	for name, v := range before {
		if _, there := now[name]; !there && away[src(v)] {
			now[name] = v
		}
	}
}

func ofEntry(e entry) *source    { return e.src }
func ofSource(s *source) *source { return s }

// pages reads all pages of one upstream's list, each once (K40).
func (c *conn) pages(ctx context.Context, p *peer, method, member, capability string, meta []byte, header http.Header) (items [][]byte, err error) {
	_, prof, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	if !prof.has(capability) {
		return nil, nil
	}
	seen := make(map[string]bool)
	var cursor []byte
	for range maxPages {
		var params object
		params.set("cursor", cursor)
		params.set("_meta", meta)
		msg, m, err := c.call(ctx, p, method, params.bytes(), header)
		if err != nil {
			return nil, err
		}
		if m.Error.Present() {
			if code := wire.Member(msg, m.Error, "code").Of(msg); string(code) == "-32601" {
				return nil, nil
			}
			return nil, errors.New("answered " + method + " with an error: " + clip(text(msg, m.Error, "message"), 200))
		}
		for it := wire.ElementsOf(msg, wire.Member(msg, m.Result, member)); it.Next(); {
			items = append(items, it.Value().Of(msg))
		}
		next := wire.Member(msg, m.Result, "nextCursor").Of(msg)
		if len(next) == 0 || next[0] != '"' {
			return items, nil
		}
		if seen[string(next)] {
			// K41: following it would never end.
			c.g.opt.Log.Error("server gave the same cursor again: its list ends here", "server", p.src.cfg.Name, "method", method, "cursor", clip(string(next), 100))
			return items, nil
		}
		seen[string(next)] = true
		cursor = slices.Clone(next)
	}
	c.g.opt.Log.Error("server's list has too many pages: it ends here", "server", p.src.cfg.Name, "method", method, "pages", maxPages)
	return items, nil
}

func (c *conn) listTools(there []listed, away map[*source]bool) (items [][]byte) {
	names, hidden := c.toolNames(c.g.opt.Rules(), there)
	tools := make(map[string]entry, len(names))
	i := 0
	for _, l := range there {
		for _, raw := range l.items {
			it := names[i]
			if hidden[i] {
				i++
				continue
			}
			i++
			at := wire.Member(raw, whole(raw), "name")
			if !at.Present() {
				continue
			}
			e := entry{src: l.p.src, name: it.own}
			e.read = string(wire.Path(raw, whole(raw), "annotations", "readOnlyHint").Of(raw)) == "true"
			if c.modern {
				e.params = paramsIn(raw)
			}
			tools[it.final] = e
			if it.final != it.own {
				raw = replace(raw, at, jsontape.AppendQuote(nil, it.final))
			}
			items = append(items, raw)
		}
	}
	c.change(func(cat *catalog) {
		keep(tools, cat.tools, ofEntry, away)
		cat.tools = tools
	})
	return items
}

func (c *conn) listPrompts(there []listed, away map[*source]bool) (items [][]byte) {
	sources := make([]*source, len(there))
	var names []named
	for i, l := range there {
		sources[i] = l.p.src
		for _, raw := range l.items {
			own := text(raw, whole(raw), "name")
			names = append(names, named{from: i, own: own, name: own})
		}
	}
	nameAll(names, sources, nil, func(named, named) {})
	prompts := make(map[string]entry, len(names))
	i := 0
	for _, l := range there {
		for _, raw := range l.items {
			it := names[i]
			i++
			prompts[it.final] = entry{src: l.p.src, name: it.own}
			if at := wire.Member(raw, whole(raw), "name"); at.Present() && it.final != it.own {
				raw = replace(raw, at, jsontape.AppendQuote(nil, it.final))
			}
			items = append(items, raw)
		}
	}
	c.change(func(cat *catalog) {
		keep(prompts, cat.prompts, ofEntry, away)
		cat.prompts = prompts
	})
	return items
}

// noteResources notes whose each resource is. Of two servers that list one URI
// the first has it.
func (c *conn) noteResources(method string, there []listed, away map[*source]bool) {
	switch method {
	case "resources/list":
		uris := make(map[string]*source)
		for _, l := range there {
			for _, raw := range l.items {
				uri := text(raw, whole(raw), "uri")
				if first := uris[uri]; first == nil {
					uris[uri] = l.p.src
				} else if _, said := c.g.said.LoadOrStore("uri "+first.cfg.Name+" "+l.p.src.cfg.Name, true); !said && first != l.p.src {
					c.g.opt.Log.Warn("two servers list a resource of one URI: it is read from the first", "uri", clip(uri, 200), "server", first.cfg.Name, "other", l.p.src.cfg.Name)
				}
			}
		}
		c.change(func(cat *catalog) {
			keep(uris, cat.resources, ofSource, away)
			cat.resources = uris
		})
	case "resources/templates/list":
		var all []template
		for _, l := range there {
			for _, raw := range l.items {
				uri := text(raw, whole(raw), "uriTemplate")
				prefix, _, _ := strings.Cut(uri, "{")
				all = append(all, template{prefix, l.p.src})
			}
		}
		c.change(func(cat *catalog) {
			for _, t := range cat.templates {
				if away[t.src] {
					all = append(all, t)
				}
			}
			cat.templates = all
		})
	}
}

// listChanged tells the client that a list of ours is old.
func (c *conn) listChanged(kind string) {
	if c.modern {
		c.changedFor(kind)
		return
	}
	c.edge.send(nil, notification("notifications/"+kind+"/list_changed", nil))
}
