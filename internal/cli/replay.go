package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/replay"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

type replayOptions struct {
	files     config.Flags
	against   string
	estimator string
	failUnder string
	jobs      int
	values    bool
	json      bool
}

func newReplay(s streams) *cobra.Command {
	o := replayOptions{}
	cmd := &cobra.Command{
		Use:   "replay SESSION... [--rules FILE] [--against FILE]",
		Short: "Run recorded sessions through rules, without any server",
		Long: `Run recorded sessions through the rules and say what results would have taken
before and after, per tool and per session: median, 90th percentile and worst;
which rules never fire; with --against, what differs from other rules; and
whether the task could still finish.

For that, each value that a later call or the declared final answer uses is
looked for in earlier results: was it there, do the rules still show it, and if
not, would one expand have brought it back. No model is called, and
docs/measurement.md says what this can see and what not.

With --fail-under 95% the status is 3 where less of the evidence than that is
shown, over all or by any one rule, or where a declared check does not hold.

Sessions are recorded where the configuration has record: {path: DIR}. A
SESSION may be such a directory.`,
		Example: `  spillway replay ~/sessions/*.jsonl.zst --rules new.yaml --against rules.yaml
  spillway replay testdata/*.jsonl --rules rules.yaml --fail-under 100%`,
		GroupID: groupRecords,
		Args:    argCount(1, -1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runReplay(cmd.Context(), s, o, args) },
	}
	configFlag(cmd, &o.files)
	rulesFlag(cmd, &o.files)
	f := cmd.Flags()
	f.StringVar(&o.against, "against", "", "rules `FILE` to compare with")
	f.StringVar(&o.estimator, "estimator", "", "count tokens by `NAME`: "+strings.Join(tokens.Names(), ", "))
	f.StringVar(&o.failUnder, "fail-under", "", "status 3 where less than `PERCENT` of the evidence is shown")
	f.IntVar(&o.jobs, "jobs", 0, "work on `N` results at once; 0: one for each processor")
	f.BoolVar(&o.values, "values", false, "name the values that are missed; recordings may be private")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runReplay(ctx context.Context, s streams, o replayOptions, sessions []string) error {
	least, err := parsePercent(o.failUnder)
	if err != nil {
		return err
	}
	c, err := openConfig(o.files)
	if err != nil {
		return err
	}
	opt := replay.Options{Workers: o.jobs, Values: o.values, ExpandBudget: c.ExpandBudget}
	if opt.Rules, err = c.Rules(); err != nil {
		return fileError(err)
	}
	if o.against != "" {
		if opt.Against, err = rules.Load(o.against); err != nil {
			return fileError(err)
		}
	}
	var done func() error
	if opt.Counter, done, err = counterOf(c, o.estimator); err != nil {
		return usageError("--estimator: %v", err)
	}
	if sessions, err = sessionFiles(sessions); err != nil {
		return err
	}
	report, err := replay.Run(ctx, sessions, opt)
	if counted := done(); err == nil {
		err = counted
	}
	if err != nil {
		return fileError(err)
	}
	if o.json {
		err = writeJSON(s.Out, report)
	} else {
		err = report.WriteText(s.Out)
	}
	if err != nil || o.failUnder == "" {
		return err
	}
	return judge(s, &report.Rules, least)
}

// judge is --fail-under: it says each reason to fail.
func judge(s streams, side *replay.Side, least float64) error {
	failed := false
	fail := func(format string, args ...any) {
		failed = true
		fmt.Fprintf(s.Err, "spillway: "+format+"\n", args...)
	}
	under := func(t replay.Tally) bool { return t.Survival != nil && *t.Survival*100 < least }
	if under(side.Evidence) {
		fail("%d of %d needed values are shown, under %s %%", side.Evidence.Shown, side.Evidence.Needed, number(least))
	}
	for _, r := range side.PerRule {
		if under(r.Evidence) {
			fields := make([]string, len(r.Fields))
			for i, f := range r.Fields {
				fields[i] = f.Field
			}
			fail("rule %s shows %d of %d needed values; it takes away %s", r.Rule, r.Evidence.Shown, r.Evidence.Needed, strings.Join(fields, ", "))
		}
	}
	for _, check := range side.Checks {
		if !check.OK {
			fail("%s: %s %q: %s", check.Session, check.Kind, check.Name, check.Why)
		}
	}
	switch {
	case failed:
		return quiet(exitFaults)
	case side.Evidence.Needed == 0 && len(side.Checks) == 0:
		fmt.Fprintln(s.Err, "spillway: nothing was judged: no later call uses a value of an earlier result, and nothing is declared")
	}
	return nil
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// parsePercent reads 95 or 95%.
func parsePercent(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(s, "%")), 64)
	if err != nil || !(n >= 0 && n <= 100) {
		return 0, usageError("--fail-under needs a percentage from 0 to 100 such as 95%%, got %q", s)
	}
	return n, nil
}
