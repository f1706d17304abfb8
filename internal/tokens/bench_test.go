package tokens

import (
	"strings"
	"testing"
	"time"

	"github.com/tiktoken-go/tokenizer"
)

// BenchmarkCount counts 1 MB of JSON with this package and with tiktoken-go.
func BenchmarkCount(b *testing.B) {
	texts := []struct {
		name string
		text []byte
	}{
		{"json-1MB", searchPage(345)},
		{"mixed-100kB", []byte(strings.Repeat(mixed(), 100_000/len(mixed())))},
	}
	peers := map[string]tokenizer.Encoding{"cl100k_base": tokenizer.Cl100kBase, "o200k_base": tokenizer.O200kBase}
	for _, in := range texts {
		for _, c := range []*bpe{cl100k, o200k} {
			b.Run(in.name+"/"+c.name+"/spillway", func(b *testing.B) {
				c.Count(in.text)
				b.SetBytes(int64(len(in.text)))
				b.ReportAllocs()
				for b.Loop() {
					c.Count(in.text)
				}
			})
			b.Run(in.name+"/"+c.name+"/tiktoken-go", func(b *testing.B) {
				peer, err := tokenizer.Get(peers[c.name])
				if err != nil {
					b.Fatal(err)
				}
				text := string(in.text)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := peer.Count(text); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func mixed() string {
	for _, c := range cases() {
		if c.name == "all of these" {
			return c.text
		}
	}
	return ""
}

// BenchmarkOneLetter counts 200 kB of one letter, a single piece.
func BenchmarkOneLetter(b *testing.B) {
	text := []byte(strings.Repeat("a", 200_000))
	for _, c := range []*bpe{cl100k, o200k} {
		b.Run(c.name, func(b *testing.B) {
			c.Count(text)
			b.ReportAllocs()
			start := cpuTime()
			for b.Loop() {
				c.Count(text)
			}
			b.ReportMetric(float64(cpuTime()-start)/1e6/float64(b.N), "cpu-ms/op")
		})
	}
}

// BenchmarkLoad reads a vocabulary, which a process does once.
func BenchmarkLoad(b *testing.B) {
	for _, c := range []struct {
		name string
		data []byte
	}{{"cl100k_base", cl100kData}, {"o200k_base", o200kData}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				unpack(c.name, c.data)
			}
		})
	}
}

// TestRED46_OneLetterIsLinear guards against a merge that looks through all
// pairs for each join: others take over 20 s here. The aim is under 100 ms of
// CPU; the bound leaves room for the race detector and a busy machine.
func TestRED46_OneLetterIsLinear(t *testing.T) {
	for _, unit := range []string{"a", "=", " ", "日", "\ufeff"} {
		text := []byte(strings.Repeat(unit, 200_000/len(unit)))
		for _, c := range []*bpe{cl100k, o200k} {
			c.Count(text[:len(unit)]) // loads the vocabulary
			start := cpuTime()
			c.Count(text)
			took := cpuTime() - start
			t.Logf("%s: 200 kB of %q in %v of CPU", c.name, unit, took)
			if took > time.Second {
				t.Errorf("%s: 200 kB of %q took %v of CPU, want well under 1 s", c.name, unit, took)
			}
		}
	}
}
