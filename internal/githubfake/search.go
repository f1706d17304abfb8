package githubfake

import (
	"net/http"
	"strings"
)

// query is what was typed: words, and qualifiers as in repo:acme/portal.
type query struct {
	text []string
	is   map[string]string
	tags []string // of label:
}

func parseQuery(q string) query {
	parsed := query{is: map[string]string{}}
	for _, word := range strings.Fields(q) {
		key, value, ok := strings.Cut(word, ":")
		switch value = strings.Trim(value, `"`); {
		case !ok:
			parsed.text = append(parsed.text, strings.Trim(word, `"`))
		case key == "label":
			parsed.tags = append(parsed.tags, value)
		case key == "is" && (value == "open" || value == "closed"):
			parsed.is["state"] = value
		case key == "is" && value == "merged": // here every one that is closed is merged
			parsed.is["state"] = "closed"
		case key == "is":
			parsed.is["type"] = value
		default:
			parsed.is[key] = value
		}
	}
	return parsed
}

// repository tells whether the query is about the repository.
func (q query) repository(full string) bool {
	owner, _, _ := strings.Cut(full, "/")
	for _, key := range []string{"org", "user"} {
		if q.is[key] != "" && q.is[key] != owner {
			return false
		}
	}
	return q.is["repo"] == "" || q.is["repo"] == full
}

// words tells whether each word of the query is in the text, in any case.
func (q query) words(text string) bool {
	text = strings.ToLower(text)
	for _, word := range q.text {
		if !strings.Contains(text, strings.ToLower(word)) {
			return false
		}
	}
	return true
}

// found is a page of hits as every search answers.
func found(r *request, hits []object) object {
	return object{"total_count": len(hits), "incomplete_results": false, "items": page(r, hits)}
}

func (a *API) searchIssues(r *request) (int, any) {
	q := parseQuery(r.URL.Query().Get("q"))
	hits := []object{}
	of := a.world.issues
	if q.is["type"] == "pr" {
		of = a.world.pulls
	}
	for _, i := range of {
		if !q.repository(portal) || (q.is["state"] != "" && i["state"] != q.is["state"]) || !q.words(i["title"].(string)+" "+i["body"].(string)) || !tagged(i, q.tags) {
			continue
		}
		hits = append(hits, asIssue(i))
	}
	return http.StatusOK, found(r, hits)
}

// tagged tells whether an issue has all of the labels.
func tagged(issue object, names []string) bool {
	for _, name := range names {
		has := false
		for _, l := range issue["labels"].([]object) {
			has = has || l["name"] == name
		}
		if !has {
			return false
		}
	}
	return true
}

func (a *API) searchRepositories(r *request) (int, any) {
	q := parseQuery(r.URL.Query().Get("q"))
	hits := []object{}
	for _, full := range repos {
		if whole := wholeRepository(full); q.repository(full) && q.words(full+" "+whole["description"].(string)) {
			hits = append(hits, whole)
		}
	}
	return http.StatusOK, found(r, hits)
}

func (a *API) searchUsers(r *request) (int, any) {
	q := parseQuery(r.URL.Query().Get("q"))
	hits := []object{}
	for _, login := range people {
		if q.words(login) {
			hits = append(hits, user(login))
		}
	}
	return http.StatusOK, found(r, hits)
}

func (a *API) searchCommits(r *request) (int, any) {
	q := parseQuery(r.URL.Query().Get("q"))
	hits := []object{}
	for i := range commitCount {
		c := newCommit(i)
		if q.repository(portal) && q.words(message(i)) {
			c["repository"], c["score"] = repository(portal), 1.0
			hits = append(hits, c)
		}
	}
	return http.StatusOK, found(r, hits)
}
