package proxy

import (
	"bufio"
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

	"github.com/rogpeppe/go-internal/txtar"

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
	cancel context.CancelFunc
	served chan error
}

func newTalk(t *testing.T, ar *txtar.Archive) *talk {
	tk := &talk{t: t, ar: ar, server: newScripted(), served: make(chan error, 1)}
	in, client := io.Pipe()
	tk.client = client
	tk.opt = Options{
		In: in, Out: &tk.down, Upstream: tk.server,
		Log: slog.New(slog.NewTextHandler(&tk.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	ctx, cancel := context.WithCancel(t.Context())
	tk.cancel = cancel
	go func() {
		tk.served <- Serve(ctx, tk.opt)
		in.Close()
	}()
	return tk
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
	case "we are stopped":
		tk.cancel()
	case "the end":
		if tk.client.Close(); true {
			err := <-tk.served
			tk.served <- err
			fmt.Fprintln(got, "=", err)
		}
	default:
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
	synctest.Wait()
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
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
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
