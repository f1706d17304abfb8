//go:build !linux

package bench

func ownPeak() (int64, error) { return 0, ErrNoPeak }
