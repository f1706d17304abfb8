package officialsuite

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// check is one entry of the checks.json that the suite writes for a scenario.
type check struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Status  string `json:"status"`
	Message string `json:"errorMessage"`
}

// outcome is what one run of the suite came to.
type outcome struct {
	exit   int
	checks map[string][]check // by scenario
}

// stamp is what the suite puts behind a scenario's name in that of its folder.
var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[0-9-]+Z$`)

// readChecks reads the results that the suite left in dir, in folders whose names
// begin with prefix.
func readChecks(dir, prefix string) (map[string][]check, error) {
	all := map[string][]check{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "checks.json" {
			return err
		}
		folder, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		scenario := strings.TrimPrefix(stamp.ReplaceAllString(filepath.ToSlash(folder), ""), prefix)
		if _, again := all[scenario]; again {
			return fmt.Errorf("scenario %s has two results", scenario)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var checks []check
		if err := json.Unmarshal(data, &checks); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all[scenario] = slices.DeleteFunc(checks, traffic)
		return nil
	})
	return all, err
}

// traffic reports whether a check is a line of the suite's log of messages.
// Those are no verdicts, and that of concurrent messages varies from run to run.
func traffic(c check) bool {
	return c.Status == "INFO" && (strings.HasPrefix(c.ID, "incoming-") || strings.HasPrefix(c.ID, "outgoing-") || c.ID == "stream-closed")
}

// tally counts the checks of a run by status.
func tally(checks map[string][]check) map[string]int {
	n := map[string]int{}
	for _, all := range checks {
		for _, c := range all {
			n[c.Status]++
		}
	}
	return n
}

// difference is a check on which two runs disagree. A check that ran more than
// once has all its statuses, and one that did not run has none.
type difference struct {
	scenario, check string
	direct, through string
	message         string // why the suite failed it through the gateway
}

func (d difference) String() string {
	s := fmt.Sprintf("scenario %s, check %s: directly %s, through the gateway %s",
		d.scenario, d.check, cmp.Or(d.direct, "not run"), cmp.Or(d.through, "not run"))
	if d.message != "" {
		s += ": " + d.message
	}
	return s
}

// compare returns the differences between two runs in the order of scenarios
// and of their checks. One that is in known has to be there exactly so, or is
// itself a difference.
func compare(direct, through outcome, known []difference) []difference {
	var all []difference
	for _, scenario := range union(slices.Sorted(maps.Keys(direct.checks)), slices.Sorted(maps.Keys(through.checks))) {
		all = append(all, compareScenario(scenario, direct.checks[scenario], through.checks[scenario])...)
	}
	for _, want := range known {
		same := func(d difference) bool {
			d.message = ""
			return d == want
		}
		if i := slices.IndexFunc(all, same); i >= 0 {
			all = slices.Delete(all, i, i+1)
			continue
		}
		want.message = "this difference was known, and is there no more"
		all = append(all, want)
	}
	if direct.exit != through.exit {
		all = append(all, difference{scenario: "of all", check: "exit status", direct: fmt.Sprint(direct.exit), through: fmt.Sprint(through.exit)})
	}
	return all
}

func compareScenario(scenario string, direct, through []check) []difference {
	before, names := statuses(direct)
	after, more := statuses(through)
	var all []difference
	for _, name := range union(names, more) {
		if before[name] == after[name] {
			continue
		}
		d := difference{scenario: scenario, check: name, direct: before[name], through: after[name]}
		for _, c := range through {
			if title(c) == name {
				d.message = cmp.Or(d.message, c.Message)
			}
		}
		all = append(all, d)
	}
	return all
}

// title names a check: several with one id differ by name.
func title(c check) string { return c.ID + " (" + c.Name + ")" }

// statuses returns the statuses of each check, sorted, and the names in order.
func statuses(checks []check) (of map[string]string, names []string) {
	lists := map[string][]string{}
	for _, c := range checks {
		name := title(c)
		if lists[name] == nil {
			names = append(names, name)
		}
		lists[name] = append(lists[name], c.Status)
	}
	of = map[string]string{}
	for name, list := range lists {
		slices.Sort(list)
		of[name] = strings.Join(list, ", ")
	}
	return of, names
}

// union is a, and what only b has behind it.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(a, s) {
			all = append(all, s)
		}
	}
	return all
}
