package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/access"
	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/gateway"
	"github.com/spillway-mcp/spillway/internal/httpmcp/server"
	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

type serveOptions struct {
	files   config.Flags
	listen  string
	log     string
	level   string
	verbose bool
}

// logger makes the log of serve: lines for people, or JSON lines with times for what collects logs.
func (o serveOptions) logger(s streams) (*slog.Logger, error) {
	level := slog.LevelInfo
	if o.level != "" {
		if err := level.UnmarshalText([]byte(o.level)); err != nil {
			return nil, usageError("--log-level %q: allowed are debug, info, warn and error", o.level)
		}
	}
	if o.verbose {
		level = min(level, slog.LevelDebug)
	}
	switch o.log {
	case "text":
		return newLog(s.Err, level), nil
	case "json":
		return slog.New(slog.NewJSONHandler(s.Err, &slog.HandlerOptions{Level: level, ReplaceAttr: durationsAsText})), nil
	}
	return nil, usageError("--log %q: allowed are text and json", o.log)
}

// durationsAsText gives durations their unit, which slog writes as bare
// nanoseconds.
func durationsAsText(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// endpoint is the path of the MCP endpoint.
const endpoint = "/mcp"

// ledgerGathers is how long serve gathers lines of the ledger under load: a write
// each was a tenth of a small call.
const ledgerGathers = 20 * time.Millisecond

// oldEndpoint is the path for clients of 2024-11-05.
const oldEndpoint = "/sse"

func newServe(s streams) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve [-c FILE] [--listen ADDR] [--rules FILE] [--log json]",
		Short: "Serve all servers of the configuration over HTTP",
		Long: `Stand in front of all servers of the configuration and serve them to clients as
one MCP server, over Streamable HTTP at /mcp, and for clients of 2024-11-05 over
HTTP+SSE at /sse. Children are started by their command, HTTP servers reached by
their url. docs/gateway.md tells the rest.

Clients need a bearer token: see help token. Where there is none yet, one is
made and printed with what to put into a client's configuration. auth: none must
be written out in the configuration, and works on loopback addresses only.

GET /healthz says that the process is there, /readyz that a server can be used,
/metrics has figures in the form of Prometheus. A configuration that changes is
picked up, one that breaks is reported on stderr. SIGTERM and SIGINT let calls
finish.`,
		Example: `  spillway serve -c spillway.yaml
  spillway serve -c spillway.yaml --listen 127.0.0.1:9000`,
		GroupID: groupUse,
		Args:    argCount(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServe(cmd.Context(), s, o)
		},
	}
	configFlag(cmd, &o.files)
	rulesFlag(cmd, &o.files)
	cmd.Flags().StringVar(&o.listen, "listen", "", "`ADDR` to listen on, not the configuration's; else "+config.DefaultListen)
	cmd.Flags().StringVar(&o.log, "log", "text", "`FORM` of the log on stderr: text or json")
	cmd.Flags().StringVar(&o.level, "log-level", "", "least `LEVEL` of what is logged: debug, info (the default), warn or error")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "talk more on stderr, as --log-level debug")
	return cmd
}

// shared are the parts that gateways of both commands have.
type shared struct {
	opt             gateway.Options
	store           *stash.Store
	account         *ledger.Writer
	closeOperations func()
}

func (p *shared) close() {
	p.closeOperations()
	if p.store != nil {
		p.store.Close()
	}
	p.account.Close()
}

// gatewayParts opens what a gateway needs. Without a stash or a ledger it runs all the same.
func gatewayParts(c *config.Config, s streams, watcher *rules.Watcher, log *slog.Logger) (*shared, error) {
	counter, err := tokens.ByName(c.Ledger.Estimator)
	if err != nil {
		return nil, err
	}
	servers, err := allServers(c)
	if err != nil {
		return nil, err
	}
	p := &shared{closeOperations: func() {}, opt: gateway.Options{
		Servers: servers, Rules: watcher.Current, RulesChanged: watcher.Changes(),
		Expand: c.Expand, ExpandBudget: c.ExpandBudget, ResourceLink: c.ResourceLink,
		Counter: counter, Record: openRecorder(c, log), MaxFrame: c.MaxFrame, Stderr: s.Err, Version: thisBuild().Version, Log: log,
	}}
	if p.store, err = openStash(c, log); err != nil {
		log.Warn("the stash cannot be opened, so results pass whole", "error", err)
	} else {
		p.opt.Stash = p.store
	}
	if p.account, err = ledger.Open(c.Ledger.Path, log); err != nil {
		log.Warn("the ledger cannot be opened, so nothing is booked", "error", err)
	}
	p.opt.Ledger = p.account
	face, err := openFace(c, s, log, p.store)
	if err != nil {
		p.close()
		return nil, err
	}
	p.opt.Operations, p.opt.OperationsChanged, p.closeOperations = face.Operations, face.Changed, face.Close
	return p, nil
}

// allServers returns the servers of a configuration; one whose variables are not set is an error.
func allServers(c *config.Config) ([]config.Server, error) {
	var all []config.Server
	for _, name := range c.ServerNames() {
		s, err := c.Server(name)
		if err != nil {
			return nil, fileError(err)
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, usageError("the configuration names no servers")
	}
	return all, nil
}

func runServe(ctx context.Context, s streams, o serveOptions) error {
	log, err := o.logger(s)
	if err != nil {
		return err
	}
	c, err := openConfig(o.files)
	if err != nil {
		return err
	}
	addr := c.Serve.Listen
	if o.listen != "" {
		addr = o.listen
	}
	if err := checkForward(c); err != nil {
		return err
	}
	if err := checkListen(c, addr); err != nil {
		return err
	}
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
	for _, warning := range c.Warnings { // what was an error just now is not said twice
		log.Warn(warning.Error())
	}
	defer parts.close()
	parts.opt.Shared = true
	parts.account.Gather(ledgerGathers)

	listener, err := listen(c, addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	edge := server.Options{
		Hosts: c.Serve.Hosts, Origins: c.Serve.Origins, MaxBody: c.Serve.Limits.MaxBody, MaxCalls: c.Serve.Limits.MaxCalls,
		MaxSessions: c.Serve.Limits.MaxSessions, CallTime: c.Serve.Limits.CallTime, IdleSession: c.Serve.Limits.IdleSession, Log: log,
	}
	if !c.Serve.NoAuth {
		store, err := access.Open(c.Serve.Tokens)
		if err != nil {
			return err
		}
		store.SetLog(log)
		if err := firstToken(s, c, store, listener.Addr().String()); err != nil {
			return err
		}
		edge.Auth = store
	}
	g, err := gateway.New(parts.opt)
	if err != nil {
		return err
	}
	mcp := server.New(g, edge)
	mux := http.NewServeMux()
	mux.Handle(endpoint, mcp)
	mux.Handle(oldEndpoint, mcp.HTTPSSE())
	var admit func(http.ResponseWriter, *http.Request) bool
	if !config.Loopback(addr) || c.Serve.Insecure {
		admit = mcp.Admit
	}
	g.Observe(mux, func() (int, int, int) { n := mcp.Counts(); return n.Sessions, n.Streams, n.Calls }, admit)
	reloaded := reload(watching, c, o.files, g, log)

	web := server.NewHTTPServer(mux)
	web.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug) // mostly handshakes that strangers break off
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	log.Info("serving", "url", scheme(c)+"://"+listener.Addr().String()+endpoint, "servers", len(parts.opt.Servers))
	select {
	case <-ctx.Done():
		err = nil
	case err = <-served:
	}
	// New connections are refused from here; calls in flight may end.
	listener.Close()
	drain, cancel := context.WithTimeout(context.Background(), c.Serve.Limits.StopTime)
	defer cancel()
	g.Drain(drain, c.Serve.Limits.StopTime)
	mcp.Close()
	if web.Shutdown(drain) != nil {
		web.Close()
	}
	stop()
	<-reloaded
	g.Close()
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return runEnd(ctx, nil)
}

// checkForward refuses to pass the callers' tokens on to a server (K66).
func checkForward(c *config.Config) error {
	for _, name := range c.ServerNames() {
		srv, _ := c.Server(name) // variables that it lacks are told where it starts
		if !c.Serve.NoAuth && slices.Contains(srv.ForwardHeaders, "Authorization") {
			return usageError("server %q forwards Authorization, which holds the caller's Spillway token; give the server a header of its own under headers", name)
		}
	}
	return nil
}

// checkListen refuses addresses on which others could do what only callers may.
func checkListen(c *config.Config, addr string) error {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return usageError("%q is no address with a port; write one as %s", addr, config.DefaultListen)
	}
	switch {
	case config.Loopback(addr):
		return nil
	case c.Serve.NoAuth:
		return usageError("auth: none is for loopback addresses only, and %q is none", addr)
	case c.Serve.TLSCert == "" && !c.Serve.Insecure:
		return usageError("%q is reached from other machines, and tokens would travel in the clear: give serve a tls cert and key, or say behind_tls: true where something in front has them", addr)
	}
	return nil
}

func scheme(c *config.Config) string {
	if c.Serve.TLSCert != "" {
		return "https"
	}
	return "http"
}

func listen(c *config.Config, addr string) (net.Listener, error) {
	plain, err := net.Listen("tcp", addr)
	if err != nil || c.Serve.TLSCert == "" {
		return plain, err
	}
	if _, err := tls.LoadX509KeyPair(c.Serve.TLSCert, c.Serve.TLSKey); err != nil {
		plain.Close()
		return nil, fmt.Errorf("tls: %w", err)
	}
	certs := &certificate{cert: c.Serve.TLSCert, key: c.Serve.TLSKey}
	return tls.NewListener(plain, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: certs.get,
	}), nil
}

// firstToken makes a token where there is none yet, and says once what to do with it.
func firstToken(s streams, c *config.Config, store *access.Store, addr string) error {
	known, err := store.List()
	if err != nil || len(known) > 0 {
		return err
	}
	secret, err := store.Add("default")
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "spillway: made the token \"default\"; it is shown only now. In a client's configuration:\n%s", clientSnippet(scheme(c)+"://"+addr+endpoint, secret))
	return nil
}

func clientSnippet(url, secret string) string {
	return fmt.Sprintf(`{
  "mcpServers": {
    "spillway": {
      "type": "http",
      "url": %q,
      "headers": {"Authorization": "Bearer %s"}
    }
  }
}
`, url, secret)
}

// reload follows the configuration file: its servers take effect at once, the rest at the next start.
func reload(ctx context.Context, c *config.Config, files config.Flags, g *gateway.Gateway, log *slog.Logger) <-chan struct{} {
	done := make(chan struct{})
	if c.File == "" {
		close(done)
		return done
	}
	changes, err := config.WatchFile(ctx, c.File, log)
	if err != nil {
		log.Warn("the configuration is not watched: changes take effect at the next start", "err", err)
		close(done)
		return done
	}
	go func() {
		defer close(done)
		for range changes {
			next, err := config.Open(files)
			if err == nil {
				var servers []config.Server
				if servers, err = allServers(next); err == nil {
					err = g.Reload(servers)
				}
			}
			if err != nil {
				log.Error("the changed configuration is not taken, the last good one stays", "err", err)
			}
		}
	}()
	return done
}
