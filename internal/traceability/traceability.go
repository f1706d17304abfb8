// Package traceability holds the numbered statements of docs/ to the tests that
// carry their numbers, and writes docs/traceability.md, which lists both.
//
// A statement is a bullet that starts with a bold number (**RED-12**) or a row
// of a table that starts with one (| K05 |). A test claims one by its name:
// TestRED12_..., a t.Run("RED-12 ..."), the name of a row in a table of cases,
// the name or the comment of a .txtar file, or a check of peers/.
//
// It judges names, not what a test does. Write the page anew with
//
//	go test ./internal/traceability -update
package traceability

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Documents are the pages whose numbered statements need a test, by path from
// the root of the repository; those that do not exist have none.
var Documents = []string{"docs/reducer.md", "docs/writes.md", "docs/contract.md", "docs/cases.md"}

// The pages that this package writes and reads.
const (
	Page       = "docs/traceability.md"
	Exclusions = "docs/traceability-exclusions.md"
)

// ID names a statement: "RED-12", "K05".
type ID string

// anyID finds numbers as documents and tests write them. In the name of a Go
// test a word may follow without a break: TestRED06MatchOrder.
var anyID = regexp.MustCompile(`(?:^|[^A-Za-z0-9]|Test|Fuzz|Benchmark|Example)(RED|DES|WIRE|STY|C|K|M|Q|A)([-_]?)(\d{2,3})(?:[^0-9]|$)`)

// dashed are the families that are written with a dash.
var dashed = map[string]bool{"RED": true, "C": true}

// IDsIn returns the numbers in a name or a comment, in their order, each once.
func IDsIn(s string) []ID {
	var ids []ID
	for len(s) > 0 {
		m := anyID.FindStringSubmatchIndex(s)
		if m == nil {
			break
		}
		id := newID(s[m[2]:m[3]], s[m[6]:m[7]])
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		s = s[m[7]:] // what ends one number may start the next
	}
	return ids
}

func newID(family, digits string) ID {
	if dashed[family] {
		return ID(family + "-" + digits)
	}
	return ID(family + digits)
}

// compare orders numbers as a reader looks them up: family, then number.
func compare(a, b ID) int {
	fa, na := a.parts()
	fb, nb := b.parts()
	return cmp.Or(cmp.Compare(slices.Index(families, fa), slices.Index(families, fb)), strings.Compare(fa, fb), na-nb)
}

var families = []string{"RED", "C", "M", "Q", "A", "K"}

func (id ID) parts() (family string, number int) {
	family = strings.TrimRight(string(id), "-0123456789")
	number, _ = strconv.Atoi(strings.TrimPrefix(string(id)[len(family):], "-"))
	return family, number
}

// Statement is what a document says under a number.
type Statement struct {
	ID   ID
	Text string // its first words, on one line
	In   string // the document
}

var (
	bullet = regexp.MustCompile(`^- \*\*([A-Z]+-?\d+)\*\*(.*)$`)
	row    = regexp.MustCompile(`^\| *([A-Z]+-?\d+) *\|([^|]*)\|`)
)

// Statements reads the numbered statements of a document. A bullet for a range
// of numbers (**RED-29** to **RED-37**) points to another page and states
// nothing.
func Statements(name, text string) []Statement {
	var list []Statement
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if m := bullet.FindStringSubmatch(line); m != nil {
			if strings.HasPrefix(strings.TrimSpace(m[2]), "to **") {
				continue
			}
			words := m[2]
			for _, next := range lines[i+1:] {
				if !strings.HasPrefix(next, "  ") {
					break
				}
				words += " " + strings.TrimSpace(next)
			}
			list = append(list, Statement{ID(m[1]), firstWords(words), name})
		} else if m := row.FindStringSubmatch(line); m != nil {
			list = append(list, Statement{ID(m[1]), firstWords(m[2]), name})
		}
	}
	return list
}

// wordBudget is about how many characters of a statement the page repeats.
const wordBudget = 90

// firstWords is the first sentence, or as much of it as fits.
func firstWords(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for at := 0; ; {
		k := strings.Index(s[at:], ". ")
		if k < 0 || at+k > wordBudget {
			break
		}
		if at += k + 1; at > 20 {
			return s[:at]
		}
	}
	if len(s) <= wordBudget+20 {
		return s
	}
	cut := strings.LastIndexByte(s[:wordBudget], ' ')
	s = strings.TrimRight(s[:cut], " ,;:(")
	if strings.Count(s, "`")%2 == 1 { // an open code span would take the row with it
		s = strings.TrimRight(s[:strings.LastIndexByte(s, '`')], " ,;:(")
	}
	return s + " …"
}

// ReadStatements reads all documents of a repository. A number that is stated
// twice is an error.
func ReadStatements(root string) ([]Statement, error) {
	var all []Statement
	for _, name := range Documents {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, Statements(name, string(data))...)
	}
	slices.SortStableFunc(all, func(a, b Statement) int { return compare(a.ID, b.ID) })
	for i := range all[:max(len(all)-1, 0)] {
		if all[i].ID == all[i+1].ID {
			return nil, fmt.Errorf("%s is stated in %s and again in %s", all[i].ID, all[i].In, all[i+1].In)
		}
	}
	return all, nil
}

// ReadExclusions reads the reasons for which numbers have no test, the rows of
// a table.
func ReadExclusions(root string) (map[ID]string, error) {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(Exclusions)))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	reasons := map[ID]string{}
	for line := range strings.Lines(string(data)) {
		m := row.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		id := ID(m[1])
		if reasons[id] != "" {
			return nil, fmt.Errorf("%s excludes %s twice", Exclusions, id)
		}
		if reasons[id] = strings.TrimSpace(m[2]); reasons[id] == "" {
			return nil, fmt.Errorf("%s excludes %s without a reason", Exclusions, id)
		}
	}
	return reasons, nil
}

// Faults returns what is wrong between statements, tests and exclusions, in
// words.
func Faults(statements []Statement, tests map[ID][]Test, exclusions map[ID]string) []string {
	var faults []string
	stated := map[ID]bool{}
	for _, s := range statements {
		stated[s.ID] = true
		switch {
		case len(tests[s.ID]) == 0 && exclusions[s.ID] == "":
			faults = append(faults, fmt.Sprintf("%s of %s has neither a test that names it nor an exclusion with a reason", s.ID, s.In))
		case len(tests[s.ID]) > 0 && exclusions[s.ID] != "":
			faults = append(faults, fmt.Sprintf("%s is excluded in %s, but %s tests it: take the exclusion out", s.ID, Exclusions, tests[s.ID][0]))
		}
	}
	for id := range exclusions {
		if !stated[id] {
			faults = append(faults, fmt.Sprintf("%s excludes %s, which no document states", Exclusions, id))
		}
	}
	slices.Sort(faults)
	return faults
}
