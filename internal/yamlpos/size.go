package yamlpos

import (
	"math/big"
	"strings"
)

// sizeUnits are the units of a size, in bytes: k is a thousand, Ki is 1,024.
var sizeUnits = map[string]int64{
	"": 1, "b": 1,
	"k": 1e3, "kb": 1e3, "ki": 1 << 10, "kib": 1 << 10,
	"m": 1e6, "mb": 1e6, "mi": 1 << 20, "mib": 1 << 20,
	"g": 1e9, "gb": 1e9, "gi": 1 << 30, "gib": 1 << 30,
	"t": 1e12, "tb": 1e12, "ti": 1 << 40, "tib": 1 << 40,
}

// SizeForms is what ParseSize takes, for messages.
const SizeForms = "a number of bytes such as 20000, 20k (20,000), 20KiB (20,480) or 2MB"

// ParseSize reads a size in bytes: a decimal number with an optional unit
// (k, kB, KiB, M, ... T, TiB; case does not matter). It reports false for
// anything else, for parts of a byte, and for more than 2^62.
func ParseSize(s string) (int64, bool) {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789."))
	number, unit := s[:digits], strings.TrimPrefix(s[digits:], " ")
	scale, ok := sizeUnits[strings.ToLower(unit)]
	if !ok || len(number) > 20 || number == "" || number[0] == '.' || number[len(number)-1] == '.' {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, false
	}
	r.Mul(r, new(big.Rat).SetInt64(scale))
	if !r.IsInt() || r.Num().BitLen() > 62 {
		return 0, false
	}
	return r.Num().Int64(), true
}
