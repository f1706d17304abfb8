package cli

import (
	"context"
	"encoding/json"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/contract"
)

// opRefOptions are the flags of the commands that take an operation id.
type opRefOptions struct {
	opOptions
	callerOption
	operation string
	value     bool
	wait      time.Duration
}

// callerOption lets whoever can read the journal act for a caller whose
// operations a gateway runs: nobody else can settle what one of them left unknown.
type callerOption struct{ caller string }

func (o *callerOption) callerFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.caller, "caller", "", "`CALLER` to act for, such as token:ci of a gateway")
}

func (o *opRefOptions) refFlags(cmd *cobra.Command) {
	o.flags(cmd, "print the receipt as one line of JSON")
	o.callerFlag(cmd)
	cmd.Flags().StringVar(&o.operation, "operation", "", "`NAME` of the operation, where the id was used for several")
	cmd.Flags().BoolVar(&o.value, "value", false, "print the result alone")
}

func (o *opRefOptions) ref(id string) contract.Ref {
	return contract.Ref{Caller: o.caller, Operation: o.operation, Key: id}
}

// refCommand is a command that takes an operation id and prints its receipt.
// looked says that it calls nothing.
func refCommand(s streams, use, short, long string, looked bool, do func(context.Context, *operations, contract.Ref) (*contract.Receipt, error)) *cobra.Command {
	var o opRefOptions
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withOperations(cmd.Context(), s, o.opOptions, func(ctx context.Context, ops *operations) error {
				r, err := do(ctx, ops, o.ref(args[0]))
				return printAs(s, o.json, o.value, looked, r, err)
			})
		},
	}
	o.refFlags(cmd)
	return cmd
}

func newOpStatus(s streams) *cobra.Command {
	return refCommand(s, "status ID", "Print the receipt of a mutation as it stands; nothing is sent", `Print the receipt of a mutation as the journal has it; nothing is sent. One that
is pending though the process that ran it is gone turns unknown.`, true,
		func(ctx context.Context, ops *operations, ref contract.Ref) (*contract.Receipt, error) {
			return ops.client.Get(ctx, ref)
		})
}

func newOpReconcile(s streams) *cobra.Command {
	return refCommand(s, "reconcile ID", "Ask the upstream whether an unknown operation happened", `Ask the upstream, by the reads that the definition declares, whether an unknown
operation happened, and record the answer. Nothing is submitted.`, true,
		func(ctx context.Context, ops *operations, ref contract.Ref) (*contract.Receipt, error) {
			return ops.client.Reconcile(ctx, ref)
		})
}

func newOpResume(s streams) *cobra.Command {
	return refCommand(s, "resume CONTINUATION|ID", "Go on with a read, or with a partial or absent mutation", `Go on with a read from its continuation, or with a mutation that is partial or
was proven absent, with the parameters that it was called with. Of a mutation
only what is known not to have happened is submitted, and what is unknown only
where the upstream still holds our key, under which it happens once.`, false,
		func(ctx context.Context, ops *operations, ref contract.Ref) (*contract.Receipt, error) {
			if strings.HasPrefix(ref.Key, "c1_") {
				return ops.client.Resume(ctx, contract.Call{Caller: ref.Caller, Continuation: ref.Key, Progress: progressOn(s.Err)})
			}
			return ops.client.ResumeMutation(ctx, ref)
		})
}

func newOpResolve(s streams) *cobra.Command {
	var o opRefOptions
	var completed, absent bool
	var result, who, why string
	cmd := &cobra.Command{
		Use:   "resolve ID --completed|--absent --why TEXT",
		Short: "Record what a person found out about an unknown operation",
		Long: `Record what you found out about an operation whose outcome is unknown: that it
happened, or that it did not. Who and why go into the journal with it. An
operation that is resolved as absent may be submitted again under its id.`,
		Args: argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case completed == absent:
				return usageError("say one of --completed and --absent")
			case why == "":
				return usageError("say --why: it goes into the journal")
			case result != "" && !completed:
				return usageError("--result goes with --completed")
			case result != "" && !json.Valid([]byte(result)):
				return usageError("--result is no JSON")
			}
			if who == "" {
				who = userName()
			}
			res := contract.Resolution{Completed: completed, Who: who, Why: why}
			if result != "" {
				res.Result = json.RawMessage(result)
			}
			return withOperations(cmd.Context(), s, o.opOptions, func(ctx context.Context, ops *operations) error {
				r, err := ops.client.Resolve(ctx, o.ref(args[0]), res)
				return printAs(s, o.json, o.value, true, r, err)
			})
		},
	}
	o.refFlags(cmd)
	cmd.Flags().BoolVar(&completed, "completed", false, "it happened")
	cmd.Flags().BoolVar(&absent, "absent", false, "it did not happen, and will not")
	cmd.Flags().StringVar(&result, "result", "", "with --completed: its result, as `JSON`")
	cmd.Flags().StringVar(&who, "who", "", "`NAME` of who found out; you by default")
	cmd.Flags().StringVar(&why, "why", "", "how that is known, as `TEXT`")
	return cmd
}

// userName is who resolves, where nobody is named.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return localCaller()
}
