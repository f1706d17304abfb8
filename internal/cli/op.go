package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/config"
)

func newOp(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "op",
		Short: "Run operations: bounded reads and mutations that can be recovered",
		Long: `An operation is a read or a mutation that operations.yaml defines over MCP tools
and HTTP endpoints, with its scope, its bounds and its way to recover. Each
answer is a receipt: what became of the operation, what effect it had, and the
one thing to do next. docs/operations.md tells how to write one.

The operation id of a mutation is printed on stderr before anything is sent. If
the answer is lost, ask for it with that id: spillway op status ID. Nothing
here asks questions.

The exit status is the outcome: 0 completed, 2 a wrong command, parameter or
file, 3 rejected, 4 unauthorized, 5 key conflict or precondition, 6 partial,
7 unknown, 8 pending, 9 an incomplete read. 1 is a failure of the command.`,
		GroupID: groupOps,
		Args:    cobra.ArbitraryArgs,
		RunE:    needCommand,
	}
	cmd.AddCommand(newOpList(s), newOpDescribe(s), newOpCall(s), newOpPrepare(s), newOpCommit(s),
		newOpStatus(s), newOpReconcile(s), newOpResolve(s), newOpResume(s), newOpJournal(s))
	return cmd
}

// opListed is one line of op list --json; its fields are promised in docs/json.md.
type opListed struct {
	Operation string           `json:"operation"`
	Title     string           `json:"title"`
	Scope     string           `json:"scope"`
	Effects   contract.Effects `json:"effects"`
	Replay    string           `json:"replay"`
	Digest    string           `json:"digest"`
}

func newOpList(s streams) *cobra.Command {
	var o opOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the operations there are",
		Args:  argCount(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDefinitions(s, o, func(defs []*contract.Definition) error {
				if o.json {
					list := make([]opListed, 0, len(defs))
					for _, d := range defs {
						spec := d.Spec()
						list = append(list, opListed{d.ID(), spec.Title, spec.Scope, spec.Effects, d.Replay(), d.Digest()})
					}
					return writeJSON(s.Out, list)
				}
				w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "OPERATION\tEFFECTS\tREPLAY\tSCOPE")
				for _, d := range defs {
					spec := d.Spec()
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", d.ID(), spec.Effects, d.Replay(), firstLine(spec.Scope))
				}
				return w.Flush()
			})
		},
	}
	o.flags(cmd, "print one JSON array")
	return cmd
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func newOpDescribe(s streams) *cobra.Command {
	var o opOptions
	cmd := &cobra.Command{
		Use:   "describe OPERATION",
		Short: "Say all that a definition says: scope, bounds, schemas, recovery",
		Args:  argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDefinitions(s, o, func(defs []*contract.Definition) error {
				def, err := pickDefinition(defs, args[0])
				if err != nil {
					return err
				}
				if o.json {
					var whole struct {
						Digest     string          `json:"digest"`
						Definition json.RawMessage `json:"definition"`
					}
					whole.Digest, whole.Definition = def.Digest(), def.Describe()
					return writeJSON(s.Out, whole)
				}
				return writeDefinition(s.Out, def)
			})
		},
	}
	cmd.ValidArgsFunction = completeOperations(&o.files)
	o.flags(cmd, "print one JSON object")
	return cmd
}

// writeDefinition describes an operation for people.
func writeDefinition(w io.Writer, def *contract.Definition) error {
	spec := def.Spec()
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-11s%s\n", name, fmt.Sprintf(format, args...))
	}
	line("operation", "%s", def.ID())
	if spec.Title != "" {
		line("title", "%s", spec.Title)
	}
	line("scope", "%s", strings.ReplaceAll(strings.TrimSpace(spec.Scope), "\n", " "))
	line("upstream", "%s", spec.Upstream)
	line("effects", "%s, idempotent: %s", spec.Effects, spec.Idempotent)
	line("bounds", "%s", boundsText(def))
	if spec.Retry.Max > 0 {
		line("retry", "up to %s within one call, on %s", several(spec.Retry.Max, "time"), strings.Join(spec.Retry.On, ", "))
	}
	if r := spec.Read; r != nil {
		line("answers", "over a %s collection", r.Consistency)
		if r.Where != "" {
			line("where", "%s", r.Where)
		}
		for _, a := range r.Aggregates {
			line("gives", "%s: %s", a.Name, aggregateText(a))
		}
	}
	if m := spec.Mutation; m != nil {
		line("replay", "%s", def.Replay())
		line("reconcile", "%s", def.Reconciles())
		if p := m.Precondition; p != nil {
			line("demands", "%s", preconditionText(p))
		}
		for i := range m.Steps {
			line("step", "%s", stepText(&m.Steps[i]))
		}
		line("kept", "for %s, then a tombstone for a year", spanText(m.Retention))
	}
	line("params", "%s", spec.Params)
	if spec.Result != nil {
		line("result", "%s", spec.Result)
	}
	line("digest", "%s", def.Digest())
	_, err := io.WriteString(w, b.String())
	return err
}

func aggregateText(a contract.Aggregate) string {
	text := string(a.Op)
	if a.Of != "" {
		text += " of " + a.Of
	}
	if a.By != "" {
		text += " by " + a.By
	}
	if a.Where != "" {
		text += " where " + a.Where
	}
	return text
}

func preconditionText(p *contract.Precondition) string {
	if p.Enforced {
		return "the revision that was seen; the upstream refuses a stale one"
	}
	return "the revision that was seen; read before, and not held by the upstream"
}

// stepText says what a step sends along and how it is recovered.
func stepText(s *contract.Step) string {
	text := s.Name
	if s.Each != nil {
		text += ", for each item"
	}
	switch s.Key {
	case contract.KeyInHeader:
		text += ": sends its key in the header " + s.KeyName
	case contract.KeyInArgument:
		text += ": sends its key as the argument " + s.KeyName
	case contract.KeyInMeta:
		text += ": sends its key in _meta as " + s.KeyName
	}
	if s.Reconcile != nil {
		text += ", can be reconciled"
	}
	if s.Compensate != nil {
		text += ", is undone where a later one is rejected"
	}
	return text
}

func boundsText(def *contract.Definition) string {
	bounds := def.Spec().Bounds
	if !def.IsRead() {
		return spanText(bounds.Deadline)
	}
	return fmt.Sprintf("%s, %s, %s, %s bytes of result",
		several(bounds.MaxPages, "page"), several(bounds.MaxRecords, "record"), spanText(bounds.Deadline), grouped(bounds.MaxResultBytes))
}

// spanText writes a time span without the parts that are nothing.
func spanText(d time.Duration) string {
	if day := 24 * time.Hour; d >= day && d%day == 0 {
		return several(int(d/day), "day")
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// opCallOptions are the flags of op call and op prepare.
type opCallOptions struct {
	opOptions
	key          string
	revision     string
	preview      string
	continuation string
	evidence     bool
	wait         time.Duration
	value        bool
}

const paramsHelp = `PARAM is name=value, or one JSON object, or @FILE or - for a file or stdin that
holds one. A value is JSON where the operation wants no string.`

func newOpCall(s streams) *cobra.Command {
	var o opCallOptions
	cmd := &cobra.Command{
		Use:   "call OPERATION [PARAM...]",
		Short: "Run an operation and print its receipt",
		Long: `Run an operation and print its receipt.

` + paramsHelp + `

A mutation that is called again under the same --key is answered from the
journal; it is never done twice. Without --key a new id is made.`,
		Example: `  spillway op call count_stable_releases owner=cli repo=cli
  spillway op call create_customer email=a@example.com --key 0190c5a0-order-17`,
		Args: argCount(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runOpCall(cmd.Context(), s, o, args[0], args[1:])
		},
	}
	cmd.ValidArgsFunction = completeOperations(&o.files)
	o.flags(cmd, "print the receipt as one line of JSON")
	f := cmd.Flags()
	f.StringVar(&o.key, "key", "", "operation `ID` to call under; repeat it to ask for the same operation")
	f.StringVar(&o.revision, "revision", "", "`REVISION` that the target must still have")
	f.StringVar(&o.preview, "preview", "", "`TOKEN` of the preview that the call must agree with")
	f.StringVar(&o.continuation, "continuation", "", "go on with a read at `TOKEN`, its continuation; same parameters")
	f.BoolVar(&o.evidence, "evidence", false, "keep the pages of a read in the stash")
	f.DurationVar(&o.wait, "wait", 0, "wait for `TIME`, such as 30s, where the operation is pending")
	f.BoolVar(&o.value, "value", false, "print the result alone")
	return cmd
}

func runOpCall(ctx context.Context, s streams, o opCallOptions, name string, params []string) error {
	return withOperations(ctx, s, o.opOptions, func(ctx context.Context, ops *operations) error {
		def, err := pickDefinition(ops.client.Definitions(), name)
		if err != nil {
			return err
		}
		raw, err := readParams(s.In, def, params)
		if err != nil {
			return err
		}
		call := contract.Call{
			Key: o.key, Params: raw, Revision: o.revision, Preview: o.preview, Continuation: o.continuation,
			Evidence: o.evidence, Wait: o.wait, Progress: progressOn(s.Err),
			Announce: announceOn(s.Err, def),
		}
		r, err := ops.client.Do(ctx, def, call)
		return printReceipt(s, o.json, o.value, r, err)
	})
}

// announceOn prints the id of a mutation before anything is sent (A03). A read
// has nothing to be asked for by id.
func announceOn(w io.Writer, def *contract.Definition) func(string) {
	if def != nil && def.IsRead() {
		return nil
	}
	return func(id string) { fmt.Fprintln(w, "spillway: operation "+id) }
}

func newOpPrepare(s streams) *cobra.Command {
	var o opCallOptions
	cmd := &cobra.Command{
		Use:   "prepare OPERATION [PARAM...]",
		Short: "Check a mutation and keep it for op commit, without doing it",
		Long: `Check a mutation as a call would, print what it would do, and keep it under its
operation id for op commit. Nothing is claimed and nothing is sent.

` + paramsHelp,
		Args: argCount(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runOpPrepare(cmd.Context(), s, o, args[0], args[1:])
		},
	}
	cmd.ValidArgsFunction = completeOperations(&o.files)
	o.flags(cmd, "print one JSON object")
	cmd.Flags().StringVar(&o.key, "key", "", "operation `ID` to prepare under")
	cmd.Flags().StringVar(&o.revision, "revision", "", "`REVISION` that the target must still have")
	return cmd
}

func runOpPrepare(ctx context.Context, s streams, o opCallOptions, name string, params []string) error {
	return withOperations(ctx, s, o.opOptions, func(ctx context.Context, ops *operations) error {
		def, err := pickDefinition(ops.client.Definitions(), name)
		if err != nil {
			return err
		}
		raw, err := readParams(s.In, def, params)
		if err != nil {
			return err
		}
		p, err := ops.client.Prepare(ctx, def, contract.Call{Key: o.key, Params: raw, Revision: o.revision})
		var e *contract.Error
		if errors.As(err, &e) && e.Receipt() != nil { // nothing was prepared; its receipt says so as a call's does
			return printReceipt(s, o.json, false, e.Receipt(), err)
		}
		if err != nil {
			return opError(err)
		}
		if o.json {
			return writeJSON(s.Out, p)
		}
		return writePreview(s.Out, p)
	})
}

func newOpCommit(s streams) *cobra.Command {
	var o opRefOptions
	cmd := &cobra.Command{
		Use:   "commit ID",
		Short: "Do what was prepared under an operation id; again, it replays",
		Args:  argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withOperations(cmd.Context(), s, o.opOptions, func(ctx context.Context, ops *operations) error {
				r, err := ops.client.Commit(ctx, o.ref(args[0]), contract.Call{Wait: o.wait, Announce: announceOn(s.Err, nil)})
				return printReceipt(s, o.json, o.value, r, err)
			})
		},
	}
	o.refFlags(cmd)
	cmd.Flags().DurationVar(&o.wait, "wait", 0, "wait for `TIME`, such as 30s, where the operation is pending")
	return cmd
}

// completeOperations offers the names of operations as the first argument.
func completeOperations(files *config.Flags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := config.Open(*files)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		set, err := readOperations(c, nil)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for _, d := range set.Definitions {
			names = append(names, d.Name())
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
