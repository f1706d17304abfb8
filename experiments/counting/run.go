package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"text/tabwriter"
	"time"
)

type options struct {
	pages, size, rounds int
	wait                time.Duration // of the server, before each answer
}

// ways to count, in the order in which they take turns.
var ways = []struct{ arg, name string }{
	{"loop", "plain Go loop"},
	{"1", "operation"},
	{"4", "operation, 4 pages side by side"},
}

// sample is one way in one round.
type sample struct {
	counted
	cpu float64 // seconds, of the user and the system
}

func run(out io.Writer, o options) error {
	server, stable, bytes := releases(o)
	defer server.Close()
	samples := make([][]sample, len(ways))
	for range o.rounds {
		for i, w := range ways {
			s, err := count(w.arg, server.URL)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if s.Stable != stable || s.Examined != o.pages*o.size {
				return fmt.Errorf("%s counted %d of %d records; there are %d of %d", w.name, s.Stable, s.Examined, stable, o.pages*o.size)
			}
			samples[i] = append(samples[i], s)
		}
	}
	fmt.Fprintf(out, "%d records in %d pages of %d bytes; medians of %d rounds\n\n", o.pages*o.size, o.pages, bytes, o.rounds)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\trecords/s\trate of the loop's\tCPU s\tCPU of the loop's\tpeak resident kB\tlive heap kB at page 10\tat the last hundred\t\n")
	for i, w := range ways {
		of := func(f func(sample) float64) []float64 {
			var all []float64
			for _, s := range samples[i] {
				all = append(all, f(s))
			}
			return all
		}
		against := func(f func(s, loop sample) float64) float64 {
			var all []float64
			for r, s := range samples[i] {
				all = append(all, f(s, samples[0][r]))
			}
			return median(all)
		}
		fmt.Fprintf(t, "%s\t%.0f\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\t%.0f\t\n", w.name,
			median(of(func(s sample) float64 { return float64(s.Examined) / s.Seconds })),
			against(func(s, loop sample) float64 { return loop.Seconds / s.Seconds }),
			median(of(func(s sample) float64 { return s.cpu })),
			against(func(s, loop sample) float64 { return s.cpu / loop.cpu }),
			median(of(func(s sample) float64 { return float64(s.Peak) / 1024 })),
			median(of(func(s sample) float64 { return float64(s.Live[0]) / 1024 })),
			median(of(func(s sample) float64 { return float64(s.Live[1]) / 1024 })))
	}
	return t.Flush()
}

// count runs this program as one way to count.
func count(way, url string) (sample, error) {
	cmd := exec.Command(os.Args[0], asCounter, way, url)
	cmd.Stderr = os.Stderr
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return sample{}, err
	}
	var s sample
	if err := json.Unmarshal(out.Bytes(), &s.counted); err != nil {
		return sample{}, fmt.Errorf("%w: %s", err, out.Bytes())
	}
	s.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return s, nil
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
