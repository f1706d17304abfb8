package bench

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

// run measures both sides under their names: the last columns of each are to be compared.
func run(b *testing.B, w Work, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	for _, side := range []struct {
		name string
		do   func() error
	}{{"spillway", w.Ours}, {"other", w.Theirs}} {
		b.Run(side.name, func(b *testing.B) {
			b.SetBytes(int64(w.Size))
			b.ReportAllocs()
			for b.Loop() {
				if err := side.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReduce1MB(b *testing.B)  { w, err := Reduce(1_000_000); run(b, w, err) }
func BenchmarkReduce10MB(b *testing.B) { w, err := Reduce(10_000_000); run(b, w, err) }
func BenchmarkProject1MB(b *testing.B) { w, err := Project(1_000_000); run(b, w, err) }
func BenchmarkProject10MB(b *testing.B) {
	w, err := Project(10_000_000)
	run(b, w, err)
}
func BenchmarkCanonical1MB(b *testing.B)  { run(b, Canonical(1_000_000), nil) }
func BenchmarkBrackets(b *testing.B)      { run(b, Brackets(false), nil) }
func BenchmarkBracketsValid(b *testing.B) { run(b, Brackets(true), nil) }

// Both sides run in turn, so that what disturbs the machine disturbs both; the first round of each does not count.
func TestMeasureIsPaired(t *testing.T) {
	var order []string
	side := func(name string) func() error {
		return func() error {
			order = append(order, name)
			for begin := time.Now(); time.Since(begin) < least; { // once is enough then
			}
			return nil
		}
	}
	row, err := Measure(Work{Name: "x", Size: 1000, Ours: side("a"), Theirs: side("b")}, 2)
	if err != nil || row.Rounds != 2 || row.Speed <= 0 || row.Ours.Seconds < least.Seconds() {
		t.Errorf("got %+v, %v", row, err)
	}
	if got := strings.Join(order, ""); got != "ababab" {
		t.Errorf("the sides ran in the order %s", got)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{7, 1, 3}, 3}, {[]float64{4, 1, 2, 100}, 3}} {
		if got := median(c.in); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.in, got, c.want)
		}
	}
}

// The comparison is only fair where both sides do the same: they keep the same rows and the same totals.
func TestBothSidesAgree(t *testing.T) {
	result := fixture.Sized(300_000, fixture.Options{})
	theirs, err := obvious(result)
	if err != nil {
		t.Fatal(err)
	}
	r, err := reducer()
	if err != nil {
		t.Fatal(err)
	}
	out, compressed, err := ours(r, result, nil)
	if err != nil || len(compressed) == 0 {
		t.Fatal(len(compressed), err)
	}
	type reduced struct {
		StructuredContent struct {
			Total int              `json:"total_count"`
			Rows  []map[string]any `json:"rows"`
		}
	}
	var a, b reduced
	if err := errors.Join(json.Unmarshal(out.Result, &a), json.Unmarshal(theirs, &b)); err != nil {
		t.Fatal(err)
	}
	if len(a.StructuredContent.Rows) != maxRows || !reflect.DeepEqual(a, b) {
		t.Errorf("spillway keeps %d rows, the other way %d, or they differ", len(a.StructuredContent.Rows), len(b.StructuredContent.Rows))
	}
}

func TestSmallWorksRun(t *testing.T) {
	reduceWork, err := Reduce(200_000)
	if err != nil {
		t.Fatal(err)
	}
	projectWork, err := Project(100_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []Work{reduceWork, projectWork, Canonical(100_000), Brackets(false), Brackets(true)} {
		if err := errors.Join(w.Ours(), w.Theirs()); err != nil {
			t.Errorf("%s: %v", w.Name, err)
		}
	}
}

// The table of docs/writes.md, and the promises of RED-37.
func TestRED37_Writes(t *testing.T) {
	counter, err := tokens.ByName("cl100k_base")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Writes(counter)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		switch {
		case row.Outcome == 1 && strings.HasPrefix(row.Answer, "confirmed") && row.Devices > 1 && row.Tokens > 40,
			row.Outcome == 2 && row.Devices > 1 && row.Fraction > 0.15,
			row.Outcome == 3 && row.Fraction < 0.999:
			t.Errorf("%+v", row)
		}
	}
}
