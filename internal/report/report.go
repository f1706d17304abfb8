// Package report makes one account of ledgers and recorded sessions: what was
// saved per session and per tool, what was wanted after all, what a session cost
// and of what kind, and whether evidence survived. It writes it as a page, as
// JSON and as CSV; every picture's numbers stand in a table, too. It does not
// run rules: package replay does, and its report is taken in.
//
// Start with [Build] and [Report.WriteHTML].
package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/replay"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

// Options say what a report is made of.
type Options struct {
	// Counter counts what recorded sessions hold; nil is bytes/4. Lines of
	// ledgers keep the counts of the estimator that they name.
	Counter tokens.Counter
	Retain  Retention
	Replay  *replay.Report // nil: nothing is said of survival
}

// Report is the whole account. Its JSON form is a promise, see docs/json.md; the
// same files and options give the same bytes. Lists are never null.
type Report struct {
	Version   int                     `json:"version"` // 1
	Files     []File                  `json:"files"`
	Estimator string                  `json:"estimator"` // of recorded sessions
	Retention string                  `json:"retention"` // "none", "all" or "window:N"
	Stats     *ledger.Report          `json:"stats"`
	Sessions  []ledger.SessionAccount `json:"sessions"` // the greatest loss first
	Spread    []Bin                   `json:"spread"`   // how many sessions saved how much
	Misses    []ledger.RuleMisses     `json:"misses"`   // flagged rules first
	Costs     []SessionCosts          `json:"costs"`    // of recorded sessions
	Replay    *replay.Report          `json:"replay"`   // null without
}

// File is one file that the report was made of.
type File struct {
	File    string `json:"file"` // the last element of its path
	Kind    string `json:"kind"` // "ledger" or "session"
	Torn    bool   `json:"torn"` // of a session: it ends within a line
	Skipped int    `json:"skipped"`
}

// Bin counts sessions whose net saving, as a share of what came in, is at least
// From and under To; the first has no lower bound and the last includes 1.
type Bin struct {
	From       *float64 `json:"from"` // null: no bound
	To         float64  `json:"to"`
	Text       int      `json:"text"` // sessions, as a host has them that shows text
	Structured int      `json:"structured"`
}

// Build reads files, which are ledgers or recorded sessions, and adds them up. A
// session that is recorded is taken from its recording, counted anew, and its
// lines in the ledgers are passed over: so a ledger's figures can be had in the
// tokens of another estimator.
func Build(files []string, opt Options) (*Report, error) {
	if opt.Counter == nil {
		opt.Counter, _ = tokens.ByName("bytes/4")
	}
	r := &Report{
		Version: 1, Estimator: opt.Counter.Name(), Retention: opt.Retain.String(), Replay: opt.Replay,
		Files: []File{}, Costs: []SessionCosts{},
	}
	tally := ledger.NewTally()
	tally.CountMisses()
	recorded := map[string]bool{}
	var ledgers []string
	for _, path := range files {
		session, err := IsSession(path)
		if err != nil {
			return nil, err
		}
		if !session {
			ledgers = append(ledgers, path)
			continue
		}
		s, err := record.Load(path)
		if err != nil {
			return nil, err
		}
		if id := s.Header.Session; id != "" {
			if recorded[id] {
				return nil, fmt.Errorf("%s: session %s was given before", path, id)
			}
			recorded[id] = true
		}
		if err := r.session(s, tally, &opt); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	tally.LeaveOut(func(session string) bool { return recorded[session] })
	for _, path := range ledgers {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		err = tally.Read(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		r.Files = append(r.Files, File{File: filepath.Base(path), Kind: "ledger"})
	}
	r.Stats, r.Sessions, r.Misses = tally.Report(), tally.Sessions(), tally.Misses()
	r.Spread = spread(r.Sessions)
	return r, nil
}

// session adds a recorded session.
func (r *Report) session(s *record.Session, tally *ledger.Tally, opt *Options) error {
	var lines bytes.Buffer
	for _, l := range Lines(s, opt.Counter) {
		lines.Write(append(l.AppendJSON(nil), '\n'))
	}
	if err := tally.Read(&lines); err != nil {
		return err
	}
	if f, ok := opt.Counter.(interface{ Err() error }); ok && f.Err() != nil {
		return f.Err()
	}
	r.Files = append(r.Files, File{File: filepath.Base(s.Path), Kind: "session", Torn: s.Torn, Skipped: s.Skipped})
	r.Costs = append(r.Costs, costsOf(s, opt.Counter, opt.Retain))
	return nil
}

// IsSession reports whether the file at path is a recorded session, and not a
// ledger: by its first bytes.
func IsSession(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var first [256]byte
	n, err := io.ReadFull(f, first[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	head := string(first[:n])
	return strings.HasPrefix(head, "\x28\xb5\x2f\xfd") || strings.Contains(head, `"kind":"session"`), nil
}

// bins are tenths from 0, and one of losses.
func spread(sessions []ledger.SessionAccount) []Bin {
	all := make([]Bin, 11)
	for i := range all {
		all[i].To = float64(i) / 10
		if i > 0 {
			from := float64(i-1) / 10
			all[i].From = &from
		}
	}
	add := func(f *float64, to func(*Bin)) {
		switch {
		case f == nil:
		case *f < 0:
			to(&all[0])
		default:
			to(&all[1+min(int(*f*10), 9)])
		}
	}
	for _, s := range sessions {
		add(s.NetFraction, func(b *Bin) { b.Text++ })
		add(s.StructuredPortion, func(b *Bin) { b.Structured++ })
	}
	return all
}
