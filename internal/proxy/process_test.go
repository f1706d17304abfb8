package proxy

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/internal/upstream"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// The test binary is the servers and the proxies of these tests, by the
// variable PROXY_TEST.
func TestMain(m *testing.M) {
	switch os.Getenv("PROXY_TEST") {
	case "":
		goleak.VerifyTestMain(m)
	case "server":
		serveFixture()
	case "proxy":
		serveProxy()
	}
}

// serveFixture answers every request at once: tools/call with a result of about
// as many bytes as SIZE says, or with a text of as many as its argument size
// says, anything else with {}.
func serveFixture() {
	size, _ := strconv.Atoi(os.Getenv("SIZE"))
	result := []byte("{}")
	if size > 0 {
		result = fixture.Sized(size, fixture.Options{})
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := wire.Scan(bytes.TrimSpace(line))
		if err != nil || m.Kind != wire.Request {
			continue
		}
		body := []byte("{}")
		if wire.StringIs(m.Method.Of(line), "tools/call") {
			if words := os.Getenv("DIE"); words != "" {
				fmt.Fprintln(os.Stderr, words)
				os.Exit(3)
			}
			body = result
			if n, err := strconv.Atoi(string(wire.Path(line, m.Params, "arguments", "size").Of(line))); err == nil {
				body = fmt.Appendf(nil, `{"content":[{"type":"text","text":"%s"}]}`, bytes.Repeat([]byte("z"), n))
			}
		}
		// TypeScript servers write the id last.
		out := append([]byte(`{"result":`), body...)
		out = append(append(out, `,"jsonrpc":"2.0","id":`...), m.ID.Of(line)...)
		if _, err := os.Stdout.Write(append(out, "}\n"...)); err != nil {
			return
		}
	}
}

// serveProxy is Spillway in front of serveFixture, with the rule of RULE_KEEP.
func serveProxy() {
	child, err := upstream.Start(upstream.Command{
		Argv: []string{os.Args[0]}, Stderr: os.Stderr,
		Env: append(os.Environ(), "PROXY_TEST=server"),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	opt := Options{In: os.Stdin, Out: os.Stdout, Upstream: child, Expand: true, Caller: "local:0"}
	if path := os.Getenv("LEDGER"); path != "" {
		if opt.Ledger, err = ledger.Open(path, nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if keep := os.Getenv("RULE_KEEP"); keep != "" {
		set, err := rules.Parse("bench", fmt.Appendf(nil, "default: {keep: %q, max_rows: 25, max_bytes: 20k}", keep))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		opt.Rules = func() *rules.Set { return set }
		st, err := stash.Open(os.Getenv("STASH"), stash.Options{})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer st.Close()
		opt.Stash = st
	}
	if err := Serve(context.Background(), opt); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// peer is a process that a test talks to as a client does.
type peer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startPeer(tb testing.TB, env ...string) *peer {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			tb.Error(err)
		}
	})
	return &peer{cmd, in, bufio.NewReaderSize(out, 1<<20)}
}

func (p *peer) call(tb testing.TB, id int) []byte {
	return p.callWith(tb, id, "{}")
}

func (p *peer) callWith(tb testing.TB, id int, args string) []byte {
	fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search_code","arguments":%s}}`+"\n", id, args)
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return line
}

const searchKeep = "items[*].{repo: repository.full_name, path: path, url: html_url}"

// BenchmarkResult2MB is a result of 2 MB from a server that answers at once, to
// a client that parses what it gets, over real pipes: direct, through Spillway
// without a rule, and through it with one.
func BenchmarkResult2MB(b *testing.B) {
	for _, bb := range []struct {
		name string
		env  []string
	}{
		{"direct", []string{"PROXY_TEST=server"}},
		{"through", []string{"PROXY_TEST=proxy"}},
		{"reduced", []string{"PROXY_TEST=proxy", "RULE_KEEP=" + searchKeep, "STASH=" + b.TempDir()}},
	} {
		for _, parse := range []bool{false, true} {
			name := bb.name + "/unread"
			if parse {
				name = bb.name + "/parsed"
			}
			b.Run(name, func(b *testing.B) {
				p := startPeer(b, append(bb.env, "SIZE=2000000")...)
				p.call(b, 0)
				n := 0
				var doc jsontape.Doc
				for b.Loop() {
					n++
					line := p.call(b, n)
					if parse {
						if err := doc.Reset(bytes.TrimSpace(line), jsontape.Limits{}); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

func TestK60_LargeFrames(t *testing.T) {
	p := startPeer(t, "PROXY_TEST=proxy")
	for i, size := range []int{65_536, 1_000_000, 50_000_000} {
		line := p.callWith(t, i, fmt.Sprintf(`{"size":%d}`, size))
		if want := fmt.Sprintf(`"}]},"jsonrpc":"2.0","id":%d}`+"\n", i); bytes.Count(line, []byte("z")) != size || !bytes.HasSuffix(line, []byte(want)) {
			t.Errorf("%d bytes of text come as a message of %d bytes that ends in %q", size, len(line), line[max(0, len(line)-60):])
		}
	}
	line := p.callWith(t, 8, `{"size":70000000}`)
	if want := `{"jsonrpc":"2.0","id":8,"error":{"code":-31002,`; !bytes.HasPrefix(line, []byte(want)) {
		t.Errorf("over the limit: got %.100q, want %q", line, want)
	}
	if line := p.callWith(t, 9, `{"size":5}`); !bytes.Contains(line, []byte(`"zzzzz"`)) {
		t.Errorf("after that: got %.100q", line)
	}
	if peak, now := residentMB(t, p.cmd.Process.Pid); peak > 0 {
		t.Logf("peak %d MB, now %d MB", peak, now)
		if most := 4*70 + 64; peak > most {
			t.Errorf("peak memory %d MB for messages of up to 70 MB, want at most %d", peak, most)
		}
	}
}

func TestExitMidCallIsToldToTheCaller(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROXY_TEST=proxy", "DIE=no token for the api")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":"a","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}` + "\n")
	var talk strings.Builder
	cmd.Stderr = &talk
	got, err := cmd.Output()
	if err == nil {
		t.Error("the process ended as if nothing had happened")
	}
	for _, want := range []string{
		`{"result":{},"jsonrpc":"2.0","id":"a"}` + "\n",
		`{"jsonrpc":"2.0","id":1,"error":{"code":-31001,"message":"server `,
		` exited with status 3 while the call was in flight; its last words: no token for the api"}}` + "\n",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the client received\n%swithout %s", got, want)
		}
	}
	if !strings.Contains(talk.String(), "no token for the api\n") {
		t.Errorf("stderr has %q, without the server's own words", talk.String())
	}
}

// Bytes that are no UTF-8, and half a surrogate pair, in what a rule cuts: the
// call is answered, with valid JSON where anything was cut, and the session lives.
func TestK23_RED44_BytesThatAreNoText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tk := newTalk(t, txtar.Parse([]byte("-- rules --\ndefault: {max_bytes: 600}\n")))
		fmt.Fprintln(tk.client, `{"jsonrpc":"2.0","id":0,"method":"tools/list"}`)
		fmt.Fprintln(tk.server.out, `{"jsonrpc":"2.0","id":0,"result":{"tools":[]}}`)
		for i, odd := range []string{"\xff", `\ud800`, "\xed\xa0\x80", `\udc00x`, "\xc3"} {
			for _, big := range []string{"", strings.Repeat("text ", 400)} {
				fmt.Fprintf(tk.client, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"}}`+"\n", i+1)
				synctest.Wait()
				fmt.Fprintf(tk.server.out, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s%s"}]}}`+"\n", i+1, odd, big)
				synctest.Wait()
				got := tk.down.take()
				line := got[len(got)-1]
				if _, err := jsontape.Parse([]byte(line)); err != nil || !strings.Contains(line, fmt.Sprintf(`"id":%d,"result"`, i+1)) {
					t.Errorf("%q: %v in %.200q", odd, err, line)
				}
				if cut := len(line) < len(big); cut && !utf8.ValidString(strings.ReplaceAll(line, odd, "")) {
					t.Errorf("%q: the cut broke a character: %.300q", odd, line)
				}
			}
		}
		tk.close()
	})
}

// A client that stops reading ends the session in order: the ledger gets its
// line (RED-48), the process no SIGPIPE.
func TestRED48_ClientStopsReading(t *testing.T) {
	book := filepath.Join(t.TempDir(), "ledger.jsonl")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROXY_TEST=proxy", "LEDGER="+book)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"size":10}}}`)
	if err := cmd.Wait(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
	in.Close()
	if line, _ := os.ReadFile(book); !bytes.Contains(line, []byte(`"tool":"x"`)) {
		t.Errorf("the ledger holds %q", line)
	}
}

// residentMB returns the peak and present resident memory of a process in MB, 0
// where the system does not tell.
func residentMB(t *testing.T, pid int) (peak, now int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(status)) {
		var kb int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			peak = kb / 1024
		}
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kb); n == 1 {
			now = kb / 1024
		}
	}
	return peak, now
}
