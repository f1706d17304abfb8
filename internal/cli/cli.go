// Output rules, kept by every command:
//
//  1. Results go to stdout, and nothing else does. A result can be piped, saved and compared.
//  2. Talk (progress, warnings, errors) goes to stderr, each line headed "spillway: ", once.
//  3. Of run, stdout belongs to the protocol alone: not one byte of ours that is not JSON-RPC.
//  4. --json prints one JSON document and a newline. Its fields are a promise, see docs/json.md.
//  5. No banner, no colour, no spinner, no question: the same output into a terminal and into a file. Only a long read
//     of op says on a terminal, in whole lines, how far it has come.
//  6. No look for updates, no report home. Nothing is sent but what an MCP server is asked.
//  7. Errors are lower case and name what was given and what is allowed; of a file, all faults at once.
//  8. A command that did what it says and had nothing to say prints nothing.
//  9. Numbers for people are grouped (1,234,567); numbers for programs are plain.
// 10. The exit status tells programs what happened; help exit-codes lists every one.

// Package cli is the command line: one file a command, its flags parsed into an options struct, the work in a
// function apart. It holds no rule of the reducer and none of the protocol; the other packages do.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Main runs the command line of this process and returns its exit status. The first signal asks the command to end;
// the second ends the process.
func Main() int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		got := <-signals
		signal.Stop(signals)
		cancel(&signalError{got})
	}()
	return Run(ctx, os.Args[1:], streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

// streams are what a command reads and writes. Servers talk on Err too, beside the command.
type streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// Run runs one command line and returns its exit status.
func Run(ctx context.Context, args []string, s streams) int {
	s.Err = &lockedWriter{w: s.Err}
	root := newRoot(s)
	root.SetArgs(args)
	return report(s.Err, root.ExecuteContext(ctx))
}

func newRoot(s streams) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "spillway",
		Short: "Small, honest results from any MCP server",
		Long: `Spillway stands between an MCP server and the model that uses it. It applies
your rules to every tool result, says in the text what it cut, and keeps the
whole original, which the model gets back with one call.

Put "spillway run --" in front of a server's command in your client's
configuration; that is all it takes. See what it does first: spillway demo`,
		Example: `  spillway run -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  spillway run --rules rules.yaml -- github-mcp-server stdio`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if version {
				return runVersion(s.Out, versionOptions{})
			}
			return needCommand(cmd, args)
		},
	}
	root.Flags().BoolVar(&version, "version", false, "say which build this is, as spillway version does")
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(flagFault)
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddGroup(
		&cobra.Group{ID: groupUse, Title: "Use it:"},
		&cobra.Group{ID: groupRules, Title: "Write rules:"},
		&cobra.Group{ID: groupOps, Title: "Run operations:"},
		&cobra.Group{ID: groupRecords, Title: "Look back:"},
		&cobra.Group{ID: groupRest, Title: "The rest:"},
	)
	root.SetHelpCommand(newHelp(s))
	for _, add := range []func(streams) *cobra.Command{
		newRun, newServe, newToken, newDemo,
		newCheck, newFmt, newExplain, newReduce, newDryRun, newDraft,
		newOp,
		newStash, newReport, newStats, newReplay,
		newBench, newVersion, newCompletion, newMan,
		newDemoServer,
	} {
		root.AddCommand(add(s))
	}
	root.AddCommand(helpTopics()...)
	tidyHelp(root)
	return root
}

const (
	groupUse     = "use"
	groupRules   = "rules"
	groupOps     = "operations"
	groupRecords = "records"
	groupRest    = "rest"
)
