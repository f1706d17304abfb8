package tokens

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode"
)

var update = flag.Bool("update", false, "rewrite testdata/golden.txt from the running gpt-tokenizer (SPILLWAY_TEST_PEERS=1)")

const golden = "testdata/golden.txt"

// TestRED46_CountsEqualGPTTokenizer holds the counts to those that npm
// gpt-tokenizer 4.0.0 gave for the same texts.
func TestRED46_CountsEqualGPTTokenizer(t *testing.T) {
	if *update {
		p := startPeer(t)
		var b strings.Builder
		b.WriteString("# text (cases_test.go)\tcl100k_base\to200k_base, by npm gpt-tokenizer 4.0.0\n")
		for _, c := range cases() {
			n := p.counts(t, []byte(c.text))
			fmt.Fprintf(&b, "%s\t%d\t%d\n", c.name, n[0], n[1])
		}
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]string)
	for line := range strings.Lines(string(data)) {
		name, counts, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		want[name] = counts
	}
	for _, c := range cases() {
		got := fmt.Sprintf("%d\t%d", cl100k.Count([]byte(c.text)), o200k.Count([]byte(c.text)))
		if got != want[c.name] {
			t.Errorf("%s: counted %q, gpt-tokenizer %q", c.name, got, want[c.name])
		}
	}
}

// TestRED46_CountsEqualRunningPeer compares random texts, built of what splits
// and merges in odd ways, with a running gpt-tokenizer.
func TestRED46_CountsEqualRunningPeer(t *testing.T) {
	p := startPeer(t)
	random := rand.New(rand.NewSource(1))
	bits := []string{" ", " ", "  ", "\n", "\r", "\r\n", "\t", "\u00a0", "\u3000", "\ufeff", "\u0085", "\u2028", "'", "'s", "'LL", "'Re", "'t", "a", "b", "the", "The", "THE", "ing", "A", "B", "é", "É", "ß", "日", "本", "ー", "ʰ", "ǅ", "\u0301", "\u0302", "\u0903", "1", "23", "456", "٣", "½", ".", ",", "{", "}", "\"", "\":", "\",\"", "/", "//", "://", "_", "-", "=", "\\n", "👍", "🏽", "\u200d", "𝒜", "𐐨", "\x00", "\x1b", "\xff", "\xe2\x82", "\xf0\x9f", "�", "<|endoftext|>", "using", "namespace", "#"}
	for i := range 6000 {
		var b strings.Builder
		for range 1 + random.Intn(24) {
			switch random.Intn(12) {
			case 0:
				// What Go's older Unicode does not know may be unknown to the peer's too.
				if r := rune(random.Intn(0x110000)); unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.C) {
					b.WriteRune(r)
				}
			case 1:
				b.WriteRune(rune(random.Intn(0x3000)))
			case 2:
				b.WriteByte(byte(random.Intn(256)))
			default:
				b.WriteString(bits[random.Intn(len(bits))])
			}
		}
		text := []byte(b.String())
		want := p.counts(t, text)
		if got := [2]int{cl100k.Count(text), o200k.Count(text)}; got != want {
			t.Errorf("text %d %q: counted %v, gpt-tokenizer %v", i, text, got, want)
		}
	}
	for _, c := range cases() {
		if c.newest && p.unicode < "17" {
			t.Logf("%s: not compared, this node has Unicode %s", c.name, p.unicode)
			continue
		}
		want := p.counts(t, []byte(c.text))
		if got := [2]int{cl100k.Count([]byte(c.text)), o200k.Count([]byte(c.text))}; got != want {
			t.Errorf("%s: counted %v, gpt-tokenizer %v", c.name, got, want)
		}
	}
}

func TestRED46_Names(t *testing.T) {
	for _, name := range Names() {
		c, err := ByName(name)
		if err != nil || c.Name() != name {
			t.Errorf("ByName(%q) = %v, %v", name, c, err)
		}
	}
	_, err := ByName("p50k_base")
	const want = `estimator "p50k_base" is not known: want one of bytes/4, cl100k_base, o200k_base`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestRED46_BytesOverFourRoundsUp(t *testing.T) {
	c, err := ByName("bytes/4")
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []int{0, 1, 1, 1, 1, 2, 2, 2, 2, 3} {
		if got := c.Count(make([]byte, n)); got != want {
			t.Errorf("%d bytes: %d tokens, want %d", n, got, want)
		}
	}
}

func TestCountDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools at random, so Count allocates under it")
	}
	text := append(searchPage(20), strings.Repeat("z", 5000)...)
	for _, c := range counters {
		c.Count(text)
		// The pool may be emptied by a collection in between, so not exactly 0.
		if n := testing.AllocsPerRun(50, func() { c.Count(text) }); n >= 1 {
			t.Errorf("%s: %.1f allocations a Count, want none", c.Name(), n)
		}
	}
}

func TestCountIsConcurrent(t *testing.T) {
	text := searchPage(30)
	for _, c := range counters {
		want := c.Count(text)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 5 {
					if got := c.Count(text); got != want {
						t.Errorf("%s: %d, want %d", c.Name(), got, want)
					}
				}
			})
		}
		wg.Wait()
	}
}

// FuzzCount holds both ways of merging, the cache and the scanners to a plain
// reference: the same pieces, each merged by the textbook loop.
func FuzzCount(f *testing.F) {
	for _, c := range cases() {
		if len(c.text) <= 500 {
			f.Add([]byte(c.text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 500 { // the reference is cubic
			return
		}
		before := string(text)
		for _, b := range []*bpe{cl100k, o200k} {
			if got, want := b.Count(text), reference(t, b, text); got != want {
				t.Errorf("%s: %q: %d tokens, the reference says %d", b.name, text, got, want)
			}
		}
		if string(text) != before {
			t.Errorf("Count changed %q into %q", before, text)
		}
	})
}

func reference(t *testing.T, b *bpe, text []byte) int {
	text = []byte(strings.Clone(string(appendValid(nil, text))))
	total := 0
	for i := 0; i < len(text); {
		end := b.split(classes(), text, i)
		if end <= i || end > len(text) {
			t.Fatalf("%s: %q: a piece from %d to %d", b.name, text, i, end)
		}
		total += referenceMerge(b.vocab(), text[i:end:end])
		i = end
	}
	return total
}

func referenceMerge(v *vocabulary, piece []byte) int {
	if v.rank(piece, len(piece)) != none {
		return 1
	}
	var parts [][]byte
	for i := range piece {
		parts = append(parts, piece[i:i+1:i+1])
	}
	for {
		best, at := none, -1
		for i := range len(parts) - 1 {
			pair := append(append([]byte(nil), parts[i]...), parts[i+1]...)
			if r := v.rankMarked(pair, len(pair)); r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			return len(parts)
		}
		parts[at] = append(append([]byte(nil), parts[at]...), parts[at+1]...)
		parts = append(parts[:at+1], parts[at+2:]...)
	}
}
