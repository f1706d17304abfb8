package cli

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/demo"
)

// serveDemo is the hidden command that is the demo's server.
const serveDemo = "__demo-server"

func newDemo(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show it at work, in two seconds and without a network",
		Long: `Start a small MCP server that answers as GitHub's REST API would, spillway run
in front of it, and a client; make two calls, and show what the model reads,
what it saves, and how what was cut comes back.

Everything is made for the demo and removed at its end: your configuration,
stash and ledger are not touched.`,
		GroupID: groupUse,
		Args:    argCount(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), s) },
	}
}

func runDemo(ctx context.Context, s streams) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return demo.Run(ctx, demo.Options{Spillway: self, Serve: serveDemo, Version: thisBuild().Version, Out: s.Out, Err: s.Err})
}

func newDemoServer(s streams) *cobra.Command {
	return &cobra.Command{
		Use:    serveDemo,
		Short:  "The server of the demo",
		Hidden: true,
		Args:   argCount(0, 0),
		RunE:   func(*cobra.Command, []string) error { return demo.Serve(s.In, s.Out) },
	}
}
