package ledger

import "slices"

// Millionths returns a/b in millionths, cut downwards; b is over 0.
func Millionths(a, b int64) int64 { return ratio(a, b, micro) }

// Percentiles returns the median and the 90th percentile by nearest rank, and the
// least. It sorts all, which is not empty.
func Percentiles(all []int64) (median, p90, least int64) {
	slices.Sort(all)
	return nearest(all, 50), nearest(all, 90), all[0]
}
