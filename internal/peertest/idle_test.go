//go:build linux

package peertest

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
)

// K63: sessions of a real process that come and go leave nothing behind. What an
// idle one takes is logged: of the heap, which a collector that runs often keeps
// close to what is in use, and of resident memory as it is by default.
func TestK63_SessionsOfARealProcess(t *testing.T) {
	need(t)
	const sessions, streams = 5000, 1000
	for _, c := range []struct {
		name, env string
		heap      bool // what is in use is nearly all that the heap has
	}{{"GOGC=20", "GOGC=20", true}, {"by default", "GOGC=100", false}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := serve(t, dir, fmt.Sprintf("servers:\n  s0: {command: %q, env: {%s: answerer, PEERTEST_NAME: s0, PEERTEST_DIR: %q, GOGC: \"100\"}}\n",
				self(t), roleVar, dir), append(home(dir), c.env), "ann")
			h := &hall{s: s, web: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 20}}}
			h.shut(h.open(200, false), nil) // what is made once is made
			before := s.sample()
			var after [2]sample
			for round := range after {
				all := h.open(sessions, false)
				held := s.sample()
				if n := s.metric("spillway_sessions"); n != sessions {
					t.Errorf("%d sessions are open, want %d", n, sessions)
				}
				t.Logf("%d idle sessions: %d bytes of heap each, %d bytes of resident memory; %v", sessions,
					(held.heap-before.heap)/sessions, (held.rss-before.rss)/sessions, held)
				h.shut(all, nil)
				after[round] = s.sample()
			}
			t.Logf("before: %v", before)
			t.Logf("after %d sessions: %v", sessions, after[0])
			t.Logf("after %d more: %v", sessions, after[1])
			// Flat: the second five thousand leave no more than the first, but for what
			// is not collected yet. A third of what they took would be more.
			if c.heap && after[1].heap > after[0].heap+16<<20 || after[1].rss > after[0].rss+16<<20 {
				t.Errorf("%v became %v", after[0], after[1])
			}
			if after[1].goroutines > before.goroutines+20 || after[1].files > before.files+20 || after[1].children != before.children {
				t.Errorf("%v became %v", before, after[1])
			}
			if n := s.metric("spillway_sessions"); n != 0 {
				t.Errorf("%d sessions are left", n)
			}

			if !c.heap {
				return // what it has left would hide what is taken
			}
			ctx, cancel := context.WithCancel(t.Context())
			h.listening = ctx
			before = s.sample()
			all := h.open(streams, true)
			await(t, "all listen", func() bool { return s.metric("spillway_streams") == streams })
			held := s.sample()
			t.Logf("%d sessions with a client that listens: %d bytes of heap each; %v", streams, (held.heap-before.heap)/streams, held)
			h.shut(all, cancel)
			await(t, "the streams have ended", func() bool {
				now := s.sample()
				return s.metric("spillway_streams") == 0 && now.goroutines <= before.goroutines+20 && now.files <= before.files+20
			})
		})
	}
}

// hall is where many sessions of one caller are open.
type hall struct {
	s         *serving
	web       *http.Client
	listening context.Context
	streams   sync.WaitGroup
}

// side runs do for each of n, a few at once.
func (h *hall) side(n int, do func(i int) error) {
	h.s.t.Helper()
	next := make(chan int)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					h.s.t.Errorf("session %d: %v", i, err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
	if h.s.t.Failed() {
		h.s.t.FailNow()
	}
}

// open opens sessions, lists in each, and listens if wanted.
func (h *hall) open(n int, listen bool) []*httpCaller {
	h.s.t.Helper()
	all := make([]*httpCaller, n)
	h.side(n, func(i int) error {
		c := &httpCaller{web: h.web, url: h.s.base + "/mcp", token: h.s.token["ann"]}
		all[i] = c
		if err := c.open(h.s.t.Context()); err != nil {
			return err
		}
		if _, _, err := c.ask(h.s.t.Context(), 1, "tools/list", "{}"); err != nil || !listen {
			return err
		}
		r, err := http.NewRequestWithContext(h.listening, "GET", c.url, nil)
		if err != nil {
			return err
		}
		r.Header = http.Header{"Accept": {"text/event-stream"}, "Authorization": {"Bearer " + c.token}, "Mcp-Session-Id": {c.session}}
		resp, err := h.web.Do(r)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("listening: %s", resp.Status)
		}
		h.streams.Go(func() {
			<-h.listening.Done()
			resp.Body.Close()
		})
		return nil
	})
	return all
}

// shut ends sessions.
func (h *hall) shut(all []*httpCaller, hangUp func()) {
	h.s.t.Helper()
	h.side(len(all), func(i int) error { return all[i].end(h.s.t.Context()) })
	if hangUp != nil {
		hangUp()
		h.streams.Wait()
	}
	h.web.CloseIdleConnections()
}
