package jsontape

import (
	stdjson "encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// Text that is itself JSON is read by blocks: whatever stands in it, and
// wherever a fault, it is the string that encoding/json reads.
func TestDenseStringsAreReadAsByEncodingJSON(t *testing.T) {
	pieces := []string{`\"`, `\\`, `\n`, `\/`, `\b`, `\u00e9`, `\uD83D\uDE00`, `\\\"`, `key`, `é`, `:`, `a longer run of plain text without one escape in it, to be passed in strides`, ``}
	faults := []string{"", "", "", "\x01", `\x`, `\u12G4`, `\u`, `"`, `\`}
	r := rand.New(rand.NewPCG(1, 2))
	odd := 0
	for range 4000 {
		var b strings.Builder
		b.WriteByte('"')
		n := r.IntN(120)
		bad := r.IntN(n + 1)
		for i := range n {
			if i == bad {
				b.WriteString(faults[r.IntN(len(faults))])
			}
			b.WriteString(pieces[r.IntN(len(pieces)-r.IntN(2)*4)])
		}
		b.WriteByte('"')
		src := []byte(b.String())
		var want string
		wantErr := stdjson.Unmarshal(src, &want)
		d, err := Parse(src)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: %v; encoding/json: %v", src, err, wantErr)
		}
		if err != nil {
			odd++
			continue
		}
		// A fault may tear a pair of surrogates, which encoding/json replaces.
		if got := strings.ToValidUTF8(d.Root().Str(), "\uFFFD"); got != want {
			t.Fatalf("%s:\n got %q\nwant %q", src, got, want)
		}
		if got, want := d.Root().StrLen(), len(d.Root().Str()); got != want {
			t.Fatalf("%s: length %d, want %d", src, got, want)
		}
		if got := string(d.Root().AppendCanonical(nil)); got != string(AppendQuote(nil, d.Root().Str())) {
			t.Fatalf("%s: canonical form %s", src, got)
		}
	}
	if odd == 0 {
		t.Error("no string had a fault")
	}
}
