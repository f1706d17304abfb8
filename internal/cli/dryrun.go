package cli

import (
	"encoding/json"
	"io"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/client"
	"github.com/spillway-mcp/spillway/internal/tokens"
	"github.com/spillway-mcp/spillway/reduce"
)

type dryRunOptions struct {
	callOptions
	estimator string
	lines     int
	json      bool
	diff      bool
	noExpand  bool
}

func newDryRun(s streams) *cobra.Command {
	var o dryRunOptions
	cmd := &cobra.Command{
		Use:   "dry-run --server SERVER --tool TOOL [FILE]",
		Short: "Show what a rule makes of a result, before and after",
		Long: `Read a CallToolResult as reduce does and show what the rules make of it: the
sizes before and after, what is cut, the note as the model reads it, and the
reduced result. Nothing is kept, so the ref in the note leads nowhere.

A write is confirmed as it would be in a session: give --args, and
--annotated-write where the tool says so of itself. --no-expand shows what a
caller gets whose list has no reducer_expand.

--diff shows what is gone, line by line. --json prints the same facts for
programs; docs/json.md promises its fields.`,
		Example: `  spillway dry-run --rules rules.yaml --server github --tool search_code result.json
  spillway dry-run --server github --tool search_code --diff result.json | less
  spillway dry-run --server inventory --tool create --annotated-write --args '{"vlan": 7}' new.json`,
		GroupID: groupRules,
		Args:    argCount(0, 1),
		RunE:    func(_ *cobra.Command, args []string) error { return runDryRun(s, o, args) },
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&o.estimator, "estimator", "cl100k_base", "count tokens by `NAME`: also bytes/4, o200k_base")
	cmd.Flags().IntVar(&o.lines, "lines", 40, "show `N` lines of the reduced result; 0 means all")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&o.diff, "diff", false, "print a unified diff of before and after, both indented")
	cmd.Flags().BoolVar(&o.noExpand, "no-expand", false, "the caller's list of tools has no reducer_expand")
	cmd.MarkFlagsMutuallyExclusive("json", "diff")
	completeWith(cmd, "estimator", tokens.Names()...)
	return cmd
}

// dryRun is what dry-run --json prints; its fields are promised in docs/json.md.
type dryRun struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Rule      string          `json:"rule"` // digest, "" where none applies
	Changed   bool            `json:"changed"`
	Estimator string          `json:"estimator"`
	Before    viewSizes       `json:"before"`
	After     viewSizes       `json:"after"`
	Cut       dryRunCut       `json:"cut"`
	Envelope  bool            `json:"envelope"`
	Verified  bool            `json:"verified"`
	Probe     bool            `json:"probe"`
	Note      string          `json:"note"`
	Ref       string          `json:"ref"`
	Faults    []string        `json:"faults"`
	Result    json.RawMessage `json:"result"`

	writes bool // the rule may confirm a write of this tool
}

// viewSizes are the sizes of a result: of its texts, and of its structuredContent.
type viewSizes struct {
	Bytes            int `json:"bytes"`
	Tokens           int `json:"tokens"`
	StructuredBytes  int `json:"structured_bytes"`
	StructuredTokens int `json:"structured_tokens"`
}

type dryRunCut struct {
	Rows   int `json:"rows"`
	Fields int `json:"fields"`
	Bytes  int `json:"bytes"`
}

func runDryRun(s streams, o dryRunOptions, files []string) error {
	counter, err := tokens.ByName(o.estimator)
	if err != nil {
		return usageError("--estimator: %v", err)
	}
	c, err := o.read(s, files)
	if err != nil {
		return err
	}
	expand := expandTool
	if o.noExpand {
		expand = ""
	}
	o.keeps = true
	out, err := c.reduce(&o.callOptions, expand)
	if err != nil {
		return err
	}
	if o.diff {
		return writeDiff(s.Out, c.in.name, c.in.result, out.Result)
	}
	d, err := describe(o, c, out, counter)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(s.Out, d)
	}
	return d.write(s.Out, o.lines)
}

func describe(o dryRunOptions, c *call, out reduce.Outcome, counter tokens.Counter) (*dryRun, error) {
	d := &dryRun{
		Server: o.server, Tool: o.tool, Changed: out.Changed, Estimator: counter.Name(),
		Cut:      dryRunCut{out.Cut.Rows, out.Cut.Fields, out.Cut.Bytes},
		Envelope: out.Envelope, Verified: out.Verified, Probe: out.Probe,
		Note: out.Note, Ref: out.Ref, Faults: append([]string{}, out.Faults...), Result: out.Result,
	}
	if c.variant != nil {
		d.Rule = c.variant.Digest
		d.writes = c.variant.Reducer.Writes(o.write)
	}
	var err error
	if d.Before, err = sizesOf(c.in.result, counter); err != nil {
		return nil, err
	}
	d.After, err = sizesOf(out.Result, counter)
	return d, err
}

func sizesOf(result []byte, counter tokens.Counter) (viewSizes, error) {
	v, err := client.ViewsOf(result)
	if err != nil {
		return viewSizes{}, err
	}
	return viewSizes{len(v.Text), counter.Count(v.Text), len(v.Structured), counter.Count(v.Structured)}, nil
}

func writeDiff(w io.Writer, name string, before, after []byte) error {
	a, err := renderResult(before)
	if err != nil {
		return err
	}
	b, err := renderResult(after)
	if err != nil {
		return err
	}
	_, err = w.Write(diff.Diff(name, []byte(a), name+" (reduced)", []byte(b)))
	return err
}
