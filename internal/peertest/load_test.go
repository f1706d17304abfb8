//go:build linux

package peertest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The load of the long run, which SPILLWAY_TEST_LONG=1 asks for, and of the
// short one.
func loadOf() (callers int, long, kill time.Duration) {
	if os.Getenv("SPILLWAY_TEST_LONG") != "" {
		return 200, 10 * time.Minute, 20 * time.Second
	}
	return 200, 20 * time.Second, 3 * time.Second
}

// loadServers are the upstreams of the load: children that all callers share,
// and one that is reached by HTTP.
var loadServers = []string{"s0", "s1", "s2", "s3", "web"}

// load is one run.
type load struct {
	t       *testing.T
	dir     string
	server  *serving
	callers []*loadCaller

	mu  sync.Mutex
	web *exec.Cmd // the server that is reached by HTTP
	end bool

	calls, gone, down, cut, refused, told, cancelled, lists atomic.Int64
}

// Callers at full speed before five upstreams, of which one is killed every now
// and then: no answer is wrong or another's, and nothing grows.
func TestRED23_LoadOfRealProcesses(t *testing.T) {
	need(t)
	callers, long, kill := loadOf()
	l := newLoad(t, callers)
	before := l.sample()
	for _, c := range l.callers {
		if err := c.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	var wait sync.WaitGroup
	for _, c := range l.callers {
		wait.Go(func() { c.run(ctx) })
	}
	samples, kills := l.watch(ctx, kill, long/100)
	wait.Wait()
	if t.Failed() {
		t.Fatalf("of %d calls; the log ends:\n%s", l.calls.Load(), tail(l.server.log.String()))
	}
	l.recovered()
	for _, c := range l.callers {
		if err := c.end(t.Context()); err != nil {
			t.Error(err)
		}
	}
	l.callers[0].web.CloseIdleConnections()
	var after sample
	defer func() {
		if t.Failed() {
			t.Logf("before: %v; after: %v", before, after)
		}
	}()
	l.kill("web") // its idle connections, which are kept for the next calls, end with it
	await(t, "what the sessions had is given back", func() bool {
		after = l.sample()
		// Connections that are kept for the next calls have no goroutine.
		return after.goroutines <= before.goroutines+20 && after.files <= before.files+callers
	})
	n := len(samples)
	early, late := typical(samples[n/5:2*n/5]), typical(samples[4*n/5:])
	t.Logf("%d callers, %v, %d kills: %d calls answered, each with its own answer; %d ended by a kill, %d while a server was down; "+
		"%d results cut, each expanded to its original, %d refs of others refused; %d calls with progress, %d cancelled, %d lists",
		callers, long, kills, l.calls.Load(), l.gone.Load(), l.down.Load(), l.cut.Load(), l.refused.Load(), l.told.Load(), l.cancelled.Load(), l.lists.Load())
	t.Logf("before: %v", before)
	t.Logf("second fifth of the time: %v", early)
	t.Logf("last fifth: %v", late)
	t.Logf("sessions ended: %v", after)
	if l.calls.Load() == 0 || l.cut.Load() == 0 || l.refused.Load() == 0 || l.told.Load() == 0 || l.cancelled.Load() == 0 || l.gone.Load() == 0 {
		t.Error("a part of the load did not take place")
	}
	if limit := int64(kills * callers); l.gone.Load() > limit {
		t.Errorf("%d calls were ended by %d kills, and at most %d were in flight", l.gone.Load(), kills, limit)
	}
	// Flat: a fifth more than before, and what the garbage collector and the
	// moment's calls make of it: each has a goroutine and a connection more or less.
	// Answers by streams are kept for a minute in which
	// a client may ask for them again: within it, memory grows to what that takes.
	share, some := 5, 16<<20
	if long < 5*time.Minute {
		share, some = 2, 32<<20
	}
	if late.rss > early.rss+early.rss/share+some {
		t.Errorf("resident memory grew from %d to %d kB", early.rss>>10, late.rss>>10)
	}
	if late.goroutines > early.goroutines+early.goroutines/5+callers {
		t.Errorf("goroutines grew from %d to %d", early.goroutines, late.goroutines)
	}
	if late.files > early.files+early.files/5+callers {
		t.Errorf("open files grew from %d to %d", early.files, late.files)
	}
	if after.children != before.children {
		t.Errorf("%d processes before, %d after", before.children, after.children)
	}
}

func newLoad(t *testing.T, callers int) *load {
	l := &load{t: t, dir: t.TempDir()}
	mark := "PEERTEST_MARK=load-" + strconv.Itoa(os.Getpid())
	env := append(home(l.dir), mark)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	t.Cleanup(func() {
		l.mu.Lock()
		l.end = true
		l.mu.Unlock()
		l.web.Process.Kill()
		for pid := range marked(mark) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	l.startWeb(addr, env)
	var config strings.Builder
	config.WriteString("servers:\n")
	for _, name := range loadServers {
		if name == "web" {
			fmt.Fprintf(&config, "  web: {url: \"http://%s/\"}\n", addr)
			continue
		}
		fmt.Fprintf(&config, "  %s: {command: %q, env: {%s: answerer, PEERTEST_NAME: %s, PEERTEST_DIR: %q}}\n", name, self(t), roleVar, name, l.dir)
	}
	config.WriteString("rules: {default: {max_bytes: 4k}}\nstash: {max_bytes: 256MiB}\n")
	names := []string{"last"}
	for i := range callers {
		names = append(names, fmt.Sprintf("c%d", i))
	}
	l.server = serve(t, l.dir, config.String(), env, names...)
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * callers}, Timeout: 2 * patience} // no call hangs
	for i, name := range names[1:] {
		l.callers = append(l.callers, &loadCaller{
			load: l, name: name, nth: i, httpCaller: httpCaller{web: web, url: l.server.base + "/mcp", token: l.server.token[name]},
		})
	}
	l.recovered()
	return l
}

// startWeb starts the server that is reached by HTTP, and starts it again
// whenever it is killed, as a supervisor would.
func (l *load) startWeb(addr string, env []string) {
	start := func() *exec.Cmd {
		cmd := exec.Command(self(l.t))
		cmd.Env = append(slices.Clip(env), roleVar+"=answerer-http", "PEERTEST_NAME=web", "PEERTEST_DIR="+l.dir, "PEERTEST_ADDR="+addr)
		if err := cmd.Start(); err != nil {
			l.t.Error(err)
		}
		return cmd
	}
	l.web = start()
	go func() {
		for {
			l.web.Wait()
			l.mu.Lock()
			if l.end {
				l.mu.Unlock()
				return
			}
			l.web = start()
			l.mu.Unlock()
		}
	}()
}

// watch kills a server every now and then, the next one each time, and takes
// samples.
func (l *load) watch(ctx context.Context, kill, look time.Duration) (samples []sample, kills int) {
	killing, looking := time.NewTicker(kill), time.NewTicker(look)
	defer killing.Stop()
	defer looking.Stop()
	for {
		select {
		case <-ctx.Done():
			return samples, kills
		case <-looking.C:
			samples = append(samples, l.sample())
		case <-killing.C:
			l.kill(loadServers[kills%len(loadServers)])
			kills++
		}
	}
}

// kill kills a server.
func (l *load) kill(name string) {
	data, err := os.ReadFile(filepath.Join(l.dir, name+".pid"))
	if err != nil {
		l.t.Error(err)
		return
	}
	pid, _ := strconv.Atoi(string(data))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		l.t.Errorf("%s, process %d: %v", name, pid, err)
	}
}

// recovered waits until every server answers.
func (l *load) recovered() {
	l.t.Helper()
	c := &loadCaller{load: l, httpCaller: httpCaller{web: http.DefaultClient, url: l.server.base + "/mcp", token: l.server.token["last"]}}
	if err := c.open(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	await(l.t, "all servers answer", func() bool {
		m, _, err := c.ask(l.t.Context(), 1, "tools/list", "{}")
		return err == nil && strings.Count(string(m.Result), `_echo"`) == len(loadServers)
	})
	for n, name := range loadServers {
		await(l.t, name+" answers", func() bool {
			m, _, err := c.call(l.t.Context(), n, name+"_echo", "hello", "")
			text, _ := m.text()
			return err == nil && text == sealed(name, "hello")
		})
	}
	if err := c.end(l.t.Context()); err != nil {
		l.t.Error(err)
	}
}

// sample is what the process takes at one moment.
type sample struct{ rss, heap, goroutines, files, children int }

func (s sample) String() string {
	return fmt.Sprintf("%d MB resident, %d MB of heap in use, %d goroutines, %d open files, %d processes", s.rss>>20, s.heap>>20, s.goroutines, s.files, s.children)
}

func (l *load) sample() (s sample) { return l.server.sample() }

func (v *serving) sample() (s sample) {
	v.t.Helper()
	s.heap, s.goroutines = v.metric("go_memstats_heap_inuse_bytes"), v.metric("go_goroutines")
	proc := fmt.Sprintf("/proc/%d/", v.cmd.Process.Pid)
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		v.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			s.rss, _ = strconv.Atoi(strings.Fields(value)[0])
			s.rss <<= 10
		}
	}
	files, err := os.ReadDir(proc + "fd")
	if err != nil {
		v.t.Fatal(err)
	}
	s.files = len(files)
	s.children = descendants(v.cmd.Process.Pid)
	return s
}

// descendants counts the processes below pid, those too that ended and were not
// waited for.
func descendants(pid int) int {
	parents := map[int]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		rest := string(data[strings.LastIndexByte(string(data), ')')+1:])
		id, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parents[id], _ = strconv.Atoi(strings.Fields(rest)[1])
	}
	n := 0
	for id := range parents {
		for up := parents[id]; up > 1; up = parents[up] {
			if up == pid {
				n++
				break
			}
		}
	}
	return n
}

// typical is the median of each figure.
func typical(all []sample) sample {
	median := func(of func(sample) int) int {
		var values []int
		for _, s := range all {
			values = append(values, of(s))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return sample{
		median(func(s sample) int { return s.rss }), median(func(s sample) int { return s.heap }),
		median(func(s sample) int { return s.goroutines }), median(func(s sample) int { return s.files }),
		median(func(s sample) int { return s.children }),
	}
}
