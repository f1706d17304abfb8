package gateway

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// load is the size of the load test. With SPILLWAY_TEST_LONG=1 it is 200 callers
// for 10 minutes, an upstream killed every 20 seconds.
func load() (callers int, long, kill time.Duration) {
	if os.Getenv("SPILLWAY_TEST_LONG") != "" {
		return 200, 10 * time.Minute, 20 * time.Second
	}
	return 40, 2 * time.Second, 300 * time.Millisecond
}

// Callers at full speed before five upstreams, of which one is killed every now
// and then: no answer is wrong or another's, and nothing grows.
func TestLoad(t *testing.T) {
	callers, long, kill := load()
	fakes := map[string]*fake{}
	var servers []config.Server
	for i := range 5 {
		name := fmt.Sprintf("s%d", i)
		f := newFake(name, "")
		f.answer = echo
		fakes[name] = f
		servers = append(servers, child(name))
	}
	s := newSite(t, "default: {max_bytes: 20k}", fakes, servers...)
	s.web.Client().Transport.(*http.Transport).MaxConnsPerHost = callers
	all := make([]*caller, callers)
	for i := range all {
		all[i] = s.caller(fmt.Sprintf("c%d", i))
		all[i].must(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	}
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	var calls, gone atomic.Int64
	var wait sync.WaitGroup
	for i, c := range all {
		wait.Go(func() {
			for n := 2; ctx.Err() == nil; n++ {
				server := (i + n) % 5
				secret := fmt.Sprintf("%s of call %d", c.name, n)
				got, err := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"s%d_echo","arguments":{"say":%q}}}`, n, server, secret))
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
					return
				}
				switch want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"s%d: %s"}]}}`, n, server, secret); {
				case got == want:
					calls.Add(1)
				case strings.HasPrefix(got, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-3100`, n)):
					gone.Add(1)
				default:
					t.Errorf("%s: got %s\nwant %s", c.name, got, want)
					return
				}
			}
		})
	}
	warm, between := measure()
	tick := time.NewTicker(kill)
	defer tick.Stop()
	kills := 0
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			kills++
			fakes[fmt.Sprintf("s%d", kills%5)].process(-1).die(9)
		}
	}
	wait.Wait()
	after, goroutines := measure()
	t.Logf("%d callers, %v: %d calls, %d ended by %d kills; heap %d kB then %d kB, goroutines %d then %d",
		callers, long, calls.Load(), gone.Load(), kills, warm>>10, after>>10, between, goroutines)
	if calls.Load() == 0 || gone.Load() > calls.Load() {
		t.Errorf("%d calls were answered, %d not", calls.Load(), gone.Load())
	}
	if after > warm+16<<20 || goroutines > between+50 {
		t.Errorf("heap %d kB became %d kB, goroutines %d became %d", warm>>10, after>>10, between, goroutines)
	}
}

func echo(p *fakeProcess, id []byte, method string, msg []byte, m wire.Message) bool {
	switch method {
	case "tools/list":
		p.send(result(id, []byte(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)))
	case "tools/call":
		p.send(result(id, []byte(`{"content":[{"type":"text","text":"`+p.f.name+`: `+text(msg, m.Params, "arguments", "say")+`"}]}`)))
	default:
		return false
	}
	return true
}

// measure returns the bytes that are in use, and the goroutines.
func measure() (uint64, int) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}

// K63: sessions that come and go leave nothing behind. What an idle one takes is
// logged.
func TestK63_SessionsOpenedAndClosed(t *testing.T) {
	const sessions = 5000
	f := newFake("a", "")
	f.answer = echo
	s := newSite(t, "default: {max_bytes: 20k}", map[string]*fake{"a": f}, child("a"))
	open := func(n int) []*caller {
		var all []*caller
		for range n {
			c := s.caller("ann")
			c.must(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			all = append(all, c)
		}
		return all
	}
	shut := func(all []*caller) {
		for _, c := range all {
			if err := end(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	shut(open(200)) // what is made once is made
	before, goroutines := measure()
	for range 4 {
		all := open(sessions / 4)
		held, _ := measure()
		t.Logf("%d idle sessions: %d bytes each", len(all), (held-before)/uint64(len(all)))
		shut(all)
	}
	after, left := measure()
	t.Logf("heap %d kB before and %d kB after %d sessions, goroutines %d and %d", before>>10, after>>10, sessions, goroutines, left)
	if after > before+4<<20 || left > goroutines+10 {
		t.Errorf("heap %d kB became %d kB, goroutines %d became %d", before>>10, after>>10, goroutines, left)
	}
	if n := len(s.g.all()); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// A call that its client takes back over HTTP is over: the session keeps nothing
// of it for an answer that would go to nobody, and it is booked at once (RED-48).
func TestCancelledCallIsForgotten(t *testing.T) {
	f := newFake("a", "tools/list {\"tools\":[{\"name\":\"x\",\"inputSchema\":{\"type\":\"object\"}}]}\ntools/call -")
	s := newSite(t, "default: {max_bytes: 20k}", map[string]*fake{"a": f}, child("a"))
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	account, err := ledger.Open(path, s.g.opt.Log)
	if err != nil {
		t.Fatal(err)
	}
	defer account.Close()
	s.g.opt.Ledger = account
	c := s.caller("ann")
	c.must(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	ended := make(chan string, 1)
	go func() {
		answer, _ := c.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}`)
		ended <- answer
	}()
	f.process(-1).hung("tools/call")
	if _, err := c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; !strings.Contains(got, `"code":-31007`) {
		t.Errorf("the cancelled call was answered %s", got)
	}
	var booked []byte
	for range 1000 {
		if booked, _ = os.ReadFile(path); bytes.Contains(booked, []byte(`"outcome":"stopped"`)) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("it is not booked while the session lives:\n%s", booked)
}
