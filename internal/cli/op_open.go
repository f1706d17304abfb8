package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/client"
	"github.com/spillway-mcp/spillway/internal/config"
	httpclient "github.com/spillway-mcp/spillway/internal/httpmcp/client"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/operation"
	"github.com/spillway-mcp/spillway/internal/operation/mcpface"
	"github.com/spillway-mcp/spillway/internal/operation/servers"
	"github.com/spillway-mcp/spillway/internal/proxy"
	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/internal/upstream"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
	"github.com/spillway-mcp/spillway/reduce"
)

// opOptions are the flags of every op command.
type opOptions struct {
	files config.Flags
	json  bool
}

func (o *opOptions) flags(cmd *cobra.Command, json string) {
	configFlag(cmd, &o.files)
	operationsFlag(cmd, &o.files)
	cmd.Flags().BoolVar(&o.json, "json", false, json)
}

func operationsFlag(cmd *cobra.Command, to *config.Flags) {
	cmd.Flags().StringVar(&to.Operations, "operations", "", "operations `FILE`, in place of the configuration's")
}

// operations are what runs the operations of a configuration.
type operations struct {
	client *contract.Client
	sealer *contract.Sealer
	set    *operation.Set
	pool   *servers.Pool
	store  contract.Store
	opt    contract.Options // of client
}

// Close ends the servers and closes the journal.
func (o *operations) Close() {
	o.pool.Close()
	o.store.Close()
}

// readOperations reads the operations of a configuration. Faults of a file are
// a wrong use of op, which has the exit statuses of outcomes.
func readOperations(c *config.Config, caller operation.Caller, fronted ...string) (*operation.Set, error) {
	if c.Operations == "" {
		return nil, usageError("no operations: name a file with --operations, or under operations in the configuration")
	}
	return operation.Load(c.Operations, operation.Options{Servers: caller, ServerNames: serverNames(c, fronted...)})
}

// serverNames are the servers that operations may call: those of the
// configuration, and those that are fronted already, whose operations go over
// the connection of the client. Nil where no configuration says which there are.
func serverNames(c *config.Config, fronted ...string) []string {
	if c.File == "" {
		return nil
	}
	return append(c.ServerNames(), fronted...)
}

// withDefinitions reads the definitions alone; nothing is opened or started.
func withDefinitions(s streams, o opOptions, do func([]*contract.Definition) error) error {
	c, err := config.Open(o.files)
	if err != nil {
		return opFileError(err)
	}
	set, err := readOperations(c, nil)
	if err != nil {
		return opFileError(err)
	}
	return do(set.Definitions)
}

// opFileError gives the faults of a file the status of a wrong use.
func opFileError(err error) error {
	var faults yamlpos.Errors
	if errors.As(err, &faults) {
		return withStatus(exitUsage, err)
	}
	return err
}

// withJournal opens the journal for the time of do; the operations, too, if the
// configuration has any. Records can be looked at without their definitions.
func withJournal(ctx context.Context, s streams, o opOptions, do func(context.Context, *operations) error) error {
	c, err := config.Open(o.files)
	if err != nil {
		return opFileError(err)
	}
	if c.Operations != "" {
		return withOperations(ctx, s, o, do)
	}
	ops := &operations{pool: servers.New(serverStarter(c, s)), set: &operation.Set{}}
	if err := ops.open(c, newLog(s.Err, slog.LevelWarn), nil); err != nil {
		return opFileError(err)
	}
	defer ops.Close()
	return do(ctx, ops)
}

// withOperations opens the operations of the configuration for the time of do.
func withOperations(ctx context.Context, s streams, o opOptions, do func(context.Context, *operations) error) error {
	c, err := config.Open(o.files)
	if err != nil {
		return opFileError(err)
	}
	log := newLog(s.Err, slog.LevelWarn)
	originals := &lateStash{open: func() (*stash.Store, error) { return openStash(c, log) }}
	defer originals.Close()
	ops, err := openOperations(c, s, log, originals)
	if err != nil {
		return opFileError(err)
	}
	defer ops.Close()
	return do(ctx, ops)
}

// openOperations opens what the operations of a configuration need; pages are
// kept in originals, which may be nil. A journal that cannot be opened refuses
// every mutation (C-10); reads go on.
func openOperations(c *config.Config, s streams, log *slog.Logger, originals keeper, fronted ...string) (*operations, error) {
	ops := &operations{pool: servers.New(serverStarter(c, s))}
	set, err := readOperations(c, ops.pool, fronted...)
	if err != nil {
		return nil, err
	}
	ops.set = set
	if err := ops.open(c, log, originals); err != nil {
		return nil, err
	}
	return ops, nil
}

// open opens the journal and what runs the operations on it.
func (ops *operations) open(c *config.Config, log *slog.Logger, originals keeper) (err error) {
	if ops.store, ops.sealer, err = openJournal(c.Journal); err != nil {
		log.Warn("the journal cannot be opened, so no mutation is submitted", "error", err)
		ops.store = noJournal{err}
		if ops.sealer, err = contract.NewSealer(); err != nil {
			return err
		}
	}
	ops.opt = contract.Options{
		Store: ops.store, Sealer: ops.sealer, Caller: localCaller(), Log: log, Definitions: ops.set.Definitions,
	}
	if originals != nil {
		ops.opt.Evidence = evidenceIn(originals)
	}
	if hook != nil {
		if err := hook(&ops.opt); err != nil {
			return err
		}
		ops.store = ops.opt.Store
	}
	if ops.client, err = contract.New(ops.opt); err != nil { // a definition twice
		ops.Close()
		return err
	}
	return nil
}

// openedFace is the operations of a configuration as tools.
type openedFace struct {
	Operations proxy.Operations // nil where it has none
	Changed    <-chan struct{}
	Close      func()
}

// openFace opens the operations of a configuration as tools, and follows their
// file.
func openFace(c *config.Config, s streams, log *slog.Logger, store *stash.Store, fronted ...string) (openedFace, error) {
	if c.Operations == "" {
		return openedFace{Close: func() {}}, nil
	}
	var originals keeper
	if store != nil { // a nil *stash.Store in the interface would not be nil
		originals = store
	}
	ops, err := openOperations(c, s, log, originals, fronted...)
	if err != nil {
		return openedFace{}, fileError(err)
	}
	face, err := mcpface.New(mcpface.Options{Client: ops.client, Sealer: ops.sealer, Store: ops.store, Name: proxy.ToolName})
	if err != nil {
		ops.Close()
		return openedFace{}, err
	}
	following, stop := context.WithCancel(context.Background())
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		ops.sweep(following, sweepEvery, log)
	}()
	read := func() (*operation.Set, error) { return rereadOperations(c, ops.pool, fronted...) }
	return openedFace{face, ops.follow(following, face, read, c.Operations, log), func() {
		stop()
		<-swept
		ctx, cancel := context.WithTimeout(context.Background(), taskEnd)
		defer cancel()
		face.Close(ctx)
		ops.Close()
	}}, nil
}

// taskEnd is how long operations that run as tasks may go on once nobody is
// served any more.
const taskEnd = 10 * time.Second

// keeper keeps originals: a stash.
type keeper interface {
	Put(context.Context, stash.Entry, []byte) error
}

// lateStash opens a stash when something is put in.
type lateStash struct {
	open  func() (*stash.Store, error)
	mu    sync.Mutex
	store *stash.Store
}

func (l *lateStash) Put(ctx context.Context, e stash.Entry, original []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.store == nil {
		store, err := l.open()
		if err != nil {
			return err
		}
		l.store = store
	}
	return l.store.Put(ctx, e, original)
}

func (l *lateStash) Close() {
	if l.store != nil {
		l.store.Close()
	}
}

// evidenceIn keeps pages under refs that reducer_expand and stash expand read (C-08).
func evidenceIn(store keeper) func(context.Context, string, string, []byte) (string, error) {
	return func(ctx context.Context, caller, name string, page []byte) (string, error) {
		result := textResult(page)
		ref, canonical, err := reduce.Ref(result)
		if err != nil {
			return "", err
		}
		return ref, store.Put(ctx, stash.Entry{Ref: ref, Canonical: canonical, Caller: caller, Server: "operation", Tool: name}, result)
	}
}

// serverStarter starts the servers of a configuration for operations.
func serverStarter(c *config.Config, s streams) servers.Start {
	return func(ctx context.Context, server string) (servers.Conn, error) {
		if srv, err := c.Server(server); err == nil && srv.URL != "" {
			return servers.DialHTTP(ctx, httpclient.Options{Name: server, URL: srv.URL, Header: srv.Headers, MaxFrame: c.MaxFrame}, "spillway", thisBuild().Version)
		}
		cmd, err := serverCommand(c, server, nil)
		if err != nil {
			return nil, err
		}
		child, err := startServer(cmd, s.Err)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, liveTimeout, fmt.Errorf("after %s", liveTimeout))
		defer cancel()
		conn := client.New(child.Stdin(), child.Stdout())
		if _, err := conn.Initialize(ctx, "spillway", thisBuild().Version); err != nil {
			err = serverError(child, err)
			child.Stop()
			return nil, err
		}
		return &childConn{conn, child}, nil
	}
}

// childConn is a connection that owns its server.
type childConn struct {
	*client.Client
	child *upstream.Child
}

func (c *childConn) Close() { c.child.Stop() }

// pickDefinition finds an operation by name, name@major or name@major.minor.
func pickDefinition(defs []*contract.Definition, name string) (*contract.Definition, error) {
	var found *contract.Definition
	var names []string
	for _, d := range defs {
		names = append(names, d.Name())
		if name == d.ID() || name == d.Name() || name == fmt.Sprintf("%s@%d", d.Name(), d.Major()) {
			if found == nil || d.Major() > found.Major() {
				found = d
			}
		}
	}
	if found != nil {
		return found, nil
	}
	base, _, _ := strings.Cut(name, "@")
	hint := yamlpos.DidYouMean(base, names)
	switch {
	case hint != "":
	case len(names) == 0:
		hint = "the file defines none"
	default:
		hint = "there are " + strings.Join(names, ", ")
	}
	return nil, usageError("no operation %q; %s", name, hint)
}

var assignment = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.-]*)=(?s:(.*))$`)

// readParams makes the parameters of the arguments of op call. All arguments
// that are none are told at once.
func readParams(stdin io.Reader, def *contract.Definition, args []string) (json.RawMessage, error) {
	if len(args) == 1 && !assignment.MatchString(args[0]) && isDocument(args[0]) {
		return oneDocument(stdin, args[0])
	}
	doc, err := jsontape.Parse(def.Spec().Params)
	if err != nil {
		return nil, err
	}
	b := []byte{'{'}
	var wrong []string
	for i, arg := range args {
		m := assignment.FindStringSubmatch(arg)
		if m == nil {
			wrong = append(wrong, strconv.Quote(arg))
			continue
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsontape.AppendQuote(b, m[1]), ':')
		if json.Valid([]byte(m[2])) && !wantsString(doc.Root().Lookup("properties", m[1], "type")) {
			b = append(b, m[2]...)
		} else {
			b = jsontape.AppendQuote(b, m[2])
		}
	}
	if wrong != nil {
		return nil, usageError("no parameter: %s; write name=value, or one JSON object alone", strings.Join(wrong, ", "))
	}
	return append(b, '}'), nil
}

// isDocument reports whether an argument stands for all parameters.
func isDocument(arg string) bool {
	return arg == "-" || strings.HasPrefix(arg, "@") || strings.ContainsAny(arg, "{}[]")
}

// wantsString reports whether a schema's type allows a string.
func wantsString(types jsontape.Value) bool {
	if types.Is("string") {
		return true
	}
	for it := types.Iter(); it.Next(); {
		if it.Value().Is("string") {
			return true
		}
	}
	return false
}

func oneDocument(stdin io.Reader, arg string) (json.RawMessage, error) {
	var raw []byte
	var err error
	switch {
	case arg == "-":
		raw, err = io.ReadAll(io.LimitReader(stdin, maxInput))
	case strings.HasPrefix(arg, "@"):
		raw, err = os.ReadFile(arg[1:])
	default:
		raw = []byte(arg)
	}
	if err != nil {
		return nil, err
	}
	if raw = bytes.TrimSpace(raw); !json.Valid(raw) {
		return nil, usageError("the parameters are no JSON; write name=value, or one JSON object")
	}
	return raw, nil
}
