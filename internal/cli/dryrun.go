package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/client"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/tokens"
	"github.com/spillway-mcp/spillway/reduce"
)

type dryRunOptions struct {
	callOptions
	estimator string
	lines     int
	json      bool
	diff      bool
}

func newDryRun(s streams) *cobra.Command {
	var o dryRunOptions
	cmd := &cobra.Command{
		Use:   "dry-run --server SERVER --tool TOOL [FILE]",
		Short: "Show what a rule makes of a result, before and after",
		Long: `Read a CallToolResult as reduce does and show what the rules make of it: the
sizes before and after, what is cut, the note as the model reads it, and the
reduced result. Nothing is kept, so the ref in the note leads nowhere.

--diff shows what is gone, line by line. --json prints the same facts for
programs; docs/json.md promises its fields.`,
		Example: `  spillway dry-run --rules rules.yaml --server github --tool search_code result.json
  spillway dry-run --server github --tool search_code --diff result.json | less`,
		GroupID: groupRules,
		Args:    argCount(0, 1),
		RunE:    func(_ *cobra.Command, args []string) error { return runDryRun(s, o, args) },
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&o.estimator, "estimator", "cl100k_base", "count tokens by `NAME`: also bytes/4, o200k_base")
	cmd.Flags().IntVar(&o.lines, "lines", 40, "show `N` lines of the reduced result; 0 means all")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&o.diff, "diff", false, "print a unified diff of before and after, both indented")
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
	Note      string          `json:"note"`
	Ref       string          `json:"ref"`
	Faults    []string        `json:"faults"`
	Result    json.RawMessage `json:"result"`
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
	out, err := c.reduce(&o.callOptions, expandTool)
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
		Cut:  dryRunCut{out.Cut.Rows, out.Cut.Fields, out.Cut.Bytes},
		Note: out.Note, Ref: out.Ref, Faults: append([]string{}, out.Faults...), Result: out.Result,
	}
	if c.variant != nil {
		d.Rule = c.variant.Digest
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

// write prints the page for people.
func (d *dryRun) write(w io.Writer, lines int) error {
	var b strings.Builder
	name := d.Server + "/" + d.Tool
	width := max(len("structured, tokens"), len(name))
	fmt.Fprintf(&b, "%-*s %12s %12s\n", width, name, "before", "after")
	row := func(name string, before, after int) {
		fmt.Fprintf(&b, "%-*s %12s %12s   %s\n", width, name, grouped(before), grouped(after), percentLess(before, after))
	}
	if d.Before.Bytes > 0 || d.After.Bytes > 0 || d.Before.StructuredBytes == 0 {
		row("text, bytes", d.Before.Bytes, d.After.Bytes)
		row("text, tokens", d.Before.Tokens, d.After.Tokens)
	}
	if d.Before.StructuredBytes > 0 {
		row("structured, bytes", d.Before.StructuredBytes, d.After.StructuredBytes)
		row("structured, tokens", d.Before.StructuredTokens, d.After.StructuredTokens)
	}
	fmt.Fprintf(&b, "\ntokens  %s\n", d.Estimator)
	if d.Rule == "" {
		b.WriteString("rule    none applies\n")
	} else {
		fmt.Fprintf(&b, "rule    %s; spillway explain says where its keys come from\n", d.Rule)
	}
	if !d.Changed {
		fmt.Fprintf(&b, "cut     nothing; %s\n", d.passes())
	} else {
		fmt.Fprintf(&b, "cut     %s\n", d.Cut)
	}
	for _, fault := range d.Faults {
		fmt.Fprintf(&b, "fault   %s\n", fault)
	}
	if d.Note != "" {
		fmt.Fprintf(&b, "note    %s\n", wrap(d.Note, 80, "        "))
	}
	if d.Changed {
		shown, err := renderResult(d.Result)
		if err != nil {
			return err
		}
		b.WriteString("\nWhat the model reads:\n\n")
		b.WriteString(head(shown, lines))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// passes says why a result that was not changed passes, where that can be told from the result (RED-01).
func (d *dryRun) passes() string {
	if doc, err := jsontape.Parse(d.Result); err == nil {
		if doc.Root().Get("isError").Kind() == jsontape.True {
			return "errors pass whole, whatever their size"
		}
		if kind := doc.Root().Get("resultType"); kind.Exists() && !kind.Is("complete") {
			return "only complete results are cut, and this one is " + string(kind.Raw())
		}
	}
	return "the result passes as it came"
}

func (c dryRunCut) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{c.Rows, "row"}, {c.Fields, "field"}, {c.Bytes, "byte"}} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 "+p.what)
		case p.n > 1:
			parts = append(parts, grouped(p.n)+" "+p.what+"s")
		}
	}
	if len(parts) == 0 {
		return "nothing that is counted"
	}
	return strings.Join(parts, ", ")
}

// head returns the first lines of text, and says how many follow.
func head(text string, lines int) string {
	all := strings.SplitAfter(strings.TrimRight(text, "\n")+"\n", "\n")
	all = all[:len(all)-1]
	if lines <= 0 || len(all) <= lines {
		return strings.Join(all, "")
	}
	return strings.Join(all[:lines], "") + fmt.Sprintf("… %s more lines; --lines 0 shows all\n", grouped(len(all)-lines))
}

// wrap breaks text into lines of at most width characters; all but the first start with indent, which is as wide as
// what stands before the first.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	column := len(indent)
	for i, word := range strings.Fields(text) {
		if i > 0 && column+1+len(word) > width {
			b.WriteString("\n" + indent)
			column = len(indent)
		} else if i > 0 {
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
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
