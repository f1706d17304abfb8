package replay

import (
	"math/big"
	"slices"
)

const micro = 1_000_000

// samples collect figures for a Figures.
type samples struct {
	results, changed int
	text, structured viewSamples
}

type viewSamples struct{ bytesBefore, bytesAfter, tokensBefore, tokensAfter []int64 }

// sizes are the bytes and tokens of the views of a result.
type sizes struct{ text, structured, textTokens, structuredTokens int64 }

// forStructured returns what a host that prefers structuredContent shows.
func (s sizes) forStructured() (bytes, tokens int64) {
	if s.structured > 0 {
		return s.structured, s.structuredTokens
	}
	return s.text, s.textTokens
}

func (s *samples) add(before, after sizes, changed bool) {
	s.results++
	if changed {
		s.changed++
	}
	s.text.add(before.text, after.text, before.textTokens, after.textTokens)
	b, bt := before.forStructured()
	a, at := after.forStructured()
	s.structured.add(b, a, bt, at)
}

func (v *viewSamples) add(bytesBefore, bytesAfter, tokensBefore, tokensAfter int64) {
	v.bytesBefore = append(v.bytesBefore, bytesBefore)
	v.bytesAfter = append(v.bytesAfter, bytesAfter)
	v.tokensBefore = append(v.tokensBefore, tokensBefore)
	v.tokensAfter = append(v.tokensAfter, tokensAfter)
}

func (s *samples) figures() Figures {
	return Figures{Results: s.results, Changed: s.changed, Text: s.text.view(), Structured: s.structured.view()}
}

func (v *viewSamples) view() View {
	return View{
		BytesBefore: spread(v.bytesBefore), BytesAfter: spread(v.bytesAfter),
		TokensBefore: spread(v.tokensBefore), TokensAfter: spread(v.tokensAfter),
		Saved: fractions(v.bytesBefore, v.bytesAfter),
	}
}

func spread(values []int64) (s Spread) {
	if len(values) == 0 {
		return s
	}
	sorted := slices.Sorted(slices.Values(values))
	for _, v := range sorted {
		s.Total += v
	}
	s.Median, s.P90, s.Worst = nearest(sorted, 50), nearest(sorted, 90), sorted[len(sorted)-1]
	return s
}

// nearest returns the percentile of a sorted, not empty list by nearest rank.
func nearest(sorted []int64, percent int) int64 {
	return sorted[(len(sorted)*percent+99)/100-1]
}

func fractions(before, after []int64) (f Fraction) {
	var all []int64
	for i, b := range before {
		if b > 0 {
			all = append(all, ratio(b-after[i], b))
		}
	}
	if len(all) == 0 {
		return f
	}
	slices.Sort(all)
	f.Median, f.P90, f.Worst = millionths(nearest(all, 50)), millionths(nearest(all, 90)), millionths(all[0])
	return f
}

func millionths(n int64) *float64 {
	f := float64(n) / micro
	return &f
}

// ratio returns a/b in millionths, rounded down; b is over 0.
func ratio(a, b int64) int64 {
	q, m := new(big.Int).DivMod(new(big.Int).Mul(big.NewInt(a), big.NewInt(micro)), big.NewInt(b), new(big.Int))
	_ = m
	return q.Int64()
}

func (t *Tally) add(o Tally) {
	t.Needed += o.Needed
	t.Shown += o.Shown
	t.Expandable += o.Expandable
	t.Lost += o.Lost
}

func (t *Tally) finish() {
	if t.Needed > 0 {
		t.Survival = millionths(ratio(int64(t.Shown), int64(t.Needed)))
	}
}
