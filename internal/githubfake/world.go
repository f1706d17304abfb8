package githubfake

import "fmt"

// The organization, its main repository and that one's branch.
const (
	org    = "acme"
	portal = org + "/portal"
	branch = "main"
)

// repos are all repositories: the portal and what it stands on.
var repos = func() []string {
	all := []string{portal}
	for i := 1; i <= 24; i++ {
		all = append(all, fmt.Sprintf("%s/service-%02d", org, i))
	}
	return all
}()

// world is what can be written to.
type world struct {
	issues   []object         // of the portal, oldest first
	comments map[int][]object // of issues and pull requests, by number
	pulls    []object         // of the portal, oldest first
	threads  map[int][]object // of the review, by pull request
	files    map[string]string
	branches []string
	writes   int // counted for ids and times of what is written
}

func newWorld() *world {
	w := &world{comments: map[int][]object{}, threads: map[int][]object{}, files: corpus(), branches: []string{branch, "release-2", "fix/empty-basket", "feat/retry-payments"}}
	for i := range issueCount {
		w.issues = append(w.issues, newIssue(i))
		w.comments[firstIssue+i] = newComments(firstIssue+i, w.issues[i]["comments"].(int))
	}
	for i := range pullCount {
		w.pulls = append(w.pulls, newPull(i))
		w.comments[firstPull+i] = newComments(firstPull+i, w.pulls[i]["comments"].(int))
	}
	return w
}

// now counts a write, and gives its number and its time.
func (w *world) now() (int, string) {
	w.writes++
	return w.writes, at(2000 + w.writes)
}

func (w *world) issue(number int) object {
	for _, of := range [][]object{w.issues, w.pulls} {
		for _, i := range of {
			if i["number"] == number {
				return i
			}
		}
	}
	return nil
}

func (w *world) pull(number int) object {
	for _, p := range w.pulls {
		if p["number"] == number {
			return p
		}
	}
	return nil
}
