package jmespath

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// TestSuites runs both public compliance suites, where they are at hand.
func TestSuites(t *testing.T) {
	dir := os.Getenv("SPILLWAY_JMESPATH_SUITES")
	if dir == "" {
		t.Skip("SPILLWAY_JMESPATH_SUITES names no folder with official/ and community/: only the edition of the go-jmespath module runs, in TestModuleSuite")
	}
	t.Run("official", func(t *testing.T) {
		runSuite(t, filepath.Join(dir, "official"), nil, 892, 0)
	})
	t.Run("community", func(t *testing.T) {
		runSuite(t, filepath.Join(dir, "community"), map[string]string{
			`literal.json: '\\'`:  "the official suite says that a raw string has no escape but \\', and wins",
			"legacy-literal.json": "the old meaning of a literal that is not JSON; jep-12-literal.json of the same suite forbids it",
		}, 1068, 13)
	})
}

// TestModuleSuite runs the older edition of the official suite that the
// go-jmespath module brings along, so that it runs in every checkout.
func TestModuleSuite(t *testing.T) {
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/jmespath/go-jmespath")
	out, err := list.Output()
	dir := filepath.Join(strings.TrimSpace(string(out)), "compliance")
	if err != nil {
		t.Skipf("cannot find the module with the suite: %v: %v", list, err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the module's folder has no suite, as when modules are vendored: %v", err)
	}
	runSuite(t, dir, nil, 0, 0)
}

type suiteCase struct {
	Expression string
	Result     json.RawMessage
	Error      string
	Bench      string
}

// runSuite runs every case of a folder. The known ones, by file and expression
// or by file, are those that may fail; total is how many cases there must be
// (0: any number), and differ how many of them must fail.
func runSuite(t *testing.T, dir string, known map[string]string, total, differ int) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no suite in %s: %v", dir, err)
	}
	ran, differed := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []struct {
			Given json.RawMessage
			Cases []suiteCase
		}
		if err := json.Unmarshal(data, &groups); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		base := filepath.Base(file)
		for _, g := range groups {
			for _, c := range g.Cases {
				if c.Result != nil || c.Error != "" {
					ran++
				}
				fault := checkCase(g.Given, c)
				if fault == "" {
					continue
				}
				why := known[base] + known[base+": "+c.Expression]
				if why == "" {
					t.Errorf("%s: %q over %s: %s", base, c.Expression, g.Given, fault)
					continue
				}
				differed++
				t.Logf("%s: %s: not as in this suite: %s", base, c.Expression, why)
			}
		}
	}
	if total > 0 && ran != total || differed != differ {
		t.Errorf("%d cases ran and %d differed, want %d and %d", ran, differed, total, differ)
	}
	t.Logf("%d cases", ran)
}

// checkCase returns what is wrong, or "".
func checkCase(given json.RawMessage, c suiteCase) string {
	doc, err := jsontape.Parse(given)
	if err != nil {
		return err.Error()
	}
	before := string(given)
	got, code, err := evaluate(c.Expression, doc.Root())
	switch {
	case string(given) != before:
		return "the input was changed"
	case c.Error != "" && err == nil:
		return "got " + got + ", want the error " + c.Error
	case c.Error != "" && code != c.Error:
		return "got the error " + code + ", want " + c.Error + ": " + err.Error()
	case c.Error != "":
		return ""
	case err != nil:
		return err.Error()
	case c.Result == nil:
		return ""
	}
	want, err := jsontape.Parse(c.Result)
	if err != nil {
		return err.Error()
	}
	have, err := jsontape.Parse([]byte(got))
	if err != nil {
		return got + ": " + err.Error()
	}
	if !jsontape.Equal(have.Root(), want.Root()) {
		return "got " + got + ", want " + string(c.Result)
	}
	return ""
}

// evaluate compiles and runs an expression in both ways, which must agree.
func evaluate(expression string, v jsontape.Value) (result, code string, err error) {
	e, err := Compile(expression)
	if err != nil {
		var bad *SyntaxError
		if !errors.As(err, &bad) || bad.Offset < 0 || bad.Offset > len(expression) {
			panic("an error of Compile that is not as documented: " + err.Error())
		}
		return "", bad.Code, err
	}
	out, err := e.AppendJSON([]byte("x"), v)
	found, err2 := e.Search(v)
	if (err == nil) != (err2 == nil) {
		panic("Search and AppendJSON disagree over " + expression)
	}
	if err != nil {
		var bad, other *EvalError
		if !errors.As(err, &bad) || !errors.As(err2, &other) || string(out) != "x" || bad.Code != other.Code || bad.Offset > len(expression) {
			panic("an error of an evaluation that is not as documented: " + err.Error())
		}
		return "", bad.Code, err
	}
	if other := string(found.AppendJSON([]byte("x"))); other != string(out) {
		panic("Search gives " + other + ", AppendJSON " + string(out) + " for " + expression)
	}
	return string(out[1:]), "", nil
}
