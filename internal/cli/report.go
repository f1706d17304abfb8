package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/replay"
	reports "github.com/spillway-mcp/spillway/internal/report"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

type reportOptions struct {
	files     config.Flags
	out       string
	replay    string
	estimator string
	retain    string
	csv       string
	json      bool
}

func newReport(s streams) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report [LEDGER...|SESSION...] -o FILE",
		Short: "Write a page with every figure: savings, misses, costs, evidence",
		Long: `Make one account of ledgers and recorded sessions, as a page that needs no
network: how savings spread over sessions, tools, rules whose cuts were wanted
after all, and of recorded sessions the five costs (definitions, arguments,
results, what is sent again, failures) without and with Spillway. Without files
it takes those that the configuration names; a directory is its recordings.

A session that is recorded is counted anew from its recording, and its lines in
the ledger are passed over: so --estimator gives a ledger's figures in other
tokens. An estimator that is a program of yours stands in the configuration, as
ledger: {estimator: {command: [...]}}.

With --rules the recorded sessions are run through that file, and the page says
whether evidence survives it; --replay takes a report of replay --json instead.

--csv prints one table: sessions, spread, tools, misses, survival, missed,
costs, own or curve.

Figures are net; a loss is shown as one. docs/measurement.md says how each is
counted.`,
		Example: `  spillway report -o report.html
  spillway report ledger.jsonl sessions --rules rules.yaml -o report.html
  spillway report sessions --retain window:8 --csv costs`,
		GroupID: groupRecords,
		RunE:    func(cmd *cobra.Command, args []string) error { return runReport(cmd.Context(), s, o, args) },
	}
	configFlag(cmd, &o.files)
	rulesFlag(cmd, &o.files)
	f := cmd.Flags()
	f.StringVarP(&o.out, "output", "o", "", "write to `FILE`, in place of stdout")
	f.StringVar(&o.replay, "replay", "", "take the evidence from `FILE`, a report of replay --json")
	f.StringVar(&o.estimator, "estimator", "", "count by `NAME`: "+strings.Join(tokens.Names(), ", "))
	f.StringVar(&o.retain, "retain", "all", "what later turns send again: none, all or window:`N`")
	f.StringVar(&o.csv, "csv", "", "print one `TABLE` as CSV; see above")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	completeWith(cmd, "estimator", tokens.Names()...)
	return cmd
}

func runReport(ctx context.Context, s streams, o reportOptions, files []string) error {
	if o.json && o.csv != "" {
		return usageError("--json and --csv: give one of them")
	}
	if !o.json && o.csv == "" && o.out == "" {
		return usageError("the page needs a file: -o report.html, or -o - for stdout")
	}
	retain, err := reports.ParseRetention(o.retain)
	if err != nil {
		return usageError("--retain: %v", err)
	}
	c, err := openConfig(o.files)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		if files, err = recordsOf(c); err != nil {
			return err
		}
	}
	if files, err = sessionFiles(files); err != nil {
		return err
	}
	opt := reports.Options{Retain: retain}
	var done func() error
	if opt.Counter, done, err = counterOf(c, o.estimator); err != nil {
		return usageError("--estimator: %v", err)
	}
	defer done()
	if opt.Replay, err = evidence(ctx, c, o, opt.Counter, files); err != nil {
		return err
	}
	r, err := reports.Build(files, opt)
	if err != nil {
		return err
	}
	if err := done(); err != nil {
		return err
	}
	return toFile(s, o.out, func(w io.Writer) error {
		switch {
		case o.json:
			return writeJSON(w, r)
		case o.csv != "":
			if err := r.WriteCSV(w, o.csv); err != nil {
				return usageError("--csv: %v", err)
			}
			return nil
		}
		return r.WriteHTML(w)
	})
}

// counterOf returns what counts recorded sessions: the estimator of that name, else the configuration's, which may be
// another program. done ends it, and says what has gone wrong with it.
func counterOf(c *config.Config, name string) (counter tokens.Counter, done func() error, err error) {
	done = func() error { return nil }
	if name == "" && len(c.Ledger.Command) > 0 {
		other, err := tokens.NewCommand(c.Ledger.Command)
		if err != nil {
			return nil, done, err
		}
		return other, func() error {
			err := other.Err()
			other.Close()
			return err
		}, nil
	}
	if name == "" {
		name = c.Ledger.Estimator
	}
	counter, err = tokens.ByName(name)
	return counter, done, err
}

// recordsOf returns the ledger and the recorded sessions of the configuration, those that there are.
func recordsOf(c *config.Config) ([]string, error) {
	var files []string
	if _, err := os.Stat(c.Ledger.Path); err == nil {
		files = append(files, c.Ledger.Path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if entries, err := os.ReadDir(c.Record.Path); err == nil && len(entries) > 0 {
		files = append(files, c.Record.Path)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no ledger yet at %s; run writes a line for each call", c.Ledger.Path)
	}
	return files, nil
}

// evidence is what the page says of survival; nil where nothing was asked.
func evidence(ctx context.Context, c *config.Config, o reportOptions, counter tokens.Counter, files []string) (*replay.Report, error) {
	if o.replay != "" {
		data, err := os.ReadFile(o.replay)
		if err != nil {
			return nil, err
		}
		r := new(replay.Report)
		if err := json.Unmarshal(data, r); err != nil || r.Version != 1 {
			return nil, fmt.Errorf("%s: no report of replay --json", o.replay)
		}
		return r, nil
	}
	if o.files.Rules == "" {
		return nil, nil
	}
	var sessions []string
	for _, path := range files {
		session, err := reports.IsSession(path)
		if err != nil {
			return nil, err
		}
		if session {
			sessions = append(sessions, path)
		}
	}
	if len(sessions) == 0 {
		return nil, usageError("--rules needs recorded sessions to run through them")
	}
	set, err := c.Rules()
	if err != nil {
		return nil, fileError(err)
	}
	return replay.Run(ctx, sessions, replay.Options{Rules: set, Counter: counter, ExpandBudget: c.ExpandBudget})
}

// toFile writes to path, whole or not at all; "" and "-" are stdout.
func toFile(s streams, path string, write func(io.Writer) error) error {
	if path == "" || path == "-" {
		return write(s.Out)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".spillway-report-*")
	if err != nil {
		return err
	}
	err = write(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
