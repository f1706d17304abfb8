package doctest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// expected are pages that are written with what they describe.
var expected = []string{"docs/writes.md", "docs/performance.md"}

// Links between the pages lead somewhere, headings included.
func TestLinks(t *testing.T) {
	root := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages", err)
	}
	more, _ := filepath.Glob(filepath.Join(root, "*.md"))
	for _, page := range append(pages, more...) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(root, page)
		if err != nil {
			t.Fatal(err)
		}
		rel = filepath.ToSlash(rel)
		for _, part := range split(string(data)) {
			if part.fence {
				continue
			}
			for _, m := range link.FindAllStringSubmatch(part.text, -1) {
				if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
					continue
				}
				file, anchor, _ := strings.Cut(m[1], "#")
				target := rel
				if file != "" {
					target = path.Join(path.Dir(rel), file)
				}
				text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(target)))
				if err != nil {
					if info, serr := os.Stat(filepath.Join(root, filepath.FromSlash(target))); serr != nil && !slices.Contains(expected, target) || serr == nil && !info.IsDir() {
						t.Errorf("%s: the link %s leads nowhere", rel, m[1])
					}
					continue
				}
				if anchor != "" && !slices.Contains(anchors(string(text)), anchor) {
					t.Errorf("%s: %s has no heading for #%s", rel, target, anchor)
				}
			}
		}
	}
}

// anchors are the names that GitHub gives a page's headings.
func anchors(page string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		name := notSlug.ReplaceAllString(strings.ToLower(m[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}
