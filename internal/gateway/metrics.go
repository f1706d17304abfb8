package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// metrics are the figures of a gateway. They are written in the text form of
// Prometheus by hand: its client library would add a fifth to the binary for
// five counters and a histogram.
type metrics struct {
	inFlight atomic.Int64
	sessions atomic.Int64 // opened
	failures counts       // of upstreams, by name
	methods  sync.Map     // *timing by method
}

// timing is the histogram of one method.
type timing struct {
	buckets [len(bounds) + 1]atomic.Int64
	micros  atomic.Int64
}

var bounds = [...]float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60}

// timed are the methods that have a series of their own; a client cannot make
// others.
var timed = map[string]bool{
	"initialize": true, "server/discover": true, "tools/list": true, "tools/call": true, "prompts/list": true,
	"prompts/get": true, "resources/list": true, "resources/templates/list": true, "resources/read": true,
	"completion/complete": true,
}

// observe counts a request that is answered.
func (m *metrics) observe(f *inflight) {
	method := f.method
	if !timed[method] {
		method = "other"
	}
	v, ok := m.methods.Load(method)
	if !ok {
		v, _ = m.methods.LoadOrStore(method, new(timing))
	}
	t := v.(*timing)
	took := time.Since(f.began)
	i, _ := slices.BinarySearch(bounds[:], took.Seconds())
	t.buckets[i].Add(1)
	t.micros.Add(took.Microseconds())
}

func (m *metrics) write(b *strings.Builder, head func(name, kind, help string)) {
	head("spillway_upstream_failures_total", "counter", "Times that an upstream ended, or could not be started or reached.")
	m.failures.mu.Lock()
	for _, name := range slices.Sorted(maps.Keys(m.failures.n)) {
		fmt.Fprintf(b, "spillway_upstream_failures_total{server=%s} %d\n", label(name), m.failures.n[name])
	}
	m.failures.mu.Unlock()
	const name = "spillway_request_duration_seconds"
	head(name, "histogram", "Time from a client's request to its answer.")
	all := make(map[string]*timing)
	m.methods.Range(func(k, v any) bool {
		all[k.(string)] = v.(*timing)
		return true
	})
	for _, method := range slices.Sorted(maps.Keys(all)) {
		t, sum := all[method], int64(0)
		for i := range t.buckets {
			sum += t.buckets[i].Load()
			le := "+Inf"
			if i < len(bounds) {
				le = fmt.Sprint(bounds[i])
			}
			fmt.Fprintf(b, "%s_bucket{method=%s,le=%q} %d\n", name, label(method), le, sum)
		}
		fmt.Fprintf(b, "%s_sum{method=%s} %g\n%s_count{method=%s} %d\n", name, label(method), float64(t.micros.Load())/1e6, name, label(method), sum)
	}
}

// counts are counters by name.
type counts struct {
	mu sync.Mutex
	n  map[string]int64
}

func (c *counts) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = make(map[string]int64)
	}
	c.n[name]++
}
