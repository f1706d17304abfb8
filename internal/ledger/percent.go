package ledger

import (
	"math"
	"math/bits"
	"slices"
)

// micro is what a fraction is counted in: millionths.
const micro = 1_000_000

// ratio returns floor(a*scale/b), b over 0, exactly; beyond the range of int64
// its end.
func ratio(a, b, scale int64) int64 {
	negative := a < 0
	magnitude := uint64(a)
	if negative {
		magnitude = -magnitude
	}
	hi, lo := bits.Mul64(magnitude, uint64(scale))
	if hi >= uint64(b) {
		if negative {
			return math.MinInt64
		}
		return math.MaxInt64
	}
	q, rest := bits.Div64(hi, lo, uint64(b))
	switch {
	case negative && (q >= 1<<63 || q == 1<<63-1 && rest > 0):
		return math.MinInt64
	case negative && rest > 0:
		return -int64(q) - 1
	case negative:
		return -int64(q)
	case q >= 1<<63:
		return math.MaxInt64
	}
	return int64(q)
}

// fraction returns a/b cut downwards to six digits.
func fraction(a, b int64) float64 { return float64(ratio(a, b, micro)) / micro }

type sessionNet struct{ in, net int64 }

func spread(sessions []sessionNet) Sessions {
	out := Sessions{Count: int64(len(sessions))}
	net := make([]int64, 0, len(sessions))
	share := make([]int64, 0, len(sessions))
	for _, s := range sessions {
		net = append(net, s.net)
		if s.net < 0 {
			out.AtALoss++
		}
		if s.in > 0 {
			share = append(share, ratio(s.net, s.in, micro))
		}
	}
	slices.Sort(net)
	slices.Sort(share)
	if len(net) > 0 {
		median, p90 := nearest(net, 50), nearest(net, 90)
		out.MedianBytes, out.P90Bytes = &median, &p90
	}
	if len(share) > 0 {
		median, p90 := float64(nearest(share, 50))/micro, float64(nearest(share, 90))/micro
		out.MedianFraction, out.P90Fraction = &median, &p90
	}
	return out
}

// nearest returns the percentile of a sorted, not empty list by nearest rank.
func nearest(sorted []int64, percent int) int64 {
	return sorted[(len(sorted)*percent+99)/100-1]
}
