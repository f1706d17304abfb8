package archtest

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for dir, p := range packages(t) {
		word := "Package " + path.Base(dir) + " "
		program := strings.HasPrefix(dir, "cmd/") || strings.HasPrefix(dir, "experiments/")
		if program {
			word = "Command " + path.Base(dir) + " "
		}
		if !strings.HasPrefix(p.doc, word) && !(program && p.doc != "") {
			t.Errorf("%s has no package comment that starts with %q", dir, word)
		}
		for _, vague := range []string{"util", "utils", "common", "helpers", "types", "manager", "misc"} {
			if path.Base(dir) == vague {
				t.Errorf("%s: a package is named for what it holds", dir)
			}
		}
	}
}

// longFiles are the source files of more than 500 lines, each with the reason.
var longFiles = map[string]string{}

func TestFilesAreShort(t *testing.T) {
	for _, file := range files(t) {
		if ext := path.Ext(file); ext != ".go" && ext != ".mjs" && ext != ".ts" && ext != ".sql" {
			continue
		}
		n := strings.Count(read(t, file), "\n")
		switch reason := longFiles[file]; {
		case n > 500 && reason == "":
			t.Errorf("%s has %d lines: over 500 it needs a reason, in archtest", file, n)
		case n <= 500 && reason != "":
			t.Errorf("%s has %d lines and needs no reason any more", file, n)
		}
	}
}

// textFiles are what people read or edit.
func textFiles(t *testing.T) []string {
	return slices.DeleteFunc(files(t), func(file string) bool {
		return !slices.Contains([]string{".go", ".md", ".mjs", ".ts", ".json", ".yaml", ".yml", ".txt", ".txtar", ".sql", ".mod", ".sum", ""}, path.Ext(file)) ||
			strings.HasPrefix(file, "internal/archtest/") || strings.HasPrefix(file, "internal/tokens/data/")
	})
}

// machinePath is a path of the machine that something was written on. Example
// paths are under /home/me, /home/u or /srv.
var machinePath = regexp.MustCompile(`(^|[^A-Za-z0-9._/-])(/root/[a-z.]|/Users/[a-z]|/home/[a-z]+/|[A-Z]:\\+Users\\+[a-z])`)

func TestNoMachinePaths(t *testing.T) {
	for _, file := range textFiles(t) {
		for i, line := range strings.Split(read(t, file), "\n") {
			line = strings.NewReplacer("/home/me/", "", "/home/u/", "").Replace(line)
			if m := machinePath.FindString(line); m != "" {
				t.Errorf("%s:%d: %q is a path of some machine", file, i+1, m)
			}
		}
	}
}

var (
	marker   = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)
	bareSkip = regexp.MustCompile(`\.(SkipNow\(\)|Skip\(\))`)
)

func TestNoMarksAndNoSilentSkips(t *testing.T) {
	for _, file := range textFiles(t) {
		ext := path.Ext(file)
		if ext != ".go" && ext != ".mjs" && ext != ".ts" {
			continue
		}
		for i, line := range strings.Split(read(t, file), "\n") {
			if marker.MatchString(line) && !strings.Contains(line, `"`) {
				t.Errorf("%s:%d: an open mark: %s", file, i+1, strings.TrimSpace(line))
			}
			if bareSkip.MatchString(line) {
				t.Errorf("%s:%d: a skip says why", file, i+1)
			}
		}
	}
}
