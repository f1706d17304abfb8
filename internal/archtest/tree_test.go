package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// pkg is what is looked at of a package.
type pkg struct {
	own, other []string // what its code imports: of this module, and else
	doc        string   // its comment
	files      []string
}

// files returns the files of the repository by path, those that git ignores
// and what fuzzing leaves behind apart.
func files(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "node_modules", "dist", "fuzz", "rapid"}, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		rel, err := filepath.Rel(root, file)
		all = append(all, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// packages returns the packages of the module by path, tests apart. Files for
// all systems count.
func packages(t *testing.T) map[string]*pkg {
	t.Helper()
	all := map[string]*pkg{}
	for _, file := range files(t) {
		if !strings.HasSuffix(file, ".go") || strings.Contains(file, "/testdata/") {
			continue
		}
		dir := path.Dir(file)
		if dir == "internal/deps" {
			continue // holds the versions of modules to come, and no code
		}
		test := strings.HasSuffix(file, "_test.go")
		mode := parser.ParseComments | parser.ImportsOnly | parser.SkipObjectResolution
		f, err := parser.ParseFile(token.NewFileSet(), file, read(t, file), mode)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f.Name.Name, "_test") {
			continue
		}
		p := all[dir]
		if p == nil {
			p = new(pkg)
			all[dir] = p
		}
		p.files = append(p.files, file)
		if f.Doc != nil && !test {
			p.doc = f.Doc.Text()
		}
		if test {
			continue
		}
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if rel, ok := strings.CutPrefix(name, module+"/"); ok {
				if !slices.Contains(p.own, rel) {
					p.own = append(p.own, rel)
				}
			} else if !slices.Contains(p.other, name) {
				p.other = append(p.other, name)
			}
		}
	}
	return all
}
