package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/bench"
)

type benchOptions struct {
	rounds int
	memory bool
	json   bool
}

func newBench(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure Spillway on this machine",
		Long:    "Measure the engines on this machine, each against the obvious way to do the same\nwork, and what a call through the gateway takes. All sides run in one run.",
		GroupID: groupRest,
		Args:    cobra.ArbitraryArgs,
		RunE:    needCommand,
	}
	cmd.AddCommand(newBenchReduce(s), newBenchWrites(s), newBenchGateway(s), newBenchUpstream(s), newBenchPeak(s), newBenchHop(s))
	return cmd
}

func newBenchReduce(s streams) *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "reduce",
		Short: "Reduce results in the shape of GitHub's, Spillway beside the obvious way",
		Long: `Reduce results of 1 MB and 10 MB in the shape of GitHub's code search, with
Spillway's engines and in the obvious way: encoding/json to maps, go-jmespath,
jsontext's RFC 8785, zstd. Then the parts alone, and the most memory that a
50 MB document takes.

Both sides run in turn in this process; the figures are medians, and the ratio
is the median of each round's own. It takes about half a minute.`,
		Args: argCount(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runBenchReduce(cmd.Context(), s, o) },
	}
	cmd.Flags().IntVar(&o.rounds, "rounds", 7, "`N` rounds of each side that count")
	cmd.Flags().BoolVar(&o.memory, "memory", true, "also measure the memory of a 50 MB document")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// benchReport is what bench reduce --json prints; its fields are promised in docs/json.md.
type benchReport struct {
	Build  build         `json:"build"`
	Work   []bench.Row   `json:"work"`
	Memory *bench.Memory `json:"memory"` // null where it was not measured
}

func runBenchReduce(ctx context.Context, s streams, o benchOptions) error {
	if o.rounds < 1 {
		return usageError("--rounds is %d: at least 1 is allowed", o.rounds)
	}
	report := benchReport{Build: thisBuild()}
	for _, makeWork := range benchWorks {
		if err := ctx.Err(); err != nil {
			return err
		}
		work, err := makeWork()
		if err != nil {
			return err
		}
		fmt.Fprintf(s.Err, "spillway: %s ...\n", work.Name)
		row, err := bench.Measure(work, o.rounds)
		if err != nil {
			return err
		}
		report.Work = append(report.Work, row)
	}
	if o.memory {
		if err := addPeak(ctx, s.Err, &report); err != nil {
			return err
		}
	}
	if o.json {
		return writeJSON(s.Out, report)
	}
	return report.write(s.Out)
}

var benchWorks = []func() (bench.Work, error){
	func() (bench.Work, error) { return bench.Reduce(1_000_000) },
	func() (bench.Work, error) { return bench.Reduce(10_000_000) },
	func() (bench.Work, error) { return bench.Project(1_000_000) },
	func() (bench.Work, error) { return bench.Project(10_000_000) },
	func() (bench.Work, error) { return bench.Canonical(1_000_000), nil },
	func() (bench.Work, error) { return bench.Brackets(false), nil },
	func() (bench.Work, error) { return bench.Brackets(true), nil },
}

func addPeak(ctx context.Context, talk io.Writer, report *benchReport) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Fprintf(talk, "spillway: memory of a %d MB document ...\n", bench.PeakSize/1_000_000)
	memory, err := bench.Peak(ctx, bench.PeakSize, self, "bench", "__peak")
	if errors.Is(err, bench.ErrNoPeak) {
		fmt.Fprintf(talk, "spillway: %v; left out\n", err)
		return nil
	}
	if err != nil {
		return err
	}
	report.Memory = &memory
	return nil
}

// newBenchPeak is the child process of the measurement of memory.
func newBenchPeak(s streams) *cobra.Command {
	return &cobra.Command{
		Use:    "__peak SIDE FILE",
		Hidden: true,
		Args:   argCount(2, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			peak, err := bench.PeakChild(args[0], args[1])
			if err == nil {
				_, err = fmt.Fprintln(s.Out, peak)
			}
			return err
		},
	}
}

func (r *benchReport) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-28s %12s %12s %7s   %11s %11s %7s\n", "", "spillway", "other way", "times", "allocations", "other way", "fewer")
	for _, row := range r.Work {
		fmt.Fprintf(&b, "%-28s %12s %12s %7s   %11s %11s %7s\n", row.Name,
			rate(row.Ours.Rate), rate(row.Theirs.Rate), times(row.Speed),
			grouped(row.Ours.Allocs), grouped(row.Theirs.Allocs), times(row.Fewer))
	}
	if m := r.Memory; m != nil {
		fmt.Fprintf(&b, "\nMost memory for a %d MB document in an envelope of %d MB:\n", bench.PeakSize/1_000_000, m.Envelope/1_000_000)
		fmt.Fprintf(&b, "  spillway %5d MB, %s times the envelope\n", m.Ours/1_000_000, times(float64(m.Ours)/float64(m.Envelope)))
		fmt.Fprintf(&b, "  other    %5d MB, %s times the envelope\n", m.Theirs/1_000_000, times(float64(m.Theirs)/float64(m.Envelope)))
	}
	b.WriteString("\nThe other way:\n")
	said := map[string]bool{}
	for _, row := range r.Work {
		if !said[row.Against] {
			said[row.Against] = true
			fmt.Fprintf(&b, "  %-28s %s\n", row.Name, row.Against)
		}
	}
	fmt.Fprintf(&b, "\nMedians of %d rounds, both sides in turn; spillway %s, %s, %s.\n", r.Work[0].Rounds, r.Build.Version, r.Build.Go, r.Build.Platform)
	_, err := io.WriteString(w, b.String())
	return err
}

func rate(megabytes float64) string { return fmt.Sprintf("%.0f MB/s", megabytes) }

func times(x float64) string {
	if x >= 100 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.1f", x)
}
