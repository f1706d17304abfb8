package ledger

import (
	"bytes"
	"fmt"
	"os"
)

// A Tally adds up ledger lines as they are read. Its memory grows with the
// number of tools and sessions, not with that of lines. It is for one goroutine.
type Tally struct {
	lines, torn, unreadable, unknown int64

	first, last []byte // timestamps

	all        *group
	groups     int32 // how many there are
	servers    map[string]*serverGroup
	sessions   map[string]*session
	estimators []string
	faults     map[string][]string // by the bytes of their list, which recur

	misses *misses           // nil: not looked for
	skip   func([]byte) bool // lines of which sessions are left out; nil: none

	before struct { // the names of the line before, and what they stand for
		server, tool, session []byte

		s     *serverGroup
		t     *group
		spent *session
	}
}

type serverGroup struct {
	*group
	tools map[string]*group
}

// A group is the account of a tool, a server or all.
type group struct {
	calls, errors, reduced     int64
	envelopes, verifies        int64
	expands, failedExpands     int64
	lists, overhead, noSession int64
	text, structured           view
	faults                     faultCounts
	id                         int32 // in session.parts; of all there is none
}

// A view is the account as a host sees it that shows one of the two copies.
type view struct {
	in, out, expanded, definitions int64
	tokens                         []tokenSum // by estimator
}

type tokenSum struct{ in, out, expanded, definitions int64 }

// NewTally returns an empty Tally.
func NewTally() *Tally {
	return &Tally{all: new(group), servers: make(map[string]*serverGroup), sessions: make(map[string]*session), faults: make(map[string][]string)}
}

func (t *Tally) group() *group {
	t.groups++
	return &group{id: t.groups}
}

// Stats reads the ledger files and reports on all their lines together. The
// error is that of a file that cannot be read; what is wrong inside one is
// counted in the report instead.
func Stats(files ...string) (*Report, error) {
	t := NewTally()
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		err = t.Read(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("ledger: %s: %w", path, err)
		}
	}
	return t.Report(), nil
}

// line adds one line. Open tells that it had no line end.
func (t *Tally) line(rec *record, line []byte, open bool) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	t.lines++
	if !rec.scan(line) {
		if open {
			t.torn++
		} else {
			t.unreadable++
		}
		return
	}
	switch string(rec.event) {
	case EventCall, EventEnvelope, EventVerify, EventError, EventExpand, EventList:
		t.add(rec)
	default:
		t.unknown++
	}
}

func (t *Tally) add(rec *record) {
	if t.skip != nil && t.skip(rec.session) {
		return
	}
	if t.misses != nil {
		t.misses.add(rec)
	}
	if len(rec.ts) > 0 && len(rec.ts) < 64 {
		if len(t.first) == 0 || bytes.Compare(rec.ts, t.first) < 0 {
			t.first = append(t.first[:0], rec.ts...)
		}
		if bytes.Compare(rec.ts, t.last) > 0 {
			t.last = append(t.last[:0], rec.ts...)
		}
	}
	l := &t.before
	if l.s == nil || !bytes.Equal(l.server, rec.server) {
		l.server = append(l.server[:0], rec.server...)
		l.s, l.t = t.server(rec.server), nil
	}
	if list := string(rec.event) == EventList; !list && (l.t == nil || !bytes.Equal(l.tool, rec.tool)) {
		l.tool = append(l.tool[:0], rec.tool...)
		l.t = t.tool(l.s, rec.tool)
	}
	var spent *session
	if len(rec.session) > 0 {
		if l.spent == nil || !bytes.Equal(l.session, rec.session) {
			l.session = append(l.session[:0], rec.session...)
			l.spent = t.session(rec.session)
		}
		spent = l.spent
	}
	b := book(rec, t.estimator(rec.estimator))
	if len(rec.faults) > 2 {
		b.faults = t.faultNames(rec)
	}
	t.all.add(&b, spent == nil)
	l.s.add(&b, spent == nil)
	net := b.saved()
	if spent != nil {
		spent.all.add(net)
		spent.part(l.s.id).add(net)
	}
	if string(rec.event) == EventList {
		return
	}
	l.t.add(&b, spent == nil)
	if spent != nil {
		spent.part(l.t.id).add(net)
	}
}

func (t *Tally) server(name []byte) *serverGroup {
	s := t.servers[string(name)]
	if s == nil {
		s = &serverGroup{t.group(), make(map[string]*group)}
		t.servers[string(name)] = s
	}
	return s
}

func (t *Tally) tool(s *serverGroup, name []byte) *group {
	g := s.tools[string(name)]
	if g == nil {
		g = t.group()
		s.tools[string(name)] = g
	}
	return g
}

func (t *Tally) session(name []byte) *session {
	s := t.sessions[string(name)]
	if s == nil {
		s = new(session)
		t.sessions[string(name)] = s
	}
	return s
}

// estimator returns the index of a name among those met; lines without one have
// no tokens, and -1.
func (t *Tally) estimator(name []byte) int {
	if len(name) == 0 {
		return -1
	}
	for i, e := range t.estimators {
		if e == string(name) {
			return i
		}
	}
	t.estimators = append(t.estimators, string(name))
	return len(t.estimators) - 1
}

func (t *Tally) faultNames(rec *record) []string {
	names, ok := t.faults[string(rec.faults)]
	if !ok {
		names = rec.faultNames()
		if len(t.faults) < 1000 {
			t.faults[string(rec.faults)] = names
		}
	}
	return names
}
