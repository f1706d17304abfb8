package jsontape

import (
	"slices"
	"strings"
	"testing"
)

// feed parses src as it would arrive in parts that end at cuts, each time in
// other memory.
func feed(d *Doc, src []byte, cuts ...int) error {
	d.Begin(len(src))
	for _, n := range cuts {
		if err := d.Feed(slices.Clone(src[:n]), Limits{}); err != nil {
			return err
		}
	}
	return d.Finish(slices.Clone(src), Limits{})
}

// sameAsWhole reports a difference between parsing in parts and in one go.
func sameAsWhole(t *testing.T, src []byte, cuts ...int) {
	t.Helper()
	var whole, parts Doc
	want, got := whole.Reset(src, Limits{}), feed(&parts, src, cuts...)
	if (want == nil) != (got == nil) {
		t.Fatalf("%.80q cut at %v: %v, want %v", src, cuts, got, want)
	}
	if want != nil {
		if want.Error() != got.Error() && len(cuts) == 0 {
			t.Fatalf("%.80q: %v, want %v", src, got, want)
		}
		return
	}
	if !slices.Equal(whole.tape, parts.tape) || whole.spaces != parts.spaces || whole.nonUTF8 != parts.nonUTF8 {
		t.Fatalf("%.80q cut at %v: another tape", src, cuts)
	}
}

// inParts are sources with something that can be torn at every byte.
var inParts = []string{
	`{"result":{"content":[{"type":"text","text":"{\"a\":[1,2.5e-3,true,null],\"b\":\"\\\"q\\\\\"}"}],"isError":false},"jsonrpc":"2.0","id":7}`,
	"\"" + strings.Repeat(`\"key\":\"valu\u00e9 \ud83d\ude00\/\\\\\",`, 20) + "\"",
	`{"k\u0065y \\":[-0.5E+10,[],{},"\\\\\\"],"":[ ] , "é":{ } }`,
	" \r\n[1 , 2\t]\n ",
}

func TestFeedInPartsGivesTheSameTape(t *testing.T) {
	var sources []string
	for _, c := range refused {
		sources = append(sources, c.src)
	}
	for _, src := range slices.Concat(sources, accepted, inParts) {
		b := []byte(src)
		var every []int
		for n := range len(b) + 1 {
			sameAsWhole(t, b, n)
			every = append(every, n)
		}
		sameAsWhole(t, b, every...)
	}
}

// No part of a source has a root before its end was seen.
func TestFeedHasNoRootBeforeFinish(t *testing.T) {
	var d Doc
	if err := d.Reset([]byte(`[1]`), Limits{}); err != nil {
		t.Fatal(err)
	}
	d.Begin(10)
	if err := d.Feed([]byte(`{"a":1}`), Limits{}); err != nil {
		t.Fatal(err)
	}
	if d.Root().Exists() {
		t.Error("a source that may go on has a root")
	}
	if err := d.Finish([]byte(`{"a":1}x`), Limits{}); err == nil || d.Root().Exists() {
		t.Errorf("a second value: error %v, root %v", err, d.Root().Kind())
	}
}

func FuzzFeed(f *testing.F) {
	for _, src := range slices.Concat(accepted, inParts) {
		f.Add([]byte(src), uint16(3), uint16(70))
	}
	f.Fuzz(func(t *testing.T, src []byte, a, b uint16) {
		first := int(a) % (len(src) + 1)
		second := first + int(b)%(len(src)-first+1)
		sameAsWhole(t, src, first, second)
		sameAsWhole(t, src)
	})
}
