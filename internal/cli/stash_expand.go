package cli

import (
	"bytes"
	"context"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/client"
	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/reduce"
)

type stashExpandOptions struct {
	files  config.Flags
	rows   string
	fields []string
	query  string
	lines  string
	block  int
	offset int
	budget int
	result bool
	raw    bool
}

func newStashExpand(s streams) *cobra.Command {
	var o stashExpandOptions
	cmd := &cobra.Command{
		Use:   "expand REF",
		Short: "Print an original, or a part of it, as reducer_expand gives it",
		Long: `Print what reducer_expand would answer: the whole original, some of its rows
or fields, lines of a text, or the outcome of a query. There is no budget here
unless you set one.

--raw prints the original CallToolResult byte for byte as the server sent it;
--json prints the answer as a CallToolResult instead of its text.`,
		Example: `  spillway stash expand r_9f2c41d08a3b --rows 26-50 --fields node_id
  spillway stash expand r_9f2c41d08a3b --query 'sum(items[*].score)'
  spillway stash expand r_9f2c41d08a3b --raw > original.json`,
		Args: argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runStashExpand(cmd.Context(), s, o, args[0], cmd.Flags().Changed("block"))
		},
	}
	configFlag(cmd, &o.files)
	f := cmd.Flags()
	f.StringVar(&o.rows, "rows", "", "`ROWS` of the original: 26-50, 26-, 7, or -10 for the last ten")
	f.StringSliceVar(&o.fields, "fields", nil, "`NAMES` of the projection, or dotted paths, with commas")
	f.StringVar(&o.query, "query", "", "a JMESPath `EXPRESSION` over the original payload")
	f.StringVar(&o.lines, "lines", "", "`LINES` of a text, written as rows are")
	f.IntVar(&o.block, "block", 0, "the `N`th content block")
	f.IntVar(&o.offset, "offset", 0, "`BYTE` where the next part starts, as the part before says it")
	f.IntVar(&o.budget, "budget", jsontape.MaxBytes, "most `BYTES` of the answer")
	f.BoolVar(&o.result, "json", false, "print the answer as a CallToolResult")
	f.BoolVar(&o.raw, "raw", false, "print the original as it came")
	cmd.MarkFlagsMutuallyExclusive("json", "raw")
	return cmd
}

func runStashExpand(ctx context.Context, s streams, o stashExpandOptions, ref string, block bool) error {
	return withStash(s, o.files, func(store *stash.Store) error {
		entry, original, err := store.Get(ctx, localCaller(), ref)
		if err != nil {
			return refError(ref, err)
		}
		if o.raw {
			_, err := s.Out.Write(original) // to the byte: no newline of ours
			return err
		}
		q := reduce.ExpandRequest{Ref: ref, Rows: o.rows, Fields: o.fields, Query: o.query, Lines: o.lines, Offset: o.offset}
		if block {
			q.Block = &o.block
		}
		// The rule that cut the original: its expressions say what a row and a field are.
		r, err := reduce.Compile(reduce.Rule{Keep: entry.Keep, Rows: entry.Rows})
		if err != nil {
			return err
		}
		answer, err := r.Expand(original, q, o.budget)
		if err != nil {
			return usageError("%v", err)
		}
		if o.result {
			return writeLine(s.Out, answer)
		}
		v, err := client.ViewsOf(answer)
		if err != nil {
			return err
		}
		text := v.Text
		if len(text) == 0 {
			text = v.Structured
		}
		if len(text) == 0 { // an image, say
			return writeLine(s.Out, answer)
		}
		return writeLine(s.Out, bytes.TrimSuffix(text, []byte("\n")))
	})
}
