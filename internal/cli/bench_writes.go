package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/bench"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

type benchWritesOptions struct {
	estimator string
	json      bool
}

func newBenchWrites(s streams) *cobra.Command {
	var o benchWritesOptions
	cmd := &cobra.Command{
		Use:   "writes",
		Short: "Count what a model reads of a confirmed write, beside the echo",
		Long: `Answer the creation of 1, 60, 200 and 2,000 devices of about 720 bytes each in
every way that docs/writes.md tells of, and count bytes and tokens. It is the
table of that page; the same on every machine.`,
		Args: argCount(0, 0),
		RunE: func(*cobra.Command, []string) error { return runBenchWrites(s, o) },
	}
	cmd.Flags().StringVar(&o.estimator, "estimator", "cl100k_base", "count tokens by `NAME`: also bytes/4, o200k_base")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	completeWith(cmd, "estimator", tokens.Names()...)
	return cmd
}

// writesReport is what bench writes --json prints; its fields are promised in docs/json.md.
type writesReport struct {
	Build      build             `json:"build"`
	Estimator  string            `json:"estimator"`
	Answers    []bench.WriteRow  `json:"answers"`
	Parameters []bench.Parameter `json:"parameters"`
}

func runBenchWrites(s streams, o benchWritesOptions) error {
	counter, err := tokens.ByName(o.estimator)
	if err != nil {
		return usageError("--estimator: %v", err)
	}
	r := writesReport{Build: thisBuild(), Estimator: counter.Name(), Parameters: bench.Parameters(counter)}
	if r.Answers, err = bench.Writes(counter); err != nil {
		return err
	}
	if o.json {
		return writeJSON(s.Out, r)
	}
	return r.write(s.Out)
}

func (r *writesReport) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-7s  %-39s %10s %8s %12s\n", "devices", "answer", "bytes", "tokens", "of the echo")
	last := 0
	for _, row := range r.Answers {
		devices := ""
		if row.Devices != last {
			last, devices = row.Devices, grouped(row.Devices)
		}
		fmt.Fprintf(&b, "%7s  %-39s %10s %8s %12s\n", devices, row.Answer, grouped(row.Bytes), grouped(row.Tokens), percentOf(row.Fraction))
	}
	b.WriteString("\nIn the list of tools, once a tool:\n")
	for _, p := range r.Parameters {
		fmt.Fprintf(&b, "%7s  %-39s %10s %8s\n", "", p.Name, grouped(p.Bytes), grouped(p.Tokens))
	}
	fmt.Fprintf(&b, "\nTokens of %s.\n", r.Estimator)
	_, err := io.WriteString(w, b.String())
	return err
}

// percentOf writes a fraction with a digit behind the point; what is not nothing is never shown as 0.
func percentOf(fraction float64) string {
	if fraction > 0 && fraction < 0.0005 {
		return "< 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", 100*fraction)
}
