package proxy

import (
	"bytes"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/wire"
	"github.com/spillway-mcp/spillway/reduce"
)

// Recorder keeps sessions, where a person asked for it: a [record.Recorder].
type Recorder interface {
	// Start begins a session; nil keeps none.
	Start(h record.Header) *record.Writer
}

// metaState is the member of a call's _meta that marks it as a read of the state
// that a session leaves behind, under a name. Recordings keep it apart from
// what the model was shown.
const metaState = "io.github.spillway-mcp/state"

// recording is the session's own; it starts with the first event, when the
// peers have said who they are.
type recording struct {
	begin sync.Once
	began time.Time
	w     *record.Writer
}

// recorded is what a recording keeps of a request until it is answered.
type recorded struct {
	args  []byte
	state string
}

// toRecord keeps a request's arguments, once the parameters that we added are
// out of them, where sessions are recorded.
func (s *session) toRecord(c *call, args, body []byte, m wire.Message) {
	if s.opt.Record == nil {
		return
	}
	c.recorded = recorded{bytes.Clone(args), wire.Text(wire.Path(body, m.Params, "_meta", metaState).Of(body))}
}

// record keeps an event that fill completes. It runs once the answer is out.
func (s *session) record(c *call, kind string, fill func(*record.Event)) {
	if s.opt.Record == nil {
		return
	}
	s.rec.begin.Do(func() { s.rec.w = s.opt.Record.Start(s.recordHeader(c)) })
	w := s.rec.w
	if w == nil {
		return
	}
	e := record.Event{
		Kind: kind, At: w.Since(c.start), Done: w.Since(c.done()),
		Server: s.ledgerNameOf(&c.toolCall), Tool: c.name, Args: c.recorded.args, State: c.recorded.state,
		Env: record.Env{
			Expand: c.expand != "", Schema: c.info.schema, UI: c.info.ui, Link: c.link,
			Write: c.info.write, Verify: c.verify, Token: c.token,
		},
	}
	if c.pick != nil {
		e.Rule = c.pick.Digest
	}
	fill(&e)
	w.Write(&e)
}

func (s *session) recordHeader(c *call) record.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := record.Header{
		Session: s.id, Started: s.rec.began,
		Client: record.Client{
			Name: s.profile.client, Revision: s.profile.revision, Era: "legacy", Expand: s.opt.Expand && s.opt.Stash != nil,
		},
	}
	if c.modern {
		h.Client.Era = "modern"
	}
	if h.Server = s.opt.Server; h.Server == "" {
		h.Server = s.profile.announced
	}
	if set := s.opt.rules(); set != nil {
		h.Rules = set.Digest()
	}
	return h
}

// recordResult keeps a result that passed as it came.
func (s *session) recordResult(c *call, kind, outcome string, result []byte, faults []string) {
	s.record(c, kind, func(e *record.Event) {
		e.Outcome, e.Result, e.Faults = outcome, result, faults
	})
}

// recordReduced keeps a result and what the reducer made of it.
func (s *session) recordReduced(c *call, result []byte, out reduce.Outcome) {
	s.record(c, record.KindCall, func(e *record.Event) {
		e.Outcome, e.Result, e.Faults, e.Note, e.Ref = record.Passed, result, out.Faults, out.Note, out.Ref
		if out.Changed {
			e.Outcome, e.Shown = record.Reduced, out.Result
		}
		e.Cut = record.Cut{Rows: out.Cut.Rows, Fields: out.Cut.Fields, Bytes: out.Cut.Bytes}
	})
}

// recordError keeps an answer that tells of a failure: a result, or the error of
// the protocol; nil where the call was refused.
func (s *session) recordError(c *call, body []byte) {
	kind := record.KindCall
	if body == nil {
		kind = record.KindRefused
	}
	s.record(c, kind, func(e *record.Event) {
		e.Outcome = record.Error
		if wire.Member(body, wire.Span{End: len(body)}, "content").Present() {
			e.Result = body
		} else {
			e.Error = body
		}
	})
}

// recordExpand keeps what was given back of an original.
func (s *session) recordExpand(c *call, server, tool, ref string, result []byte, err error) {
	s.record(c, record.KindExpand, func(e *record.Event) {
		if server != "" {
			e.Server = server
		}
		e.Tool, e.Ref, e.Outcome, e.Result = tool, ref, record.Passed, result
		if err != nil {
			e.Outcome, e.Reason = record.Error, reasonOf(err)
		}
	})
}

// recordList keeps a list of tools, and what it was shown as.
func (s *session) recordList(c *call, before, after []byte) {
	s.record(c, record.KindList, func(e *record.Event) {
		e.Outcome, e.Result = record.Passed, before
		e.Before.Text, e.After.Text = len(before), len(after)
		if !bytes.Equal(before, after) {
			e.Outcome, e.Shown = record.Reduced, after
		}
	})
}
