package gateway

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/operation"
	"github.com/spillway-mcp/spillway/internal/operation/mcpface"
	"github.com/spillway-mcp/spillway/internal/proxy"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/stash"
)

var update = flag.Bool("update", false, "rewrite what is received in testdata/*.txtar")

// TestTalk plays the transcripts of testdata: one client on a pair of streams
// before several servers. The file "servers" names them, each with its settings;
// a file of a server's name is the table of its answers (see newFake). A line of
// "talk" is
//
//	C> message   the client sends
//	a> message   the server a sends; $method stands for the id of its unanswered request
//	a< method …  the server a has received, less ids and tokens
//	C< message   the client has received, byte for byte
//	!  word      something else happens: see (*talk).do
//	#  text      a remark
//
// Behind each line that acts stands everything that it made any side receive.
// The file "log", if there, has lines that the log must hold, "rules" the rules,
// and "operations" operations.
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
		if strings.HasSuffix(verb, "<") {
			continue
		}
		fmt.Fprintln(&got, line)
		switch {
		case verb == "C>":
			fmt.Fprintln(tk.client, rest)
		case verb == "!":
			tk.do(strings.Fields(rest))
		case verb == "#", verb == "":
			continue
		case strings.HasSuffix(verb, ">"):
			p := tk.fakes[strings.TrimSuffix(verb, ">")].process(-1)
			if before, after, ok := strings.Cut(rest, "$"); ok {
				method, end, _ := strings.Cut(after, " ")
				rest = before + string(p.hung(method)) + end
			}
			p.send([]byte(rest))
		default:
			t.Fatalf("%s: no such line: %s", path, line)
		}
		synctest.Wait()
		tk.received(&got)
	}
	tk.client.Close()
	if err := <-tk.served; err != nil {
		t.Error(err)
	}
	tk.g.Close()
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
			t.Errorf("%s differs (run with -update to accept); got:\n%s", path, got)
		}
	}
	for want := range strings.Lines(tk.file("log")) {
		if want = strings.TrimSpace(want); !strings.Contains(tk.log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, tk.log.String())
		}
	}
}

type talk struct {
	t       *testing.T
	ar      *txtar.Archive
	g       *Gateway
	names   []string
	fakes   map[string]*fake
	client  *io.PipeWriter
	down    lines
	log     lines
	served  chan error
	set     *rules.Set
	changed chan struct{}
}

func (tk *talk) file(name string) string {
	for _, f := range tk.ar.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func newTalk(t *testing.T, ar *txtar.Archive) *talk {
	tk := &talk{t: t, ar: ar, fakes: make(map[string]*fake), served: make(chan error, 1), changed: make(chan struct{}, 1)}
	cfg, err := config.Parse("s.yaml", []byte("servers:\n"+tk.file("servers")), func(string) (string, bool) { return "", true })
	if err != nil {
		t.Fatal(err)
	}
	tk.rules("rules")
	opt := Options{
		Rules: func() *rules.Set { return tk.set }, RulesChanged: tk.changed, Expand: true, Stash: &memory{}, Version: "1",
		ListTime: time.Second, StartTime: 2 * time.Second, Shared: strings.Contains(string(ar.Comment), "shared"),
		Log: slog.New(slog.NewTextHandler(&tk.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, name := range cfg.ServerNames() {
		s, err := cfg.Server(name)
		if err != nil {
			t.Fatal(err)
		}
		opt.Servers = append(opt.Servers, s)
		tk.names = append(tk.names, name)
		tk.fakes[name] = newFake(name, tk.file(name))
	}
	if text := tk.file("operations"); text != "" {
		opt.Operations = operations(t, text)
	}
	tk.g, err = newGateway(opt, func(s *source) (proxy.Upstream, error) { return tk.fakes[s.cfg.Name].start(s) })
	if err != nil {
		t.Fatal(err)
	}
	in, client := io.Pipe()
	tk.client = client
	go func() { tk.served <- tk.g.ServeStdio(t.Context(), in, &tk.down, "local:1") }()
	return tk
}

func (tk *talk) rules(name string) {
	text := tk.file(name)
	if text == "" {
		text = "default: {max_bytes: 20k}\n"
	}
	set, err := rules.Parse("rules.yaml", []byte(text))
	if err != nil {
		tk.t.Fatal(err)
	}
	tk.set = set
}

// operations are those of a file, over the servers of the transcript alone.
func operations(t *testing.T, text string) proxy.Operations {
	set, err := operation.Parse("operations.yaml", []byte(text), operation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := contract.NewSealer()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	c, err := contract.New(contract.Options{Sealer: key, Definitions: set.Definitions, NewKey: func() string {
		n++
		return fmt.Sprint("key-", n)
	}})
	if err != nil {
		t.Fatal(err)
	}
	face, err := mcpface.New(mcpface.Options{Client: c, Sealer: key, Name: proxy.ToolName})
	if err != nil {
		t.Fatal(err)
	}
	return face
}

// do makes something happen: "a dies", "a refuses N" starts, "wait 3s", "rules
// become FILE".
func (tk *talk) do(words []string) {
	switch {
	case len(words) == 2 && words[1] == "dies":
		tk.fakes[words[0]].process(-1).die(3)
	case len(words) == 3 && words[1] == "refuses":
		fmt.Sscan(words[2], &tk.fakes[words[0]].refuses)
	case len(words) == 2 && words[0] == "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			tk.t.Fatal(err)
		}
		time.Sleep(d)
	case len(words) == 3 && words[0] == "rules":
		tk.rules(words[2])
		tk.changed <- struct{}{}
	default:
		tk.t.Fatalf("no such event: %q", words)
	}
}

func (tk *talk) received(got *bytes.Buffer) {
	for _, name := range tk.names {
		for _, line := range tk.fakes[name].take() {
			fmt.Fprintf(got, "%s< %s\n", name, line)
		}
	}
	for _, line := range tk.down.take() {
		fmt.Fprintf(got, "C< %s\n", line)
	}
}

// lines is what was written, by lines.
type lines struct {
	mu  sync.Mutex
	b   bytes.Buffer
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Write(p)
	return l.b.Write(p)
}

func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSuffix(l.b.String(), "\n")
	l.b.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// memory is a stash.
type memory struct {
	mu  sync.Mutex
	all map[string]stash.Entry
	got map[string][]byte
}

func (s *memory) Put(_ context.Context, e stash.Entry, original []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all, s.got = make(map[string]stash.Entry), make(map[string][]byte)
	}
	s.all[e.Caller+e.Ref], s.got[e.Caller+e.Ref] = e, bytes.Clone(original)
	return nil
}

func (s *memory) Get(_ context.Context, caller, ref string) (stash.Entry, []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.all[caller+ref]
	if !ok {
		return e, nil, stash.ErrUnknown
	}
	return e, s.got[caller+ref], nil
}

func (s *memory) Has(_ context.Context, caller, ref string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.all[caller+ref]
	return ok
}
