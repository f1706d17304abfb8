package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/reduce"
)

// expandTool is the name under which the note names the way back.
const expandTool = "reducer_expand"

// callOptions say which result of which call is looked at; reduce and dry-run share them.
type callOptions struct {
	files   config.Flags
	server  string
	tool    string
	args    string
	write   bool
	verify  bool
	schema  bool
	payload bool
	keeps   bool // a token could be redeemed
}

func (o *callOptions) flags(cmd *cobra.Command) {
	configFlag(cmd, &o.files)
	rulesFlag(cmd, &o.files)
	f := cmd.Flags()
	f.StringVar(&o.server, "server", "", "`NAME` of the server in the rules (required)")
	f.StringVar(&o.tool, "tool", "", "`NAME` of the tool whose result it is (required)")
	f.StringVar(&o.args, "args", "", "arguments of the call, as a `JSON` object: for when, and for writes")
	f.BoolVar(&o.write, "annotated-write", false, "the tool's annotations say readOnlyHint: false")
	f.BoolVar(&o.verify, "verify", false, "the caller asked for the full result of a write")
	f.BoolVar(&o.schema, "output-schema", false, "the tool declares an output schema, so that keep always applies")
	f.BoolVar(&o.payload, "payload", false, "FILE is bare data: put it into a result as its text")
}

// call is one result with the rule that applies to it.
type call struct {
	in      *input
	variant *rules.Variant // nil: none applies
}

func (o *callOptions) read(s streams, files []string) (*call, error) {
	for flag, value := range map[string]string{"server": o.server, "tool": o.tool} {
		if value == "" {
			return nil, usageError("--%s is missing: which %s's result is it?", flag, flag)
		}
	}
	var args jsontape.Value
	if o.args != "" {
		doc, err := jsontape.Parse([]byte(o.args))
		if err != nil {
			return nil, usageError("--args is not JSON: %v", err)
		}
		if args = doc.Root(); args.Kind() != jsontape.Object {
			return nil, usageError("--args needs a JSON object, got %s", args.Kind())
		}
	}
	set, err := openRules(o.files)
	if err != nil {
		return nil, err
	}
	in, err := readInput(s.In, files, o.payload)
	if err != nil {
		return nil, err
	}
	noteUnnamed(s, set, o.server)
	c := &call{in: in}
	c.variant = set.For(o.server, o.tool).Pick(args)
	return c, nil
}

// reduce applies the rule; expand names the expand tool, or is empty where none is listed.
func (c *call) reduce(o *callOptions, expand string) (reduce.Outcome, error) {
	if c.variant == nil {
		return reduce.Outcome{Result: c.in.result}, nil
	}
	out := c.variant.Reducer.Reduce(c.in.result, reduce.Env{
		Expand: expand, Schema: o.schema, Write: o.write, Verify: o.verify, Args: []byte(o.args),
		TokenParam: c.variant.Reducer.Rule().TokenParam && o.keeps,
	})
	return out, out.Err
}

type reduceOptions struct {
	callOptions
	noStash bool
}

func newReduce(s streams) *cobra.Command {
	var o reduceOptions
	cmd := &cobra.Command{
		Use:   "reduce --server SERVER --tool TOOL [FILE]",
		Short: "Reduce one result: a CallToolResult in, one out",
		Long: `Read a CallToolResult from FILE or stdin and write the reduced one to stdout,
byte for byte what the model's host would get. A whole JSON-RPC response may be
given too; then the whole response comes back, its result replaced.

The original is kept in the stash, as it is under run, and "spillway stash
expand" or any running session of yours gets it back. With --no-stash nothing
is kept, and the note names no ref.`,
		Example: `  spillway reduce --rules rules.yaml --server github --tool search_code result.json
  curl -s https://api.example.com/list | spillway reduce --payload --server api --tool list`,
		GroupID: groupRules,
		Args:    argCount(0, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runReduce(cmd.Context(), s, o, args) },
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&o.noStash, "no-stash", false, "keep nothing, print no ref")
	return cmd
}

func runReduce(ctx context.Context, s streams, o reduceOptions, files []string) error {
	c, err := o.read(s, files)
	if err != nil {
		return err
	}
	log := newLog(s.Err, slog.LevelInfo)
	expand := expandTool
	o.keeps = !o.noStash
	if o.noStash {
		expand = ""
	}
	out, err := c.reduce(&o.callOptions, expand)
	if err != nil {
		log.Warn("the reducer failed, so the result passes as it came", "error", err)
	}
	for _, fault := range out.Faults {
		log.Warn("the rule does not fit this result", "fault", fault)
	}
	result := out.Result
	if out.Ref != "" {
		if err := keepOriginal(ctx, log, &o.callOptions, c, out); err != nil {
			log.Warn("the original could not be kept, so it passes whole", "error", err)
			result = c.in.result
		}
	}
	return writeLine(s.Out, c.in.splice(result))
}

func keepOriginal(ctx context.Context, log *slog.Logger, o *callOptions, c *call, out reduce.Outcome) error {
	cfg, err := openConfig(o.files)
	if err != nil {
		return err
	}
	store, err := openStash(cfg, log)
	if err != nil {
		return err
	}
	defer store.Close()
	rule := c.variant.Reducer.Rule()
	return store.Put(ctx, stash.Entry{
		Ref: out.Ref, Caller: localCaller(), Server: o.server, Tool: o.tool,
		Keep: rule.Keep, Rows: rule.Rows, Canonical: out.Canonical,
	}, c.in.result)
}

func writeLine(w io.Writer, b []byte) error {
	_, err := fmt.Fprintf(w, "%s\n", b)
	return err
}
