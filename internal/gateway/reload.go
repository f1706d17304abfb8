package gateway

import (
	"reflect"
	"time"

	"github.com/spillway-mcp/spillway/internal/config"
)

// Reload makes servers the upstreams. What has not changed is left alone; calls
// in flight at what is taken out or replaced may end. Clients are told to list
// again.
func (g *Gateway) Reload(servers []config.Server) error {
	if err := checkPrefixes(servers); err != nil {
		return err
	}
	old := g.list()
	kept := make(map[*source]bool)
	var now, fresh []*source
	same := len(servers) == len(old)
	for i, cfg := range servers {
		src := find(old, cfg)
		if src == nil {
			var err error
			if src, err = g.newSource(cfg); err != nil {
				for _, s := range fresh {
					s.close()
				}
				return err
			}
			fresh = append(fresh, src)
		}
		kept[src] = true
		now = append(now, src)
		same = same && i < len(old) && old[i] == src
	}
	if same {
		return nil
	}
	g.opt.Log.Info("servers changed", "servers", len(now), "new", len(fresh))
	g.sources.Store(&now)
	for _, src := range fresh {
		src.start()
	}
	for _, c := range g.all() {
		c.reload(now, kept)
	}
	for _, src := range old {
		if !kept[src] {
			g.tasks.Go(func() {
				g.waitUnused(func() bool { return g.uses(src) })
				src.close()
			})
		}
	}
	return nil
}

func find(all []*source, cfg config.Server) *source {
	for _, src := range all {
		if reflect.DeepEqual(src.cfg, cfg) {
			return src
		}
	}
	return nil
}

// reload gives a client the upstreams of this moment.
func (c *conn) reload(now []*source, kept map[*source]bool) {
	if c.solo || len(now) == 1 && now[0].cfg.Prefix == "" {
		if c.solo && kept[c.peers[0].src] && len(now) == 1 {
			return
		}
		// The client is shown one server as it is, or was: it has to begin anew.
		c.retire()
		return
	}
	var peers, gone []*peer
	c.mu.Lock()
	for _, src := range now {
		var p *peer
		for _, has := range c.peers {
			if has.src == src {
				p = has
			}
		}
		if p == nil {
			p = &peer{c: c, src: src}
		}
		peers = append(peers, p)
	}
	for _, p := range c.peers {
		if !kept[p.src] {
			gone = append(gone, p)
		}
	}
	c.peers = peers
	c.mu.Unlock()
	for _, p := range gone {
		c.g.tasks.Go(func() {
			c.g.waitUnused(func() bool { return c.uses(p) })
			p.close()
		})
	}
	for _, kind := range []string{"tools", "prompts", "resources"} {
		c.listChanged(kind)
	}
}

// retire ends a session once nothing is in flight on it. Its client gets 404 and
// begins a new one, as the protocol has it; a modern caller's next message finds
// a new one at once.
func (c *conn) retire() {
	c.g.mu.Lock()
	if c.g.modern[c.caller] == c {
		delete(c.g.modern, c.caller)
	}
	c.g.mu.Unlock()
	c.g.tasks.Go(func() {
		c.g.waitUnused(func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, f := range c.pending {
				if !f.listen {
					return true
				}
			}
			return false
		})
		c.close()
	})
}

// uses reports whether a request of the client is in work at p.
func (c *conn) uses(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.pending {
		f.mu.Lock()
		on := f.peer == p && !f.listen
		f.mu.Unlock()
		if on {
			return true
		}
	}
	return false
}

func (g *Gateway) uses(src *source) bool {
	for _, c := range g.all() {
		c.mu.Lock()
		for _, f := range c.pending {
			f.mu.Lock()
			on := f.peer != nil && f.peer.src == src && !f.listen
			f.mu.Unlock()
			if on {
				c.mu.Unlock()
				return true
			}
		}
		c.mu.Unlock()
	}
	return false
}

// unusedTime is how long calls get to end at an upstream that is taken out.
const unusedTime = time.Minute

func (g *Gateway) waitUnused(used func() bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.NewTimer(unusedTime)
	defer end.Stop()
	for used() {
		select {
		case <-g.ctx.Done():
			return
		case <-end.C:
			return
		case <-tick.C:
		}
	}
}
