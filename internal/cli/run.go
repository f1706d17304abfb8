package cli

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/gateway"
	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/proxy"
	"github.com/spillway-mcp/spillway/internal/tokens"
	"github.com/spillway-mcp/spillway/internal/upstream"
)

type runOptions struct {
	files   config.Flags
	server  string
	verbose bool
}

func newRun(s streams) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [--server NAME] [--rules FILE] [-c FILE] [-- COMMAND [ARG...]]",
		Short: "Stand in front of an MCP server's command",
		Long: `Start an MCP server and stand between it and the client on stdin and stdout.
Put "spillway run --" in front of the server's command in your client's
configuration; nothing else has to change.

Results are reduced by the rules, and the model gets back what was cut with the
tool reducer_expand. Everything else passes byte for byte. Without a rules file
each result is held to 20,000 bytes. A rules file that changes is picked up;
one that breaks is reported on stderr, and the last good rules stay.

Rules belong to a server's name: that of --server, else the one the server
gives itself. With --server alone, the command or url is that of its entry in the
configuration. With neither, all servers of the configuration are presented to
the client as one: see docs/gateway.md.

The server and all that it starts end with this process. See help exit-codes
for what this process ends with.`,
		Example: `  spillway run -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  spillway run --server github --rules rules.yaml -- github-mcp-server stdio
  spillway run -c spillway.yaml`,
		GroupID: groupUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			before, command := splitAtDash(cmd, args)
			if len(before) > 0 {
				return usageError("put -- between the flags of spillway and the command of the server: %s -- %s", cmd.CommandPath(), before[0])
			}
			return runRun(cmd.Context(), s, o, command)
		},
	}
	configFlag(cmd, &o.files)
	rulesFlag(cmd, &o.files)
	operationsFlag(cmd, &o.files)
	cmd.Flags().StringVar(&o.server, "server", "", "`NAME` of the server in the rules; without it, the one it gives itself")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "talk more on stderr")
	return cmd
}

func runRun(ctx context.Context, s streams, o runOptions, command []string) error {
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	log := newLog(s.Err, level)
	c, err := openConfig(o.files)
	if err != nil {
		return err
	}
	for _, warning := range c.Warnings {
		log.Warn(warning.Error())
	}
	if len(command) == 0 && (o.server == "" && len(c.ServerNames()) > 0 || hasURL(c, o.server)) {
		return runMany(ctx, s, c, o.server, log)
	}
	start, err := serverCommand(c, o.server, command)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	watcher, err := c.WatchRules(watching, log)
	if err != nil {
		return fileError(err)
	}
	counter, err := tokens.ByName(c.Ledger.Estimator)
	if err != nil {
		return err
	}
	child, err := startServer(start, s.Err)
	if err != nil {
		return err
	}
	// Without a stash a session runs all the same: nothing is cut that could not be got back.
	store, err := openStash(c, log)
	if err != nil {
		log.Warn("the stash cannot be opened, so results pass whole", "error", err)
	} else {
		defer store.Close()
	}
	account, err := ledger.Open(c.Ledger.Path, log)
	if err != nil {
		log.Warn("the ledger cannot be opened, so nothing is booked", "error", err)
	}
	defer account.Close()

	opt := proxy.Options{
		In: s.In, Out: s.Out, Upstream: child,
		Server: o.server, Rules: watcher.Current, RulesChanged: watcher.Changes(),
		Caller: localCaller(), Expand: c.Expand, ExpandBudget: c.ExpandBudget, ResourceLink: c.ResourceLink,
		Ledger: account, Counter: counter, Record: openRecorder(c, log), MaxFrame: c.MaxFrame, Log: log,
	}
	if store != nil { // a nil *stash.Store in the interface would not be nil
		opt.Stash = store
	}
	var fronted []string
	if o.server != "" {
		fronted = append(fronted, o.server)
	}
	face, err := openFace(c, s, log, store, fronted...)
	if err != nil {
		child.Stop()
		return err
	}
	defer face.Close()
	opt.Operations, opt.OperationsChanged = face.Operations, face.Changed
	return runEnd(ctx, proxy.Serve(ctx, opt))
}

// hasURL reports whether a server of the configuration is reached by HTTP.
func hasURL(c *config.Config, server string) bool {
	s, err := c.Server(server)
	return err == nil && s.URL != ""
}

// runMany presents all servers of the configuration, or the one named, to the client as one.
func runMany(ctx context.Context, s streams, c *config.Config, only string, log *slog.Logger) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	watcher, err := c.WatchRules(watching, log)
	if err != nil {
		return fileError(err)
	}
	parts, err := gatewayParts(c, s, watcher, log)
	if err != nil {
		return err
	}
	defer parts.close()
	if only != "" {
		parts.opt.Servers = slices.DeleteFunc(parts.opt.Servers, func(srv config.Server) bool { return srv.Name != only })
	}
	g, err := gateway.New(parts.opt)
	if err != nil {
		return err
	}
	defer g.Close()
	return runEnd(ctx, g.ServeStdio(ctx, s.In, s.Out, localCaller()))
}

// runEnd makes the exit status of run: the server's where it ended by itself, the signal's where one ended us.
func runEnd(ctx context.Context, err error) error {
	var exit *upstream.ExitError
	if errors.As(err, &exit) {
		if exit.Status() == 0 {
			return nil
		}
		return withStatus(exit.Status(), exit)
	}
	if err == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
