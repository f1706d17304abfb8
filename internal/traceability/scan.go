package traceability

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// Test is something that runs and names a number.
type Test struct {
	Where string // package directory or file, from the root of the repository
	Name  string // of the test or the check; "" where the file says it
}

func (t Test) String() string {
	if t.Name == "" {
		return t.Where
	}
	return t.Where + ": " + t.Name
}

// skipped are directories without tests of ours: what git ignores, and what
// fuzzing and rapid leave behind.
var skipped = []string{".git", "node_modules", "dist", "fuzz", "rapid"}

// Scan finds the tests of a repository and returns them by the numbers that
// their names hold, in a fixed order.
func Scan(root string) (map[ID][]Test, error) {
	tests := map[ID][]Test{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains(skipped, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		find := finderOf(rel)
		if find == nil {
			return nil
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		found, err := find(rel, data)
		if err != nil {
			return err
		}
		for _, t := range found {
			for _, id := range t.ids {
				if !slices.Contains(tests[id], t.test) {
					tests[id] = append(tests[id], t.test)
				}
			}
		}
		return nil
	})
	for _, list := range tests {
		slices.SortFunc(list, func(a, b Test) int { return cmp.Or(strings.Compare(a.Where, b.Where), strings.Compare(a.Name, b.Name)) })
	}
	return tests, err
}

// named is a test with the numbers in its name.
type named struct {
	test Test
	ids  []ID
}

// finderOf returns what reads a file; nil for files that hold no tests.
func finderOf(rel string) func(rel string, data []byte) ([]named, error) {
	switch {
	case strings.HasSuffix(rel, "_test.go") && !strings.Contains(rel, "internal/traceability/"):
		return inGo
	case strings.HasSuffix(rel, ".txtar") && strings.Contains(rel, "/testdata/"):
		return inArchive
	case strings.HasPrefix(rel, "peers/") && (strings.HasSuffix(rel, ".mjs") || strings.HasSuffix(rel, ".ts")):
		return inPeer
	}
	return nil
}

// inGo finds test functions, subtests, and rows of tables of cases: a text in
// a composite literal that starts with a number.
func inGo(rel string, data []byte) ([]named, error) {
	file, err := parser.ParseFile(token.NewFileSet(), rel, data, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []named
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !isTest(f.Name.Name) {
			continue
		}
		add := func(name string, ids []ID) {
			if len(ids) > 0 {
				found = append(found, named{Test{path.Dir(rel), name}, ids})
			}
		}
		add(f.Name.Name, IDsIn(f.Name.Name))
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if called, ok := n.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "Run" && len(n.Args) == 2 {
					s := leading(n.Args[0])
					add(f.Name.Name+"/"+s, IDsIn(s))
				}
			case *ast.CompositeLit:
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						e = kv.Value
					}
					if s := leading(e); startsWithID.MatchString(s) {
						add(f.Name.Name+"/"+s, IDsIn(s))
					}
				}
			}
			return true
		})
	}
	return found, nil
}

var startsWithID = regexp.MustCompile(`^(RED-|C-|M|Q|A|K)\d{2}\b`)

func isTest(name string) bool {
	for _, prefix := range []string{"Test", "Fuzz", "Benchmark", "Example"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// leading is the literal that an expression is, or that a sum starts with.
func leading(e ast.Expr) string {
	for {
		sum, ok := e.(*ast.BinaryExpr)
		if !ok {
			break
		}
		e = sum.X
	}
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value)
	return s
}

// inArchive reads a golden file or script: its name and its comment, which in
// a script are the lines that start with #.
func inArchive(rel string, data []byte) ([]named, error) {
	comment := string(txtar.Parse(data).Comment)
	if strings.HasPrefix(comment, "#") || strings.Contains(comment, "\n#") {
		var notes strings.Builder
		for line := range strings.Lines(comment) {
			if strings.HasPrefix(line, "#") {
				notes.WriteString(line)
			}
		}
		comment = notes.String()
	}
	ids := IDsIn(strings.ToUpper(strings.ReplaceAll(path.Base(rel), "-", " ")))
	for _, id := range IDsIn(comment) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return []named{{Test{Where: rel}, ids}}, nil
}

var (
	check       = regexp.MustCompile("check\\(\\s*([`'\"])(.*?)([`'\"])")
	placeholder = regexp.MustCompile(`\$\{[^}]*\}`)
)

// inPeer finds the checks of a script that drives a real peer, by what they
// are called.
func inPeer(rel string, data []byte) ([]named, error) {
	var found []named
	for _, m := range check.FindAllStringSubmatch(string(data), -1) {
		name := strings.TrimLeft(placeholder.ReplaceAllString(m[2], "…"), "…: ")
		if ids := IDsIn(name); len(ids) > 0 {
			found = append(found, named{Test{rel, name}, ids})
		}
	}
	return found, nil
}
