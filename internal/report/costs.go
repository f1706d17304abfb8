package report

import (
	"cmp"
	"path/filepath"
	"slices"
	"time"

	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

// Cost is a number of bytes, and of tokens by the report's estimator.
type Cost struct {
	Bytes  int64 `json:"bytes"`
	Tokens int64 `json:"tokens"`
}

func (c Cost) times(n int64) Cost { return Cost{c.Bytes * n, c.Tokens * n} }
func (c Cost) plus(d Cost) Cost   { return Cost{c.Bytes + d.Bytes, c.Tokens + d.Tokens} }
func (c Cost) less(d Cost) Cost   { return Cost{c.Bytes - d.Bytes, c.Tokens - d.Tokens} }

// Costs are the five costs of a session. Nothing is in two of them.
type Costs struct {
	Definitions Cost `json:"definitions"` // of tools, as shown, once
	Arguments   Cost `json:"arguments"`   // that the model wrote, of calls that succeeded
	Results     Cost `json:"results"`     // shown, once
	Carried     Cost `json:"carried"`     // the three, sent again in later turns
	Failures    Cost `json:"failures"`    // calls that failed: arguments, errors, both carried, and the arguments written again in the next turn
	Total       Cost `json:"total"`
}

// Own are the parts of the costs that are Spillway's own.
type Own struct {
	Notes       Cost `json:"notes"`       // what says what was cut
	Definitions Cost `json:"definitions"` // growth of the list of tools; under 0 where it shrank
	Expands     Cost `json:"expands"`     // calls of reducer_expand and their results, not carried
}

// HostCosts are the costs as one kind of host has them.
type HostCosts struct {
	With    Costs `json:"with"`
	Without Costs `json:"without"` // the same calls without Spillway: no notes, no expands, results in full
	Own     Own   `json:"own"`     // inside With
	Saved   Cost  `json:"saved"`   // Without less With; under 0 is a loss
}

// SessionCosts are those of one recorded session.
type SessionCosts struct {
	File    string    `json:"file"`
	Session string    `json:"session"`
	Server  string    `json:"server"`
	Started time.Time `json:"started"`
	Task    string    `json:"task"` // as declared; ""
	Turns   int       `json:"turns"`
	Calls   int       `json:"calls"`
	Expands int       `json:"expands"`
	Dropped int       `json:"dropped"` // events whose contents the redactions removed: they are in no cost

	Text       HostCosts `json:"text"`       // a host that shows text
	Structured HostCosts `json:"structured"` // one that shows structuredContent, and text where there is none
	Curve      []Point   `json:"curve"`
}

// Point is what the context of a model holds after a turn, all of it kept: the
// definitions, what was written and what was read, in tokens.
type Point struct {
	Turn              int   `json:"turn"` // 0: the definitions alone
	With              int64 `json:"with"` // text
	Without           int64 `json:"without"`
	StructuredWith    int64 `json:"structured_with"`
	StructuredWithout int64 `json:"structured_without"`
}

// event is what one event costs a host of one kind.
type event struct {
	turn          int
	bare          int // the turn without Spillway, where turns of expands alone would not have been
	kind          string
	failed, again bool // again: it repeats a call that failed the turn before
	args          Cost
	shown, full   [2]Cost // text, structured
	note          Cost
}

func costsOf(s *record.Session, counter tokens.Counter, retain Retention) SessionCosts {
	c := SessionCosts{
		File: filepath.Base(s.Path), Session: s.Header.Session, Server: s.Header.Server, Started: s.Header.Started,
		Task: s.Declared.Task, Curve: []Point{},
	}
	events, bare := c.events(s, counter)
	for side, host := range []*HostCosts{&c.Text, &c.Structured} {
		for _, e := range events {
			host.With.add(&e, e.shown[side], c.Turns-e.turn, retain)
			if !e.ours() {
				host.Without.add(&e, e.full[side], bare-e.bare, retain)
			}
			switch e.kind {
			case record.KindList:
				host.Own.Definitions = host.Own.Definitions.plus(e.shown[side].less(e.full[side]))
			case record.KindExpand:
				host.Own.Expands = host.Own.Expands.plus(e.args).plus(e.shown[side])
			default:
				host.Own.Notes = host.Own.Notes.plus(e.note)
			}
		}
		host.With.sum()
		host.Without.sum()
		host.Saved = host.Without.Total.less(host.With.Total)
	}
	c.curve(events)
	return c
}

// ours reports a call that there would not have been without Spillway.
func (e *event) ours() bool {
	return e.kind == record.KindExpand || e.kind == record.KindRefused
}

// events takes what costs something out of a session, and counts its turns, also
// without those of expands alone. A call that began before another was answered
// is of its turn: a model asks for several at once.
func (c *SessionCosts) events(s *record.Session, counter tokens.Counter) (all []event, bare int) {
	order := make([]*record.Event, 0, len(s.Events))
	for i := range s.Events {
		order = append(order, &s.Events[i])
	}
	slices.SortStableFunc(order, func(a, b *record.Event) int { return cmp.Compare(a.At, b.At) })
	lists := map[string]bool{}
	until := int64(-1)
	counted := 0                // the last turn that is one without Spillway, too
	failing := map[string]int{} // tool: the turn in which it failed last
	for _, r := range order {
		if r.Kind == record.KindEnd || r.State != "" {
			continue
		}
		if r.Dropped {
			c.Dropped++
			continue
		}
		e := event{kind: r.Kind, failed: failed(r)}
		if r.Kind == record.KindList {
			if lists[string(r.Seen())] {
				continue // the host has it already
			}
			lists[string(r.Seen())] = true
			seen, result := withoutIcons(r.Seen()), withoutIcons(r.Result)
			shown := Cost{int64(len(seen)), count(counter, seen)}
			full := Cost{int64(len(result)), count(counter, result)}
			e.shown, e.full = [2]Cost{shown, shown}, [2]Cost{full, full}
			e.turn, e.bare = c.Turns, bare
			all = append(all, e)
			continue
		}
		if r.At >= until {
			c.Turns++
		}
		until = max(until, r.Done)
		if e.turn = c.Turns; !e.ours() && counted < e.turn {
			counted = e.turn
			bare++
		}
		e.bare = bare
		e.args = Cost{int64(len(r.Args)), count(counter, r.Args)}
		shown, full := viewOf(r.Seen(), counter).exactly(r.After), viewOf(r.Result, counter).exactly(r.Before)
		if len(r.Result) == 0 && len(r.Error) > 0 {
			shown = view{bytes: int64(len(r.Error)), tokens: count(counter, r.Error)}
			full = shown
		}
		for side := range 2 {
			e.shown[side], e.full[side] = shown.of(side == 1), full.of(side == 1)
		}
		e.note = Cost{int64(len(r.Note)), count(counter, []byte(r.Note))}
		switch r.Kind {
		case record.KindExpand:
			c.Expands++
		case record.KindRefused:
		default:
			c.Calls++
		}
		if at, ok := failing[r.Tool]; ok && at == e.turn-1 {
			e.again = true
		}
		if e.failed {
			failing[r.Tool] = e.turn
		}
		all = append(all, e)
	}
	return all, bare
}

// add books one event behind which there are so many turns left. The model is
// asked once more than there are turns, for its answer: what it reads in a turn
// it reads first in the request behind it, and may be sent once more for each
// turn that is left.
func (c *Costs) add(e *event, shown Cost, left int, retain Retention) {
	if e.kind == record.KindList {
		c.Definitions = c.Definitions.plus(shown)
		c.Carried = c.Carried.plus(shown.times(retain.definitions(left)))
		return
	}
	carried := e.args.times(retain.again(left + 1)).plus(shown.times(retain.again(left)))
	if retain.window > 0 { // the first reading is one of the window's
		carried = e.args.times(retain.again(left + 1)).plus(shown.times(min(int64(max(left, 0)), int64(retain.window-1))))
	}
	if e.failed {
		c.Failures = c.Failures.plus(e.args).plus(shown).plus(carried)
		return
	}
	if e.again {
		c.Failures = c.Failures.plus(e.args)
	} else {
		c.Arguments = c.Arguments.plus(e.args)
	}
	c.Results = c.Results.plus(shown)
	c.Carried = c.Carried.plus(carried)
}

func (c *Costs) sum() {
	c.Total = c.Definitions.plus(c.Arguments).plus(c.Results).plus(c.Carried).plus(c.Failures)
}

// curve draws how the context grows, turn by turn.
func (c *SessionCosts) curve(events []event) {
	p := Point{}
	at := 0
	for turn := 0; turn <= c.Turns; turn++ {
		p.Turn = turn
		for at < len(events) && events[at].turn <= turn {
			e := &events[at]
			at++
			p.With += e.args.Tokens + e.shown[0].Tokens
			p.StructuredWith += e.args.Tokens + e.shown[1].Tokens
			if e.ours() {
				continue
			}
			p.Without += e.args.Tokens + e.full[0].Tokens
			p.StructuredWithout += e.args.Tokens + e.full[1].Tokens
		}
		c.Curve = append(c.Curve, p)
	}
}
