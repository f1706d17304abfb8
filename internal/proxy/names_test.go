package proxy

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	t.Run("K44 RED-41", func(t *testing.T) {
		long := strings.Repeat("a", 69)
		seen := map[string]string{}
		for _, name := range []string{long + "1", long + "2", "a.b", "a_b", "a/b", "ok-Name_9", "", "ü"} {
			got := ToolName("", name)
			if !LegalName(got) {
				t.Errorf("%q becomes %q, which is not legal", name, got)
			}
			if was, ok := seen[got]; ok {
				t.Errorf("%q and %q both become %q", was, name, got)
			}
			seen[got] = name
			if LegalName(name) && got != name {
				t.Errorf("%q is legal and becomes %q", name, got)
			}
		}
		if got, want := ToolName("github", "a.b"), "github_a_b_bc29c4db"; got != want {
			t.Errorf("got %q, want %q as ever", got, want)
		}
		if got, want := ToolName("x", long), "x_"+long[:53]+"_c9b4f537"; got != want {
			t.Errorf("got %q, want %q as ever", got, want)
		}
	})
}
