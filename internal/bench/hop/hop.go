// Package hop measures what a process between an MCP client and an HTTP server
// costs: the time of a call, the calls a second of many callers, and the
// processor's time a call. All ways are taken in turn in one run, and a figure
// is the median of the rounds, as a multiple of the direct call of the same
// round, so that what disturbs the machine disturbs all alike.
//
// It owns the server at the far end ([Upstream]), the plain proxy to compare
// with ([Reverse]), the client and the arithmetic. The processes are started by
// who uses it.
package hop

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Way is one way to the upstream. The first one that is measured has to be the
// direct one.
type Way struct {
	Name  string
	URL   string
	Token string // bearer token; "" without
	PID   int    // of the process between, whose processor time is counted; 0 without
}

// Plan says how much is measured.
type Plan struct {
	Rounds  int
	Callers int           // at once, for the calls a second; 0 leaves that out
	Stretch time.Duration // that the callers call for, in each round
}

// perRound is how many calls of one way one round has at most, by tool.
var perRound = map[string]int{Small: 60, Medium: 12, Large: 4}

// Row is one way, with answers of one size. Its JSON fields are promised in
// docs/json.md.
type Row struct {
	Way   string  `json:"way"`
	Tool  string  `json:"tool"`
	Bytes int     `json:"bytes"`   // of the answer's body as the client gets it
	Read  float64 `json:"read"`    // multiple of the direct call, for a client that reads the bytes
	Used  float64 `json:"decoded"` // the same for one that decodes them
	Micro float64 `json:"microseconds"`
	CPU   float64 `json:"cpu_microseconds"` // of the process between, for a call; 0 where it is not known

	Failed int `json:"failed"` // calls without an answer; where all were, the figures are 0
}

// Load is one way under many callers at once, with small answers.
type Load struct {
	Way    string  `json:"way"`
	Rate   float64 `json:"calls_per_second"`
	Of     float64 `json:"of_direct"` // share of the direct calls a second of the same round
	CPU    float64 `json:"cpu_microseconds"`
	Failed int     `json:"failed"`
}

// Report is all that was measured.
type Report struct {
	Rounds  int    `json:"rounds"`
	Callers int    `json:"callers"`
	Rows    []Row  `json:"calls"`
	Loads   []Load `json:"load"`
}

// Measure takes all ways in turn. said is told what is under way.
func Measure(ctx context.Context, ways []Way, plan Plan, said func(string)) (*Report, error) {
	callers := make([]*caller, len(ways))
	for i, w := range ways {
		c, err := dial(ctx, w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.Name, err)
		}
		defer c.close()
		callers[i] = c
	}
	report := &Report{Rounds: plan.Rounds, Callers: plan.Callers}
	for _, tool := range Tools {
		said(fmt.Sprintf("%s, %d rounds of %d calls ...", tool, plan.Rounds, perRound[tool]))
		rows, err := measureCalls(callers, tool, plan.Rounds)
		if err != nil {
			return nil, err
		}
		report.Rows = append(report.Rows, rows...)
	}
	if plan.Callers > 0 {
		said(fmt.Sprintf("%d callers at once, %d rounds of %v ...", plan.Callers, plan.Rounds, plan.Stretch))
		loads, err := measureLoads(ctx, ways, plan)
		if err != nil {
			return nil, err
		}
		report.Loads = loads
	}
	return report, nil
}

// series is what the rounds of one way gave.
type series struct {
	n                      int // calls a round
	read, used, micro, cpu []float64
	bytes, failed          int
	out                    bool // it does not answer this tool
}

// slowRound is how long the calls of one way may take in one round: a slow way
// has fewer. One whose single call takes longer than slowCall has no more.
const (
	slowRound = 2 * time.Second
	slowCall  = 5 * time.Second
)

func measureCalls(callers []*caller, tool string, rounds int) ([]Row, error) {
	all := make([]series, len(callers))
	var first [2]float64 // of the direct way
	for i, c := range callers {
		s := &all[i]
		began := time.Now()
		read, used, _, err := c.calls(tool, 1)
		switch took := time.Since(began); {
		case err != nil && i == 0:
			return nil, fmt.Errorf("%s: %s: %w", c.way.Name, tool, err)
		case err != nil:
			s.failed, s.out = 1, true
		case i == 0:
			first[0], first[1] = read, used
			fallthrough
		case took < slowCall:
			s.n = max(1, min(perRound[tool], int(slowRound/(took+1))))
		default:
			s.out = true
			s.read, s.used, s.micro, s.cpu = []float64{read / first[0]}, []float64{used / first[1]}, []float64{read * 1e6}, []float64{0}
		}
		s.bytes = c.size
	}
	for round := range rounds + 1 {
		var directRead, directUsed float64
		for i := range callers {
			c, s := callers[i], &all[i]
			if s.out {
				continue
			}
			before := cpuTime(c.way.PID)
			read, used, failed, err := c.calls(tool, s.n)
			if err != nil && (i == 0 || c.ctx.Err() != nil) {
				return nil, fmt.Errorf("%s: %s: %w", c.way.Name, tool, err)
			}
			s.failed += failed
			if err != nil {
				continue
			}
			spent := cpuTime(c.way.PID) - before
			if i == 0 {
				directRead, directUsed = read, used
			}
			if round == 0 {
				continue // what is made once is made in it
			}
			s.read = append(s.read, read/directRead)
			s.used = append(s.used, used/directUsed)
			s.micro = append(s.micro, read*1e6)
			s.cpu = append(s.cpu, spent.Seconds()*1e6/float64(s.n))
		}
	}
	rows := make([]Row, len(callers))
	for i, s := range all {
		rows[i] = Row{Way: callers[i].way.Name, Tool: tool, Bytes: s.bytes, Failed: s.failed}
		if len(s.read) > 0 {
			rows[i].Read, rows[i].Used, rows[i].Micro, rows[i].CPU = median(s.read), median(s.used), median(s.micro), mean(s.cpu)
		}
	}
	return rows, nil
}

// median returns the middle of all, of an even number the mean of the two.
func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// mean is for processor time: the kernel books it in steps that a median of
// short rounds would show.
func mean(all []float64) float64 {
	sum := 0.0
	for _, v := range all {
		sum += v
	}
	return sum / float64(len(all))
}
