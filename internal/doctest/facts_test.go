package doctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/reduce"
)

func page(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(docs, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var codeSpan = regexp.MustCompile("`([^`\n]+)`")

// The built-in names of always are those of the code, on both pages.
func TestRED08_BuiltInNamesAreListed(t *testing.T) {
	for name, bounds := range map[string][2]string{
		"rules.md":   {"are always in the list:", "`!name`"},
		"reducer.md": {"Built in:", "They are looked up"},
	} {
		_, after, ok := strings.Cut(page(t, name), bounds[0])
		list, _, ok2 := strings.Cut(after, bounds[1])
		if !ok || !ok2 {
			t.Fatalf("%s has no list of the built-in names", name)
		}
		var names []string
		for _, m := range codeSpan.FindAllStringSubmatch(list, -1) {
			names = append(names, m[1])
		}
		if !slices.Equal(names, reduce.BuiltinAlways) {
			t.Errorf("%s lists %q, the code has %q", name, names, reduce.BuiltinAlways)
		}
	}
}

// Each key that a rules file may hold has a section, and no section is about a
// key that there is not.
func TestEveryKeyHasASection(t *testing.T) {
	var keys []string
	for _, m := range regexp.MustCompile(`(?m)^## ([a-z_, ]+)$`).FindAllStringSubmatch(page(t, "rules.md"), -1) {
		keys = append(keys, strings.Split(m[1], ", ")...)
	}
	if len(keys) < 15 {
		t.Fatalf("sections: %q", keys)
	}
	for _, key := range keys {
		_, err := rules.Parse("r", []byte("s:\n  t:\n    "+key+": {}\n"))
		if err == nil || strings.Contains(err.Error(), "unknown key") {
			t.Errorf("rules.md has a section on %q, which is no key: %v", key, err)
		}
	}
	help := page(t, "../internal/cli/help/rules.txt")
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z_]+) {2,}\S`).FindAllStringSubmatch(help, -1) {
		if !slices.Contains(keys, m[1]) {
			t.Errorf("spillway help rules names %q, which has no section in rules.md", m[1])
		}
	}
}

// Commands in the prose have the flags that they are shown with.
func TestCommandsInProseExist(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(docs, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range codeSpan.FindAllStringSubmatch(string(data), -1) {
			if strings.HasPrefix(m[1], "spillway ") && !strings.Contains(m[1], "…") {
				checkCommand(t, filepath.Base(file), m[1])
			}
		}
	}
}

var aFlag = regexp.MustCompile(`^--?[a-z][a-z-]*`)

// checkCommand asks a command for its help and looks for each flag there.
func checkCommand(t *testing.T, where, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " -- ")
	var path, flags []string
	for _, word := range strings.Fields(line)[1:] {
		switch {
		case aFlag.MatchString(word):
			flags = append(flags, aFlag.FindString(word))
		case len(flags) == 0 && len(path) < 3 && regexp.MustCompile(`^[a-z-]+$`).MatchString(word):
			path = append(path, word)
		}
	}
	if len(path) == 0 {
		return
	}
	help, err := exec.Command("spillway", append([]string{"help"}, path...)...).CombinedOutput()
	for err != nil && len(path) > 1 { // the last word was an argument
		path = path[:len(path)-1]
		help, err = exec.Command("spillway", append([]string{"help"}, path...)...).CombinedOutput()
	}
	if err != nil {
		t.Errorf("%s: `%s`: %s", where, line, help)
		return
	}
	for _, f := range flags {
		if !regexp.MustCompile(`(?m)(^|[ ,])` + regexp.QuoteMeta(f) + `\b`).Match(help) {
			t.Errorf("%s: `%s`: there is no %s", where, line, f)
		}
	}
}
