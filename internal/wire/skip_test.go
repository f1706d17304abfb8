package wire

import (
	"testing"

	"pgregory.net/rapid"
)

func TestStringEnd(t *testing.T) {
	slow := func(b []byte) int {
		for i := 0; i < len(b); i++ {
			switch b[i] {
			case '"':
				return i + 1
			case '\\':
				i++
			}
		}
		return -1
	}
	rapid.Check(t, func(t *rapid.T) {
		var b []byte
		for range rapid.IntRange(0, 12).Draw(t, "runs") {
			piece := rapid.SampledFrom([]string{`\`, `\"`, `\\`, "a", "\"", "\xa2\xdc\x23"}).Draw(t, "piece")
			for range rapid.SampledFrom([]int{1, 2, 3, 7, 63, 64, 65, 300}).Draw(t, "times") {
				b = append(b, piece...)
				if piece == `"` {
					break
				}
			}
		}
		if got, want := stringEnd(b, 0), slow(b); got != want {
			t.Fatalf("%q ends at %d, want %d", b, got, want)
		}
	})
}
