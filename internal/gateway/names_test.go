package gateway

import (
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/config"
)

// What a tool is listed under: "server/own=after rename" in, the listed names out.
func TestRED41_Names(t *testing.T) {
	servers := []*source{
		{cfg: config.Server{Name: "a"}},
		{cfg: config.Server{Name: "b"}},
		{cfg: config.Server{Name: "p", Prefix: "pre"}},
	}
	long := strings.Repeat("x", 70)
	for _, c := range []struct {
		about, in, absent, out string
		clashes                int
	}{
		{"each its own", "a/x b/y p/z", "", "x y pre_z", 0},
		{"two of one name", "a/x b/x", "", "a_x b_x", 1},
		{"a prefix is no clash", "a/x p/x", "", "x pre_x", 0},
		{"a rename makes a clash", "a/x b/y=x", "", "a_x b_x", 1},
		{"a rename ends a clash", "a/x b/x=y", "", "x y", 0},
		{"a server that is down counts", "a/x", "x", "a_x", 0},
		{"a name that a prefix makes", "a/pre_x p/x", "", "pre_x pre_x_p_x_6c8ddcc4", 1},
		{"illegal and long names stay apart", "a/a.b a/a-b b/" + long + "1 b/" + long + "2", "", "", 0},
	} {
		t.Run(c.about, func(t *testing.T) {
			var items []named
			for _, word := range strings.Fields(c.in) {
				server, own, _ := strings.Cut(word, "/")
				own, name, renamed := strings.Cut(own, "=")
				if !renamed {
					name = own
				}
				items = append(items, named{from: map[string]int{"a": 0, "b": 1, "p": 2}[server], own: own, name: name})
			}
			absent := map[string]bool{c.absent: c.absent != ""}
			clashes := 0
			nameAll(items, servers, absent, func(named, named) { clashes++ })
			var out []string
			seen := make(map[string]bool)
			for _, it := range items {
				out = append(out, it.final)
				if seen[it.final] || len(it.final) > 64 || strings.ContainsAny(it.final, ". ") {
					t.Errorf("%q is not distinct and legal", it.final)
				}
				seen[it.final] = true
			}
			if got := strings.Join(out, " "); c.out != "" && got != c.out || clashes != c.clashes {
				t.Errorf("got %q with %d clashes, want %q with %d", got, clashes, c.out, c.clashes)
			}
		})
	}
}
