package githubfake

import (
	"fmt"
	"net/http"
	"strings"
)

const (
	firstPull = 600
	pullCount = 40
	// reviewed is the pull request that tasks are about: open, with a review
	// that asks for something and a check that fails.
	reviewed = 612
)

func newPull(i int) object {
	number := firstPull + i
	where := pages[i%len(pages)]
	title, head := fmt.Sprintf("Lay out the %s anew for narrow screens", where), fmt.Sprintf("layout/%s-%d", strings.ReplaceAll(where, " ", "-"), i)
	state := []string{"open", "closed"}[i%2]
	switch number {
	case fixedBy:
		title, head, state = fmt.Sprintf("Do not read the first line of an empty basket, fixes #%d", crash), "fix/empty-basket", "closed"
	case reviewed:
		title, head, state = "Retry a payment when the acquirer does not answer", "feat/retry-payments", "open"
	}
	body := fmt.Sprintf("## Why\n\n%s\n## How\n\nThe %s goes through the grid, as the other pages do.\n\n- [x] tests\n- [ ] screenshots\n", strings.Repeat("On a narrow screen the totals stand below the fold, and people do not find the button. ", 3+i%4), where)
	id := 1_900_000_000 + number
	url := fmt.Sprintf("%s/repos/%s/pulls/%d", apiURL, portal, number)
	issue := fmt.Sprintf("%s/repos/%s/issues/%d", apiURL, portal, number)
	pull := object{
		"id": id, "node_id": fmt.Sprintf("PR_kwDO%d", number), "number": number, "title": title, "body": body, "user": person(i), "state": state, "html_url": fmt.Sprintf("%s/%s/pull/%d", htmlURL, portal, number),
		"url": url, "issue_url": issue, "commits_url": url + "/commits", "review_comments_url": url + "/comments", "review_comment_url": apiURL + "/repos/" + portal + "/pulls/comments{/number}", "comments_url": issue + "/comments",
		"statuses_url": fmt.Sprintf("%s/repos/%s/statuses/%s", apiURL, portal, headSHA(number)), "diff_url": fmt.Sprintf("%s/%s/pull/%d.diff", htmlURL, portal, number), "patch_url": fmt.Sprintf("%s/%s/pull/%d.patch", htmlURL, portal, number),
		"created_at": at(5 * i), "updated_at": at(5*i + 40), "closed_at": nil, "merged_at": nil, "merge_commit_sha": sha("merge", number), "locked": false, "draft": i%11 == 3, "author_association": "MEMBER", "auto_merge": nil, "active_lock_reason": nil,
		"assignee": nil, "assignees": []object{}, "requested_reviewers": []object{person(i + 2)}, "requested_teams": []object{}, "labels": []object{label("layout")}, "milestone": nil,
		"head": side(head, headSHA(number)), "base": side(branch, sha("base")), "merged": false, "mergeable": true, "rebaseable": true, "mergeable_state": "clean", "merged_by": nil, "maintainer_can_modify": false,
		"comments": (i + 2) % 5, "review_comments": 6, "commits": 3 + i%9, "additions": 220 + i, "deletions": 90 + i, "changed_files": 6 + i%9, "score": 1.0,
		"_links": object{"self": object{"href": url}, "html": object{"href": fmt.Sprintf("%s/%s/pull/%d", htmlURL, portal, number)}, "issue": object{"href": issue}, "comments": object{"href": issue + "/comments"}, "commits": object{"href": url + "/commits"}},
	}
	if state == "closed" {
		pull["closed_at"], pull["merged_at"], pull["merged"], pull["merged_by"] = at(5*i+41), at(5*i+41), true, person(i+1)
	}
	if number == reviewed {
		pull["mergeable_state"], pull["changed_files"], pull["labels"] = "blocked", 22, []object{label("payments"), label("enhancement")}
	}
	return pull
}

func headSHA(number int) string { return sha("head", number) }

// side is the head or the base of a pull request, with the whole repository,
// as GitHub sends it.
func side(ref, id string) object {
	return object{"label": org + ":" + ref, "ref": ref, "sha": id, "user": user(org), "repo": wholeRepository(portal)}
}

// asIssue is an issue or a pull request as the search of issues shows it.
func asIssue(i object) object {
	if i["head"] == nil {
		return i
	}
	hit := issueLinks(object{"number": i["number"], "id": i["id"], "node_id": i["node_id"], "title": i["title"], "body": i["body"], "user": i["user"], "state": i["state"], "labels": i["labels"], "comments": i["comments"],
		"html_url": i["html_url"], "created_at": i["created_at"], "updated_at": i["updated_at"], "closed_at": i["closed_at"], "draft": i["draft"], "assignees": i["assignees"]})
	hit["pull_request"] = object{"url": i["url"], "html_url": i["html_url"], "diff_url": i["diff_url"], "patch_url": i["patch_url"], "merged_at": i["merged_at"]}
	return hit
}

func (a *API) listPulls(r *request) (int, any) {
	state := r.URL.Query().Get("state")
	all := []object{}
	if r.repo() != portal {
		return http.StatusOK, all
	}
	for i := len(a.world.pulls) - 1; i >= 0; i-- {
		p := a.world.pulls[i]
		if state == "all" || p["state"] == state || (state == "" && p["state"] == "open") {
			all = append(all, p)
		}
	}
	return http.StatusOK, page(r, all)
}

// withPull answers about a pull request that is there.
func (a *API) withPull(answer func(*request, object) any) answer {
	return func(r *request) (int, any) {
		if p := a.world.pull(r.number("number")); p != nil && r.repo() == portal {
			return http.StatusOK, answer(r, p)
		}
		return notFound, missing
	}
}

func getPull(r *request, p object) any {
	if strings.Contains(r.Header.Get("Accept"), "diff") {
		var b strings.Builder
		for _, f := range changedFiles(p["number"].(int), p["changed_files"].(int)) {
			fmt.Fprintf(&b, "diff --git a/%[1]s b/%[1]s\nindex %.7[2]s..%.7[3]s 100644\n--- a/%[1]s\n+++ b/%[1]s\n%[4]s\n", f["filename"], sha(f["filename"]), f["sha"], f["patch"])
		}
		return b.String()
	}
	return p
}

func pullFiles(r *request, p object) any {
	return page(r, changedFiles(p["number"].(int), p["changed_files"].(int)))
}

func pullCommits(r *request, p object) any {
	all := []object{}
	for i := range p["commits"].(int) {
		all = append(all, newCommit(100+i))
	}
	return page(r, all)
}

func pullReviews(r *request, p object) any {
	all := []object{}
	number := p["number"].(int)
	for i := range 9 {
		id := 2_700_000 + number*10 + i
		state, body := "COMMENTED", strings.Repeat("Went through it file by file, and left some remarks where I would do it otherwise. ", 2+i%3)
		if i == 7 {
			state, body = "CHANGES_REQUESTED", "The retry must not charge twice: see my remark in the file that sends it."
		} else if i == 4 {
			state, body = "APPROVED", ""
		}
		all = append(all, object{
			"id": id, "node_id": fmt.Sprintf("PRR_kwDO%d", id), "user": person(i + 1), "body": body, "state": state, "html_url": fmt.Sprintf("%s/%s/pull/%d#pullrequestreview-%d", htmlURL, portal, number, id),
			"pull_request_url": p["url"], "author_association": "MEMBER", "submitted_at": at(5*number + i), "commit_id": headSHA(number), "_links": object{"html": object{"href": p["html_url"]}, "pull_request": object{"href": p["url"]}},
		})
	}
	return page(r, all)
}
