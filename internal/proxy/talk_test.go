package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/internal/tokens"
	"github.com/spillway-mcp/spillway/internal/upstream"
)

var update = flag.Bool("update", false, "rewrite what is received in testdata/*.txtar")

// TestTalk plays the transcripts of testdata. A line of the file "talk" is
//
//	C> message   the client sends
//	S> message   the server sends
//	S< message   the server has received, byte for byte
//	C< message   the client has received, byte for byte
//	= error      what Serve returned, behind "! the end"
//	!  word      something else happens: see (*talk).do
//	#  text      a remark
//
// Behind each line that acts stands everything that it made either side
// receive, and nothing else was. The file "log", if there, has lines that the
// log must hold, and "rules" the rules.
func TestTalk(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(t, file, ar) })
		})
	}
}

func play(t *testing.T, path string, ar *txtar.Archive) {
	tk := newTalk(t, ar)
	var got bytes.Buffer
	script := tk.file("talk")
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		verb, rest, _ := strings.Cut(line, " ")
		if verb == "S<" || verb == "C<" || verb == "=" {
			continue
		}
		fmt.Fprintln(&got, line)
		switch verb {
		case "C>":
			fmt.Fprintln(tk.client, rest)
		case "S>":
			fmt.Fprintln(tk.server.out, rest)
		case "!":
			tk.do(strings.TrimSpace(rest), &got)
		case "#", "":
			continue
		default:
			t.Fatalf("%s: no such line: %s", path, line)
		}
		synctest.Wait()
		tk.received(&got)
	}
	tk.close()
	tk.received(&got)
	if got := got.String(); got != script {
		if *update {
			for i := range ar.Files {
				if ar.Files[i].Name == "talk" {
					ar.Files[i].Data = []byte(got)
				}
			}
			if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
				t.Fatal(err)
			}
		} else {
			t.Errorf("%s differs (run with -update to accept):\n%s", path, diff(script, got))
		}
	}
	tk.checkLedger(path)
	for want := range strings.Lines(tk.file("log")) {
		if want = strings.TrimSpace(want); !strings.Contains(tk.log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, tk.log.String())
		}
	}
}

// talk is one session with both peers in the hands of the test.
type talk struct {
	t      *testing.T
	ar     *txtar.Archive
	opt    Options
	client *io.PipeWriter
	server *scripted
	down   lines
	log    buffer
	stash  *memory
	rows   *rows  // nil: other operations, or none
	ledger string // path
	cancel context.CancelFunc
	served chan error

	mu      sync.Mutex
	rules   *rules.Set
	changed chan struct{}
}

func newTalk(t *testing.T, ar *txtar.Archive) *talk {
	tk := &talk{t: t, ar: ar, server: newScripted(), served: make(chan error, 1)}
	in, client := io.Pipe()
	tk.client = client
	tk.opt = Options{
		In: in, Out: &tk.down, Upstream: tk.server,
		Log: slog.New(slog.NewTextHandler(&tk.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	tk.configure()
	ctx, cancel := context.WithCancel(t.Context())
	tk.cancel = cancel
	go func() {
		tk.served <- Serve(ctx, tk.opt)
		in.Close()
	}()
	return tk
}

// configure reads the files "rules" and "options" of the transcript.
func (tk *talk) configure() {
	tk.stash = &memory{kept: map[string]kept{}}
	tk.opt.Caller = "local:0"
	tk.opt.Stash, tk.opt.Expand = tk.stash, true
	if text := tk.file("rules"); text != "" {
		tk.changed = make(chan struct{})
		tk.setRules(text)
		tk.opt.RulesChanged = tk.changed
		tk.opt.Rules = func() *rules.Set {
			tk.mu.Lock()
			defer tk.mu.Unlock()
			return tk.rules
		}
	}
	for line := range strings.Lines(tk.file("options")) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key {
		case "server":
			tk.opt.Server = value
		case "expand":
			tk.opt.Expand = value == "on"
		case "operations":
			tk.opt.Operations = fakeOperations{}
			if value == "over s" {
				tk.opt.Operations = fileOperations(tk.t, tk.file("operations"))
			}
			if value == "of rows" {
				tk.rows = newRows(tk.t)
				tk.opt.Operations = tk.rows
				tk.opt.OperationsChanged = tk.rows.changed
			}
		case "stash": // none
			tk.opt.Stash = nil
		case "resource_link":
			tk.opt.ResourceLink = value
		case "expand_budget":
			tk.opt.ExpandBudget, _ = strconv.Atoi(value)
		case "max_frame":
			tk.opt.MaxFrame, _ = strconv.Atoi(value)
		default:
			tk.t.Fatalf("no such option: %s", line)
		}
	}
	tk.ledger = filepath.Join(tk.t.TempDir(), "ledger.jsonl")
	w, err := ledger.Open(tk.ledger, tk.opt.Log)
	if err != nil {
		tk.t.Fatal(err)
	}
	tk.t.Cleanup(func() { w.Close() })
	tk.opt.Ledger = w
	tk.opt.Counter, _ = tokens.ByName("bytes/4")
}

func (tk *talk) setRules(text string) {
	set, err := rules.Parse("rules.yaml", []byte(text))
	if err != nil {
		tk.t.Fatal(err)
	}
	tk.mu.Lock()
	tk.rules = set
	tk.mu.Unlock()
}

func (tk *talk) file(name string) string {
	for _, f := range tk.ar.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// do makes something happen that is no message.
func (tk *talk) do(what string, got io.Writer) {
	switch what {
	case "the client hangs up":
		tk.client.Close()
	case "the server dies":
		tk.server.die(3, "out of luck")
	case "the server goes mute":
		tk.server.out.Close()
		time.Sleep(4 * time.Second)
	case "we are stopped":
		tk.cancel()
	case "the end":
		if tk.client.Close(); true {
			err := <-tk.served
			tk.served <- err
			fmt.Fprintln(got, "=", err)
		}
	case "the stash is full":
		tk.stash.fail(errors.New("disk full"))
	case "a second passes":
		time.Sleep(time.Second)
	case "six seconds pass":
		time.Sleep(6 * time.Second)
	default:
		if name, ok := strings.CutPrefix(what, "rules become "); ok {
			tk.setRules(tk.file(name))
			tk.changed <- struct{}{}
			return
		}
		if tk.rows != nil && tk.rows.do(what) {
			return
		}
		tk.t.Fatalf("nothing known about %q", what)
	}
}

func (tk *talk) received(w io.Writer) {
	for _, l := range tk.server.in.take() {
		fmt.Fprintln(w, "S<", l)
	}
	for _, l := range tk.down.take() {
		fmt.Fprintln(w, "C<", l)
	}
}

func (tk *talk) close() {
	tk.client.Close()
	<-tk.served
	if tk.rows != nil {
		tk.rows.Close(context.Background())
	}
	synctest.Wait()
}

// checkLedger compares the ledger with the file "ledger", if there, without
// what differs from run to run.
func (tk *talk) checkLedger(path string) {
	data, err := os.ReadFile(tk.ledger)
	if err != nil {
		tk.t.Fatal(err)
	}
	got := regexp.MustCompile(`"ts":"[^"]*",|,"session":"[^"]*"|,"args":\{[^}]*\}`).ReplaceAllString(string(data), "")
	for i := range tk.ar.Files {
		if f := &tk.ar.Files[i]; f.Name == "ledger" && string(f.Data) != got {
			if !*update {
				tk.t.Errorf("the ledger of %s differs:\n%s", path, diff(string(f.Data), got))
				return
			}
			f.Data = []byte(got)
			if err := os.WriteFile(path, txtar.Format(tk.ar), 0o644); err != nil {
				tk.t.Fatal(err)
			}
		}
	}
}

// memory is a stash that can be told to fail.
type memory struct {
	mu   sync.Mutex
	kept map[string]kept
	err  error
}

type kept struct {
	entry stash.Entry
	bytes []byte
}

func (m *memory) Put(_ context.Context, e stash.Entry, original []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	m.kept[e.Caller+" "+e.Ref] = kept{e, bytes.Clone(original)}
	return nil
}

func (m *memory) Get(_ context.Context, caller, ref string) (stash.Entry, []byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.kept[caller+" "+ref]
	if !ok {
		return stash.Entry{}, nil, stash.ErrUnknown
	}
	return k.entry, k.bytes, nil
}

func (m *memory) Has(_ context.Context, caller, ref string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.kept[caller+" "+ref]
	return ok
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

// scripted is a server that does what the test says.
type scripted struct {
	in     lines
	stdinR *io.PipeReader
	stdin  *io.PipeWriter
	out    *io.PipeWriter
	stdout *io.PipeReader
	done   chan struct{}
	exit   *upstream.ExitError
	once   sync.Once
}

func newScripted() *scripted {
	s := &scripted{done: make(chan struct{})}
	s.stdinR, s.stdin = io.Pipe()
	s.stdout, s.out = io.Pipe()
	go func() {
		_, _ = io.Copy(&s.in, s.stdinR)
	}()
	return s
}

// tap returns the lines that the server receives from now on.
func (s *scripted) tap() io.Reader {
	r, w := io.Pipe()
	s.in.to(w)
	return r
}

func (s *scripted) Name() string              { return "scripted" }
func (s *scripted) Stdin() io.WriteCloser     { return s.stdin }
func (s *scripted) Stdout() io.ReadCloser     { return s.stdout }
func (s *scripted) Done() <-chan struct{}     { return s.done }
func (s *scripted) Exit() *upstream.ExitError { return s.exit }
func (s *scripted) Stop() {
	s.stdin.Close()
	s.die(0, "")
}

func (s *scripted) die(code int, words string) {
	s.once.Do(func() {
		s.exit = &upstream.ExitError{Name: "scripted", Code: code, LastWords: words}
		s.out.Close()
		s.stdinR.Close()
		close(s.done)
	})
}

// lines collects the lines that are written to it.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
	dst io.Writer // gets them instead, if set
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dst != nil {
		return l.dst.Write(p)
	}
	return l.buf.Write(p)
}

func (l *lines) to(w io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dst = w
}

// take returns the lines since the last call. One that has no end is marked.
func (l *lines) take() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sc := bufio.NewScanner(&l.buf)
	sc.Buffer(nil, 1<<30)
	for sc.Scan() {
		all = append(all, sc.Text())
	}
	return all
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// diff shows the lines around the first difference.
func diff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	i := 0
	for i < len(w) && i < len(g) && w[i] == g[i] {
		i++
	}
	show := func(l []string) string { return strings.Join(l[min(i, len(l)):min(i+4, len(l))], "\n\t") }
	return fmt.Sprintf("from line %d\nwant\n\t%s\ngot\n\t%s", i+1, show(w), show(g))
}
