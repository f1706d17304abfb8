package githubfake

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// ask sends one request and returns status, body and header.
func ask(t *testing.T, a *API, method, path, body string) (int, string, http.Header) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w.Code, w.Body.String(), w.Result().Header
}

// get returns what a path answers, which has to be JSON.
func get[T any](t *testing.T, a *API, path string) T {
	t.Helper()
	var v T
	status, body, _ := ask(t, a, "GET", path, "")
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, status, body)
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("GET %s: %v: %.200s", path, err, body)
	}
	return v
}

const repo = "/api/v3/repos/acme/portal"

// reads are one path of each kind that can be read.
var reads = []string{
	"/api/v3/user", "/api/v3/search/code?q=deprecatedCharge+org:acme", "/api/v3/search/issues?q=is:issue+crash", "/api/v3/search/issues?q=is:pr+narrow", "/api/v3/search/repositories?q=service",
	"/api/v3/search/users?q=ines", "/api/v3/search/commits?q=basket", repo, repo + "/contents/src", repo + "/contents/CHANGELOG.md", repo + "/branches", repo + "/git/ref/heads/main", repo + "/tags", repo + "/commits", repo + "/commits/main",
	repo + "/commits/main/status", repo + "/commits/main/check-runs", repo + "/releases", repo + "/releases/latest", repo + "/releases/tags/v2.12.0", repo + "/issues/417", repo + "/issues/417/comments", repo + "/pulls", repo + "/pulls/612",
	repo + "/pulls/612/files", repo + "/pulls/612/commits", repo + "/pulls/612/reviews",
}

func TestSameBytesFromEveryAPI(t *testing.T) {
	one, two := New(), New()
	for _, path := range reads {
		status, a, _ := ask(t, one, "GET", path, "")
		_, b, _ := ask(t, two, "GET", path, "")
		if status != http.StatusOK || len(a) < 100 {
			t.Errorf("%s: %d %s", path, status, a)
		}
		if a != b {
			t.Errorf("%s differs between two", path)
		}
	}
}

// What is cut away in tests is there: records have the members of GitHub's, not
// those that somebody wants.
func TestRecordsAreAsWideAsGitHubs(t *testing.T) {
	a := New()
	type items struct{ Items []map[string]any }
	for path, want := range map[string]int{"/api/v3/search/issues?q=crash": 32, "/api/v3/search/repositories?q=service": 70} {
		if got := get[items](t, a, path).Items; len(got) == 0 || len(got[0]) < want {
			t.Errorf("%s: a hit has %d members, want %d and more", path, len(got[0]), want)
		}
	}
	hit := get[items](t, a, "/api/v3/search/code?q=deprecatedCharge").Items[0]
	if in := hit["repository"].(map[string]any); len(in) < 46 {
		t.Errorf("the repository of a hit has %d members, want 46 and more", len(in))
	}
	match := hit["text_matches"].([]any)[0].(map[string]any)
	if text := match["fragment"].(string); !strings.Contains(text, "deprecatedCharge") {
		t.Errorf("the fragment of a hit does not show what was looked for: %q", text)
	}
	if got := get[map[string]any](t, a, repo+"/pulls/612"); len(got) < 49 {
		t.Errorf("a pull request has %d members, want 49 and more", len(got))
	}
}

func TestPages(t *testing.T) {
	a := New()
	_, body, header := ask(t, a, "GET", repo+"/releases?per_page=20&page=2", "")
	var all []map[string]any
	if err := json.Unmarshal([]byte(body), &all); err != nil || len(all) != 20 {
		t.Errorf("page 2 has %d releases: %v", len(all), err)
	}
	if link := header.Get("Link"); !strings.Contains(link, "page=3") || !strings.Contains(link, `rel="next"`) {
		t.Errorf("Link: %s", link)
	}
	_, body, header = ask(t, a, "GET", repo+"/releases?per_page=20&page=3", "")
	if json.Unmarshal([]byte(body), &all); len(all) != releaseCount-40 || header.Get("Link") != "" {
		t.Errorf("the last page has %d releases, Link %q", len(all), header.Get("Link"))
	}
	if _, body, _ := ask(t, a, "GET", repo+"/releases?page=9", ""); strings.TrimSpace(body) != "[]" {
		t.Errorf("a page behind the end: %s", body)
	}
}

func TestWritesAreKeptUntilReset(t *testing.T) {
	a := New()
	write := func(method, path, body string, want int) {
		t.Helper()
		if status, answer, _ := ask(t, a, method, path, body); status != want {
			t.Errorf("%s %s: %d, want %d: %s", method, path, status, want, answer)
		}
	}
	before, _, _ := ask(t, a, "GET", repo+"/issues/641", "")
	write("POST", repo+"/issues", `{"title": "A thing", "labels": ["bug"]}`, 201)
	write("PATCH", repo+"/issues/417", `{"labels": ["regression"], "assignees": ["tomasz-w"]}`, 200)
	write("POST", repo+"/issues/417/comments", `{"body": "Seen first in build 8117"}`, 201)
	write("POST", repo+"/issues/417/sub_issues", `{"sub_issue_id": 2200000418}`, 201)
	write("POST", repo+"/pulls/612/comments", `{"body": "It will", "in_reply_to": 1810006124}`, 201)
	write("PUT", repo+"/contents/docs/new.md", `{"message": "m", "content": "IyBOZXcK"}`, 201)
	write("PUT", repo+"/contents/docs/new.md", `{"message": "m", "content": "IyBOZXcK", "sha": "of another"}`, 409)
	write("POST", repo+"/issues", `{"body": "no title"}`, 422)
	write("PATCH", repo+"/issues/417", `{"labels": ["no-such"]}`, 422)
	if got := get[map[string]any](t, a, repo+"/issues/641"); before != 404 || got["title"] != "A thing" {
		t.Errorf("the new issue: %v", got)
	}
	issue := get[map[string]any](t, a, repo+"/issues/417")
	if len(issue["labels"].([]any)) != 1 || len(issue["assignees"].([]any)) != 1 || issue["comments"] != 25.0 || issue["sub"] != nil {
		t.Errorf("the issue: %v", issue)
	}
	if below := get[[]map[string]any](t, a, repo+"/issues/417/sub_issues"); len(below) != 1 || below[0]["number"] != 418.0 {
		t.Errorf("what stands below it: %v", below)
	}
	if threads := a.threads(reviewed); len(threads[4]["comments"].(object)["nodes"].([]object)) != 3 {
		t.Errorf("the thread: %v", threads[4])
	}
	write("POST", "/reset", "", 204)
	if again := get[map[string]any](t, a, repo+"/issues/417"); again["comments"] != 24.0 {
		t.Errorf("after the reset: %v", again["comments"])
	}
	if status, _, _ := ask(t, a, "GET", repo+"/issues/641", ""); status != 404 {
		t.Errorf("the new issue is still there: %d", status)
	}
}

// What is not there is not found in GitHub's words, and GraphQL says so in its
// own.
func TestNotFound(t *testing.T) {
	a := New()
	for _, path := range []string{"/api/v3/repos/acme/none", repo + "/issues/1", repo + "/pulls/417", repo + "/issues/x", repo + "/contents/none", repo + "/releases/tags/v9", "/api/v3/gists"} {
		if status, body, _ := ask(t, a, "GET", path, ""); status != 404 || !strings.Contains(body, `"message":"Not Found"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if _, body, _ := ask(t, a, "POST", "/api/graphql", `{"query": "{viewer{login}}"}`); !strings.Contains(body, `"errors"`) {
		t.Errorf("a document that is not known: %s", body)
	}
}

func TestGraphQLListsByCursor(t *testing.T) {
	a := New()
	list := func(after string) (numbers []any, next string) {
		t.Helper()
		vars, err := json.Marshal(object{"owner": org, "repo": "portal", "states": []string{"OPEN"}, "direction": "ASC", "first": 70, "after": after})
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := ask(t, a, "POST", "/api/graphql", `{"query": "{repository{issues(first: $first)}}", "variables": `+string(vars)+`}`)
		var got struct {
			Data struct {
				Repository struct {
					Issues struct {
						Nodes      []map[string]any
						TotalCount int
						PageInfo   struct {
							HasNextPage bool
							EndCursor   string
						}
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		issues := got.Data.Repository.Issues
		for _, n := range issues.Nodes {
			numbers = append(numbers, n["number"])
		}
		if issues.TotalCount != 96 || issues.PageInfo.HasNextPage == (len(numbers) < 70) {
			t.Errorf("%d in all, more: %v", issues.TotalCount, issues.PageInfo.HasNextPage)
		}
		return numbers, issues.PageInfo.EndCursor
	}
	first, cursor := list("")
	second, _ := list(cursor)
	if len(first) != 70 || len(second) != 26 || first[0] != 401.0 || second[0] == first[69] {
		t.Errorf("%v and %v", first, second)
	}
}
