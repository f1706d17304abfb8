package yamlpos

import "testing"

func TestNearest(t *testing.T) {
	keys := []string{"keep", "always", "max_rows", "rows", "max_bytes", "text", "strip", "when"}
	for name, want := range map[string]string{
		"max_row": "max_rows", "maxRows": "max_rows", "MAX-BYTES": "max_bytes", "max_byte": "max_bytes",
		"kepe": "keep", "row": "rows", "txet": "text", "alway": "always", "srtip": "strip",
		"limit": "", "xyz": "", "": "", "k": "", "whne": "when",
	} {
		if got := Nearest(name, keys); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "600": 600, "20k": 20_000, "20K": 20_000, "20kB": 20_000, "20KiB": 20_480, "20Ki": 20_480, "2MB": 2_000_000,
		"2MiB": 2 << 20, "2GiB": 2 << 30, "1.5k": 1500, "0.5KiB": 512, "20 k": 20_000, "1T": 1e12, "12B": 12,
	} {
		if got, ok := ParseSize(in); !ok || got != want {
			t.Errorf("%q: got %d, %v, want %d", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "k", "-1", "+1", "1e3", "1.", ".5k", "1.5", "20  k", "20kk", "0x10", "1_000", "99999999999999999999", "9000000T", "20 kb/s", "1.0.0"} {
		if got, ok := ParseSize(in); ok {
			t.Errorf("%q: got %d", in, got)
		}
	}
}
