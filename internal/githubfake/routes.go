package githubfake

import (
	"net/http"
	"slices"
)

// routes are what REST answers. Everything else is not found.
func (a *API) routes() map[string]answer {
	const repo = "/api/v3/repos/{owner}/{repo}"
	return map[string]answer{
		"GET /api/v3/{$}":                 a.root,
		"GET /api/v3/user":                a.me,
		"GET /api/v3/search/code":         a.searchCode,
		"GET /api/v3/search/issues":       a.searchIssues,
		"GET /api/v3/search/repositories": a.searchRepositories,
		"GET /api/v3/search/users":        a.searchUsers,
		"GET /api/v3/search/commits":      a.searchCommits,

		"GET " + repo:                         a.getRepository,
		"GET " + repo + "/contents/{path...}": a.contents,
		"PUT " + repo + "/contents/{path...}": a.putFile,
		"GET " + repo + "/branches":           a.listBranches,
		"GET " + repo + "/git/ref/{ref...}":   a.ref,
		"POST " + repo + "/git/refs":          a.createRef,
		"GET " + repo + "/tags":               a.tags,
		"GET " + repo + "/commits":            a.commits,
		"GET " + repo + "/commits/{sha}":      a.commit,

		"GET " + repo + "/commits/{sha}/status":     a.combinedStatus,
		"GET " + repo + "/commits/{sha}/check-runs": a.checkRuns,
		"GET " + repo + "/releases":                 a.releases,
		"GET " + repo + "/releases/latest":          a.latestRelease,
		"GET " + repo + "/releases/tags/{tag}":      a.releaseByTag,

		"POST " + repo + "/issues":                     a.createIssue,
		"GET " + repo + "/issues/{number}":             a.getIssue,
		"PATCH " + repo + "/issues/{number}":           a.editIssue,
		"GET " + repo + "/issues/{number}/comments":    a.listComments,
		"POST " + repo + "/issues/{number}/comments":   a.createComment,
		"GET " + repo + "/issues/{number}/sub_issues":  a.subIssues,
		"POST " + repo + "/issues/{number}/sub_issues": a.addSubIssue,

		"GET " + repo + "/pulls":                    a.listPulls,
		"POST " + repo + "/pulls":                   a.createPull,
		"GET " + repo + "/pulls/{number}":           a.withPull(getPull),
		"PATCH " + repo + "/pulls/{number}":         a.editPull,
		"PUT " + repo + "/pulls/{number}/merge":     a.mergePull,
		"GET " + repo + "/pulls/{number}/files":     a.withPull(pullFiles),
		"GET " + repo + "/pulls/{number}/commits":   a.withPull(pullCommits),
		"GET " + repo + "/pulls/{number}/reviews":   a.withPull(pullReviews),
		"POST " + repo + "/pulls/{number}/comments": a.reply,
	}
}

// root is asked for the scopes of a classic token, which its header tells.
func (a *API) root(r *request) (int, any) {
	r.w.Header().Set("X-OAuth-Scopes", "repo, read:org, gist, notifications")
	return http.StatusOK, object{"current_user_url": apiURL + "/user"}
}

func (a *API) me(*request) (int, any) {
	me := user(people[len(people)-1])
	for name, value := range (object{"name": "Spillway agent", "company": "Acme", "location": "Ghent", "bio": "Tries things out", "public_repos": len(repos), "followers": 4, "following": 2, "created_at": at(-20000), "updated_at": at(0)}) {
		me[name] = value
	}
	return http.StatusOK, me
}

func (a *API) getRepository(r *request) (int, any) {
	if !slices.Contains(repos, r.repo()) {
		return notFound, missing
	}
	return http.StatusOK, wholeRepository(r.repo())
}

func (a *API) getIssue(r *request) (int, any) {
	issue := a.world.issue(r.number("number"))
	if issue == nil || r.repo() != portal {
		return notFound, missing
	}
	return http.StatusOK, visible(asIssue(issue))
}

func (a *API) listComments(r *request) (int, any) {
	all, ok := a.world.comments[r.number("number")]
	if !ok || r.repo() != portal {
		return notFound, missing
	}
	return http.StatusOK, page(r, all)
}
