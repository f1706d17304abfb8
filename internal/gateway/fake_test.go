package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spillway-mcp/spillway/internal/proxy"
	"github.com/spillway-mcp/spillway/internal/upstream"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// fake is a server that answers by a table. It can be started any number of
// times, each time as a process of its own.
type fake struct {
	name    string
	answers map[string]string // by what key returns
	answer  func(p *fakeProcess, id []byte, method string, msg []byte, m wire.Message) bool

	mu      sync.Mutex
	procs   []*fakeProcess
	seen    []string
	refuses int // starts that fail
}

// newFake reads the table: a line is a key and a result, or an error headed by
// "!". A key is a method, or a method and the name, uri or cursor that it is
// about. A result of "-" never comes.
func newFake(name, table string) *fake {
	f := &fake{name: name, answers: make(map[string]string)}
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		i := strings.IndexAny(line, "{!-")
		for i > 0 && line[i-1] != ' ' {
			i += 1 + strings.IndexAny(line[i+1:], "{!-")
		}
		f.answers[strings.TrimSpace(line[:i])] = line[i:]
	}
	return f
}

func (f *fake) start(*source) (proxy.Upstream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuses > 0 {
		f.refuses--
		return nil, fmt.Errorf("server %s: cannot be started", f.name)
	}
	p := &fakeProcess{f: f, done: make(chan struct{})}
	p.inR, p.inW = io.Pipe()
	p.outR, p.outW = io.Pipe()
	f.procs = append(f.procs, p)
	go p.run()
	return p, nil
}

func (f *fake) process(i int) *fakeProcess {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i < 0 {
		i += len(f.procs)
	}
	return f.procs[i]
}

func (f *fake) starts() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.procs)
}

// take returns what was received since the last call.
func (f *fake) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.seen
	f.seen = nil
	return all
}

// fakeProcess is one running fake.
type fakeProcess struct {
	f          *fake
	inR, outR  *io.PipeReader
	inW, outW  *io.PipeWriter
	done       chan struct{}
	once       sync.Once
	exit       *upstream.ExitError
	write      sync.Mutex
	hungs      [][]byte // ids of requests that are not answered
	hungMethod []string
}

func (p *fakeProcess) Name() string              { return p.f.name }
func (p *fakeProcess) Stdin() io.WriteCloser     { return p.inW }
func (p *fakeProcess) Stdout() io.ReadCloser     { return p.outR }
func (p *fakeProcess) Done() <-chan struct{}     { return p.done }
func (p *fakeProcess) Exit() *upstream.ExitError { return p.exit }
func (p *fakeProcess) Stop()                     { p.die(0) }

func (p *fakeProcess) die(code int) {
	p.once.Do(func() {
		p.exit = &upstream.ExitError{Name: p.f.name, Code: code}
		p.outW.Close()
		p.inR.Close()
		close(p.done)
	})
}

func (p *fakeProcess) send(msg []byte) {
	p.write.Lock()
	defer p.write.Unlock()
	_, _ = p.outW.Write(append(slices.Clip(msg), '\n'))
}

func (p *fakeProcess) run() {
	defer p.die(0)
	in := bufio.NewReaderSize(p.inR, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		msg := bytes.TrimRight(line, "\n")
		m, err := wire.Scan(msg)
		if err != nil {
			p.note("no message: " + string(msg))
			continue
		}
		switch m.Kind {
		case wire.Request:
			p.request(msg, m)
		case wire.Notification:
			p.note(methodOf(msg, m) + " " + normal(m.Params.Of(msg)))
		default:
			p.note("answer " + string(msg))
		}
	}
}

// normal is what was received without what differs from run to run.
func normal(params []byte) string {
	if id := wire.Member(params, whole(params), "requestId"); id.Present() {
		params = replace(params, id, []byte(`"*"`))
	}
	if token := wire.Path(params, whole(params), "_meta", "progressToken"); token.Present() {
		params = replace(params, token, []byte(`"*"`))
	}
	return string(params)
}

func (p *fakeProcess) note(text string) {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	p.f.seen = append(p.f.seen, strings.TrimSpace(text))
}

// key is what a request is answered by: with its name, uri or cursor if the
// table has that.
func (p *fakeProcess) key(msg []byte, m wire.Message) string {
	method := methodOf(msg, m)
	for _, about := range []string{"name", "uri", "cursor", "taskId"} {
		if v := text(msg, m.Params, about); v != "" {
			return method + " " + v
		}
	}
	return method
}

func (p *fakeProcess) request(msg []byte, m wire.Message) {
	id, method := bytes.Clone(m.ID.Of(msg)), methodOf(msg, m)
	if p.f.answer != nil && p.f.answer(p, id, method, msg, m) {
		return
	}
	if method != "initialize" && method != "server/discover" {
		p.note(method + " " + normal(m.Params.Of(msg)))
	}
	answer, ok := p.f.answers[p.key(msg, m)]
	if !ok {
		answer, ok = p.f.answers[method]
	}
	switch {
	case !ok && method == "initialize":
		p.send(result(id, []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"`+p.f.name+`","version":"1"}}`)))
	case !ok:
		p.send(errorf(-32601, "no %s here", method).Response(id))
	case answer == "-":
		p.f.mu.Lock()
		p.hungs, p.hungMethod = append(p.hungs, id), append(p.hungMethod, method)
		p.f.mu.Unlock()
	case answer[0] == '!':
		p.send([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":` + answer[1:] + `}`))
	default:
		p.send(result(id, []byte(answer)))
	}
}

// hung waits for a request that is not answered at any process, and returns that
// process and the request's id. Each era has processes of its own, which start
// when they are first needed.
func (f *fake) hung(method string) (*fakeProcess, []byte) {
	for range 1000 {
		f.mu.Lock()
		for _, p := range f.procs {
			if i := slices.Index(p.hungMethod, method); i >= 0 {
				f.mu.Unlock()
				return p, p.hung(method)
			}
		}
		f.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	panic("no " + method + " came to any process")
}

// hung waits for a request that is not answered, and returns its id.
func (p *fakeProcess) hung(method string) []byte {
	for range 10_000 { // a machine may be busy
		p.f.mu.Lock()
		for i, id := range p.hungs {
			if p.hungMethod[i] == method {
				p.hungs = slices.Delete(p.hungs, i, i+1)
				p.hungMethod = slices.Delete(p.hungMethod, i, i+1)
				p.f.mu.Unlock()
				return id
			}
		}
		p.f.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	panic("no " + method + " came")
}
