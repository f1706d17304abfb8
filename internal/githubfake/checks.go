package githubfake

import (
	"fmt"
	"net/http"
)

// failing is the check of the reviewed pull request that fails.
const failing = "integration (postgres)"

var jobs = []string{"lint", "types", "unit (node 20)", "unit (node 22)", "unit (node 24)", failing, "integration (sqlite)", "end to end (firefox)", "end to end (chrome)", "end to end (safari)", "bundle size", "licences", "container", "docs", "links", "accessibility"}

func (a *API) checkRuns(r *request) (int, any) {
	all, head := []object{}, revision(r.PathValue("sha"))
	for i, name := range jobs {
		id := 50_210_000_000 + i
		outcome := "success"
		if name == failing && head == headSHA(reviewed) {
			outcome = "failure"
		}
		job := fmt.Sprintf("%s/%s/actions/runs/1911/job/%d", htmlURL, portal, id)
		all = append(all, object{
			"id": id, "node_id": fmt.Sprintf("CR_kwDO%d", id), "name": name, "head_sha": head, "external_id": sha("run", i)[:36], "url": fmt.Sprintf("%s/repos/%s/check-runs/%d", apiURL, portal, id), "html_url": job, "details_url": job,
			"status": "completed", "conclusion": outcome, "started_at": at(3000), "completed_at": at(3001), "pull_requests": []object{},
			"output":      object{"title": nil, "summary": nil, "text": nil, "annotations_count": 0, "annotations_url": fmt.Sprintf("%s/repos/%s/check-runs/%d/annotations", apiURL, portal, id)},
			"check_suite": object{"id": 40_110_000_000}, "app": object{"id": 15368, "slug": "github-actions", "name": "GitHub Actions", "owner": user(org)},
		})
	}
	return http.StatusOK, object{"total_count": len(all), "check_runs": page(r, all)}
}

func (a *API) combinedStatus(r *request) (int, any) {
	id := revision(r.PathValue("sha"))
	statuses := []object{}
	for i := range 12 {
		state, what := "success", "The preview is up"
		if i == 5 && id == headSHA(reviewed) {
			state, what = "failure", "Coverage fell by 2.4 %"
		}
		n := 28_500_000_000 + i
		statuses = append(statuses, object{
			"id": n, "node_id": fmt.Sprintf("SC_kwDO%d", n), "url": fmt.Sprintf("%s/repos/%s/statuses/%s", apiURL, portal, id), "avatar_url": "https://avatars.githubusercontent.com/oa/1?v=4", "state": state, "description": what,
			"target_url": fmt.Sprintf("https://ci.example.org/%s/%d", id, n), "context": fmt.Sprintf("ci/preview-%d", i), "created_at": at(3000), "updated_at": at(3000 + i),
		})
	}
	state := "success"
	if id == headSHA(reviewed) {
		state = "failure"
	}
	return http.StatusOK, object{"state": state, "statuses": statuses, "sha": id, "total_count": len(statuses), "repository": repository(portal), "commit_url": apiURL + "/repos/" + portal + "/commits/" + id, "url": apiURL + "/repos/" + portal + "/commits/" + id + "/status"}
}
