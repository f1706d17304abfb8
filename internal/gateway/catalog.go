package gateway

import (
	"fmt"
	"strings"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/proxy"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// catalog is what a client was shown: which upstream each name and URI is of. It
// is not changed once it is made.
type catalog struct {
	tools     map[string]entry // by the name that is listed
	prompts   map[string]entry
	resources map[string]*source // by URI
	templates []template
}

type entry struct {
	src    *source
	name   string // that the upstream knows
	read   bool   // it says that it only reads
	params []httpmcp.Param
}

type template struct {
	prefix string // of every URI that it makes
	src    *source
}

// origin implements [proxy.Origin].
func (c *conn) origin(name string) (string, string) {
	if e := c.entry(name); e != nil {
		return e.src.cfg.Name, e.name
	}
	return "", name
}

func (c *conn) entry(name string) *entry {
	cat := c.catalog.Load()
	if cat == nil {
		return nil
	}
	if e, ok := cat.tools[name]; ok {
		return &e
	}
	return nil
}

func (c *conn) paramsOf(name string) []httpmcp.Param {
	if e := c.entry(name); e != nil {
		return e.params
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.params[name]
}

func (c *conn) owner(uri string) *peer {
	cat := c.catalog.Load()
	if cat == nil {
		return nil
	}
	if src := cat.resources[uri]; src != nil {
		return c.peerOf(src)
	}
	best := template{}
	for _, t := range cat.templates {
		if strings.HasPrefix(uri, t.prefix) && (best.src == nil || len(t.prefix) > len(best.prefix)) {
			best = t
		}
	}
	if best.src != nil {
		return c.peerOf(best.src)
	}
	return nil
}

// change makes a new catalog of the client's with do.
func (c *conn) change(do func(*catalog)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := catalog{prompts: map[string]entry{}, resources: map[string]*source{}}
	if now := c.catalog.Load(); now != nil {
		next = *now
	}
	do(&next)
	c.catalog.Store(&next)
}

// listed is one upstream's part of a list.
type listed struct {
	p     *peer
	items [][]byte // raw
	err   error
}

// named is one item with the names that it may have.
type named struct {
	from  int // index of its upstream
	own   string
	name  string // after renames
	final string
}

// nameAll gives each item the name that it is listed under: its own, and with
// its server's prefix where that is configured or another server has the name
// (RED-41). fixed tells the names that servers which are not there had at last:
// a name does not change because a server is down for a while.
func nameAll(items []named, servers []*source, absent map[string]bool, clash func(a, b named)) {
	count := make(map[string]int)
	first := make(map[string]named)
	for _, it := range items {
		if servers[it.from].cfg.Prefix != "" {
			continue
		}
		if n := count[it.name]; n == 0 || first[it.name].from != it.from {
			count[it.name]++
		}
		if _, ok := first[it.name]; !ok {
			first[it.name] = it
		}
	}
	taken := make(map[string]named)
	for i := range items {
		it := &items[i]
		cfg := servers[it.from].cfg
		prefix := cfg.Prefix
		if prefix == "" && (count[it.name] > 1 || absent[it.name]) {
			prefix = cfg.Name
			if other := first[it.name]; other.from != it.from {
				clash(other, *it)
			}
		}
		it.final = proxy.ToolName(prefix, it.name)
		if prior, ok := taken[it.final]; ok && (prior.from != it.from || prior.own != it.own) {
			// What is left is a prefix that makes two names one: the hash of the
			// server and the tool tells them apart.
			clash(prior, *it)
			it.final = proxy.ToolName("", it.final+"."+cfg.Name+"."+it.own)
		}
		taken[it.final] = *it
	}
}

// toolNames names the tools of several lists, under the rules. What rules hide
// has no name.
func (c *conn) toolNames(set *rules.Set, lists []listed) (items []named, hidden []bool) {
	sources := make([]*source, len(lists))
	present := make(map[*source]bool)
	var visible []named
	var at []int
	for i, l := range lists {
		sources[i] = l.p.src
		known := make(map[string]bool)
		for _, raw := range l.items {
			own := text(raw, whole(raw), "name")
			it := named{from: i, own: own, name: own}
			rule := set.For(l.p.src.cfg.Name, own)
			if rule.Rename != "" {
				it.name = rule.Rename
			}
			items, hidden = append(items, it), append(hidden, rule.Hide)
			if !rule.Hide {
				visible, at = append(visible, it), append(at, len(items)-1)
				known[it.name] = true
			}
		}
		if l.err == nil {
			present[l.p.src] = true
			l.p.src.mu.Lock()
			l.p.src.known = known
			l.p.src.mu.Unlock()
		}
	}
	absent := make(map[string]bool)
	for _, p := range c.all() {
		if present[p.src] || p.src.cfg.Prefix != "" {
			continue
		}
		p.src.mu.Lock()
		for name := range p.src.known {
			absent[name] = true
		}
		p.src.mu.Unlock()
	}
	// Two servers of one kind share all their names: a line for each pair.
	type pair struct{ server, other string }
	shared := make(map[pair][]string)
	var pairs []pair
	nameAll(visible, sources, absent, func(a, b named) {
		both := pair{sources[a.from].cfg.Name, sources[b.from].cfg.Name}
		key := fmt.Sprintf("%s/%s %s/%s", both.server, a.own, both.other, b.own)
		if _, said := c.g.said.LoadOrStore(key, true); said {
			return
		}
		if shared[both] == nil {
			pairs = append(pairs, both)
		}
		shared[both] = append(shared[both], b.name)
	})
	for _, both := range pairs {
		c.g.opt.Log.Warn("two servers have tools of one name; both are listed with their servers' names before it (set prefix to choose)",
			"names", strings.Join(shared[both], " "), "server", both.server, "other", both.other)
	}
	for i, it := range visible {
		items[at[i]] = it
	}
	return items, hidden
}

// checkPrefixes refuses prefixes that make names nobody could tell apart.
func checkPrefixes(servers []config.Server) error {
	by := make(map[string]string)
	for _, s := range servers {
		if s.Prefix == "" {
			continue
		}
		if other, ok := by[s.Prefix]; ok {
			return fmt.Errorf("servers %s and %s both have the prefix %q", other, s.Name, s.Prefix)
		}
		by[s.Prefix] = s.Name
	}
	return nil
}

// paramsIn reads the header parameters of a tool; a schema that breaks the rules
// for them has none.
func paramsIn(raw []byte) []httpmcp.Param {
	schema := wire.Member(raw, whole(raw), "inputSchema")
	if !schema.Present() || !strings.Contains(string(schema.Of(raw)), "x-mcp-header") {
		return nil
	}
	params, err := httpmcp.Params(schema.Of(raw))
	if err != nil {
		return nil
	}
	return params
}
