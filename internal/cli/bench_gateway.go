package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/access"
	"github.com/spillway-mcp/spillway/internal/bench/hop"
)

type benchGatewayOptions struct {
	rounds   int
	callers  int
	upstream string
	peers    []string
	json     bool
}

// loadStretch is how long the callers of bench gateway call for in one round.
const loadStretch = 2 * time.Second

func newBenchGateway(s streams) *cobra.Command {
	var o benchGatewayOptions
	cmd := &cobra.Command{
		Use:   "gateway [--peer NAME=URL[,PID]]...",
		Short: "Call a server directly, through a plain proxy and through serve",
		Long: `Start a server that answers at once, a plain reverse proxy and spillway serve in
front of it, each a process of its own on loopback, and call its tools in each
way in turn: 1.5 kB that passes, and 211 kB and 2.05 MB that a rule reduces. Then
many callers at once. Figures are multiples of the direct call of the same round,
for a client that only reads an answer's bytes and for one that decodes them.

serve is as it is by default: with tokens, a stash and a ledger, in a folder that
is removed afterwards.

Other gateways are measured beside with --peer, with the address of their
endpoint and the number of their process, where its processor time is wanted.
They have to stand in front of the same server, which bench upstream starts:

  spillway bench upstream --listen 127.0.0.1:9100
  spillway bench gateway --upstream http://127.0.0.1:9100/mcp \
    --peer other=http://127.0.0.1:9200/mcp,4711`,
		Example: `  spillway bench gateway
  spillway bench gateway --rounds 20 --callers 0`,
		Args: argCount(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runBenchGateway(cmd.Context(), s, o) },
	}
	cmd.Flags().IntVar(&o.rounds, "rounds", 9, "`N` rounds of each way that count")
	cmd.Flags().IntVar(&o.callers, "callers", 64, "`N` callers at once; 0 leaves that part out")
	cmd.Flags().StringVar(&o.upstream, "upstream", "", "`URL` of a bench upstream that runs already")
	cmd.Flags().StringArrayVar(&o.peers, "peer", nil, "also measure what stands at `NAME=URL[,PID]`; may be repeated")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// gatewayReport is what bench gateway --json prints; its fields are promised in docs/json.md.
type gatewayReport struct {
	Build build `json:"build"`
	*hop.Report
}

func runBenchGateway(ctx context.Context, s streams, o benchGatewayOptions) error {
	switch {
	case o.rounds < 1:
		return usageError("--rounds is %d: at least 1 is allowed", o.rounds)
	case o.callers < 0:
		return usageError("--callers is %d: at least 0 is allowed", o.callers)
	case o.upstream != "" && !webAddress(o.upstream):
		return usageError("--upstream %q: want the URL of a bench upstream, such as http://127.0.0.1:9100/mcp", o.upstream)
	}
	peers, err := peersOf(o.peers)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "spillway-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var kids kids
	defer kids.end()
	ways, err := benchWays(ctx, dir, o.upstream, &kids)
	if err != nil {
		return err
	}
	talk := func(what string) { fmt.Fprintf(s.Err, "spillway: %s\n", what) }
	measured, err := hop.Measure(ctx, append(ways, peers...), hop.Plan{Rounds: o.rounds, Callers: o.callers, Stretch: loadStretch}, talk)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	report := gatewayReport{thisBuild(), measured}
	if o.json {
		return writeJSON(s.Out, report)
	}
	return report.write(s.Out)
}

// peersOf reads the flags --peer.
func peersOf(flags []string) ([]hop.Way, error) {
	var all []hop.Way
	for _, flag := range flags {
		name, at, found := strings.Cut(flag, "=")
		at, number, counted := strings.Cut(at, ",")
		pid, err := 0, error(nil)
		if counted {
			pid, err = strconv.Atoi(number)
		}
		if !found || name == "" || err != nil || !webAddress(at) {
			return nil, usageError("--peer %q: want NAME=URL or NAME=URL,PID", flag)
		}
		all = append(all, hop.Way{Name: name, URL: at, PID: pid})
	}
	return all, nil
}

func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// benchWays starts the server, where it is not there, and what of ours stands before it.
func benchWays(ctx context.Context, dir, upstream string, kids *kids) ([]hop.Way, error) {
	direct := hop.Way{Name: "direct", URL: upstream}
	if upstream == "" {
		var err error
		if direct.URL, direct.PID, err = kids.hop(ctx, "upstream"); err != nil {
			return nil, err
		}
	}
	reverse := hop.Way{Name: "reverse proxy"}
	var err error
	if reverse.URL, reverse.PID, err = kids.hop(ctx, "reverse", direct.URL); err != nil {
		return nil, err
	}
	gate := hop.Way{Name: "spillway serve"}
	if gate.Token, err = benchConfig(dir, direct.URL); err != nil {
		return nil, err
	}
	if gate.URL, gate.PID, err = kids.serve(ctx, dir); err != nil {
		return nil, err
	}
	return []hop.Way{direct, reverse, gate}, nil
}

// benchConfig writes the configuration of serve, and returns a token for it.
func benchConfig(dir, upstream string) (token string, err error) {
	tokens := filepath.Join(dir, "tokens")
	store, err := access.Open(tokens)
	if err != nil {
		return "", err
	}
	if token, err = store.Add("bench"); err != nil {
		return "", err
	}
	config := map[string]any{
		"servers": map[string]any{"upstream": map[string]any{"url": upstream}},
		"rules":   filepath.Join(dir, "rules.yaml"),
		"stash":   map[string]any{"path": filepath.Join(dir, "stash")},
		"ledger":  map[string]any{"path": filepath.Join(dir, "ledger.jsonl")},
		"serve":   map[string]any{"tokens": tokens},
	}
	text, err := json.Marshal(config)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(hop.Rules), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "spillway.yaml"), text, 0o600)
	}
	return token, err
}

// kids are processes that end with the command.
type kids struct{ all []*kid }

type kid struct {
	cmd   *exec.Cmd
	stdin io.Closer // what is ours ends when it is closed
}

func (k *kids) end() {
	for _, kid := range k.all {
		_ = kid.stdin.Close()
		_ = kid.cmd.Process.Signal(os.Interrupt)
		t := time.AfterFunc(2*time.Second, func() { _ = kid.cmd.Process.Kill() })
		_ = kid.cmd.Wait()
		t.Stop()
	}
}

// start starts this program again and returns the stream that it says its address on.
func (k *kids) start(ctx context.Context, stdout bool, args ...string) (says io.Reader, pid int, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, 0, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, 0, err
	}
	pipe := cmd.StderrPipe
	if stdout {
		pipe = cmd.StdoutPipe
	}
	if says, err = pipe(); err != nil {
		return nil, 0, err
	}
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	k.all = append(k.all, &kid{cmd, stdin})
	return says, cmd.Process.Pid, nil
}

func (k *kids) hop(ctx context.Context, args ...string) (at string, pid int, err error) {
	says, pid, err := k.start(ctx, true, append([]string{"bench", "__hop"}, args...)...)
	if err != nil {
		return "", 0, err
	}
	line, err := bufio.NewReader(says).ReadString('\n')
	if err != nil {
		return "", 0, fmt.Errorf("bench %s did not start", args[0])
	}
	return strings.TrimSpace(line), pid, nil
}

// serve starts spillway serve, whose log has its address.
func (k *kids) serve(ctx context.Context, dir string) (at string, pid int, err error) {
	says, pid, err := k.start(ctx, false, "serve", "-c", filepath.Join(dir, "spillway.yaml"), "--listen", "127.0.0.1:0", "--log", "json")
	if err != nil {
		return "", 0, err
	}
	lines := bufio.NewScanner(says)
	last := ""
	for lines.Scan() {
		var line struct{ Msg, URL string }
		last = lines.Text()
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			go func() { _, _ = io.Copy(io.Discard, says) }()
			return line.URL, pid, nil
		}
	}
	return "", 0, fmt.Errorf("serve did not start: %s", last)
}

// newBenchUpstream is the server at the far end by itself.
func newBenchUpstream(s streams) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "upstream [--listen ADDR]",
		Short: "Serve the tools that bench gateway calls",
		Long: `Serve the tools that bench gateway calls, until a signal ends it, so that other
gateways can be started in front of it.`,
		Args: argCount(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveHop(cmd.Context(), s.Out, listen, hop.Upstream())
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:9100", "`ADDR` to listen on")
	return cmd
}

// newBenchHop are the processes of bench gateway beside serve. They end with their stdin.
func newBenchHop(s streams) *cobra.Command {
	return &cobra.Command{
		Use:    "__hop upstream|reverse [TARGET]",
		Hidden: true,
		Args:   argCount(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithCancel(cmd.Context())
			go func() {
				_, _ = io.Copy(io.Discard, s.In)
				cancel()
			}()
			h := hop.Upstream()
			if args[0] == "reverse" {
				target, err := url.Parse(args[len(args)-1])
				if err != nil {
					return err
				}
				h = hop.Reverse(target)
			}
			return serveHop(ctx, s.Out, "127.0.0.1:0", h)
		},
	}
}

func serveHop(ctx context.Context, out io.Writer, addr string, h http.Handler) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "http://%s%s\n", l.Addr(), endpoint)
	mux := http.NewServeMux()
	mux.Handle(endpoint, h)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (r *gatewayReport) write(w io.Writer) error {
	var b strings.Builder
	kinds := map[string]string{hop.Small: "1.5 kB, passed", hop.Medium: "211 kB, reduced", hop.Large: "2.05 MB, reduced"}
	fmt.Fprintf(&b, "%-18s %-16s %12s %8s %8s %12s %10s %10s\n", "answer", "way", "bytes", "read", "decoded", "read, µs", "CPU, µs", "failed")
	last := ""
	for _, row := range r.Rows {
		kind := ""
		if row.Tool != last {
			last, kind = row.Tool, kinds[row.Tool]
		}
		if row.Read == 0 {
			fmt.Fprintf(&b, "%-18s %-16s %12s\n", kind, row.Way, "no answer")
			continue
		}
		fmt.Fprintf(&b, "%-18s %-16s %12s %8.2f %8.2f %12s %10s %10s\n", kind, row.Way, grouped(row.Bytes), row.Read, row.Used,
			grouped(int(row.Micro)), microseconds(row.CPU), grouped(row.Failed))
	}
	if len(r.Loads) > 0 {
		fmt.Fprintf(&b, "\n%-35s %12s %8s %12s %10s\n", fmt.Sprintf("%d callers at once", r.Callers), "calls/s", "share", "CPU, µs", "failed")
		for _, l := range r.Loads {
			fmt.Fprintf(&b, "%-35s %12s %8.2f %12s %10s\n", l.Way, grouped(int(l.Rate)), l.Of, microseconds(l.CPU), grouped(l.Failed))
		}
	}
	fmt.Fprintf(&b, "\nRead and decoded are multiples of the direct call, medians of %d rounds, all ways in turn;\nCPU is that of the process between, for a call. spillway %s, %s, %s.\n",
		r.Rounds, r.Build.Version, r.Build.Go, r.Build.Platform)
	_, err := io.WriteString(w, b.String())
	return err
}

// microseconds writes a processor time that may not be known.
func microseconds(v float64) string {
	if v == 0 {
		return ""
	}
	return grouped(int(v))
}
