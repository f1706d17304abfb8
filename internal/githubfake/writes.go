package githubfake

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
)

func invalid(why string) (int, any) {
	return http.StatusUnprocessableEntity, object{"message": "Validation Failed: " + why, "documentation_url": "https://docs.github.com/rest", "status": "422"}
}

// createIssue opens an issue of the portal.
func (a *API) createIssue(r *request) (int, any) {
	if r.repo() != portal {
		return notFound, missing
	}
	sent := r.body()
	if title, _ := sent["title"].(string); title == "" {
		return invalid("title is required")
	}
	_, when := a.world.now()
	number := firstPull + pullCount + a.world.writes
	issue := issueLinks(object{"id": 2_200_000_000 + number, "node_id": fmt.Sprintf("I_kwDO%d", number), "number": number, "title": "", "body": "", "user": user(people[len(people)-1]), "state": "open", "comments": 0, "labels": []object{},
		"html_url": fmt.Sprintf("%s/%s/issues/%d", htmlURL, portal, number), "created_at": when, "updated_at": when})
	if why := change(issue, sent); why != "" {
		return invalid(why)
	}
	a.world.issues = append(a.world.issues, issue)
	return http.StatusCreated, issue
}

func (a *API) editIssue(r *request) (int, any) {
	issue := a.world.issue(r.number("number"))
	if issue == nil || r.repo() != portal {
		return notFound, missing
	}
	if why := change(issue, r.body()); why != "" {
		return invalid(why)
	}
	_, issue["updated_at"] = a.world.now()
	return http.StatusOK, issue
}

// change sets what was sent of an issue or a pull request; the answer says
// what is wrong with it.
func change(issue, sent object) string {
	for _, name := range []string{"title", "body", "state", "state_reason"} {
		if text, ok := sent[name].(string); ok {
			issue[name] = text
		}
	}
	if names, ok := sent["labels"].([]any); ok {
		tags := []object{}
		for _, name := range names {
			if !slices.Contains(labels, fmt.Sprint(name)) {
				return fmt.Sprintf("no label %q", name)
			}
			tags = append(tags, label(fmt.Sprint(name)))
		}
		issue["labels"] = tags
	}
	if names, ok := sent["assignees"].([]any); ok {
		who := []object{}
		for _, name := range names {
			if !slices.Contains(people, fmt.Sprint(name)) {
				return fmt.Sprintf("%q cannot be assigned", name)
			}
			who = append(who, user(fmt.Sprint(name)))
		}
		issue["assignees"], issue["assignee"] = who, nil
		if len(who) > 0 {
			issue["assignee"] = who[0]
		}
	}
	return ""
}

func (a *API) createComment(r *request) (int, any) {
	number := r.number("number")
	issue := a.world.issue(number)
	if issue == nil || r.repo() != portal {
		return notFound, missing
	}
	body, _ := r.body()["body"].(string)
	if body == "" {
		return invalid("body is required")
	}
	n, when := a.world.now()
	comment := newComment(number, 34_000_000+n, body, user(people[len(people)-1]), when)
	a.world.comments[number] = append(a.world.comments[number], comment)
	issue["comments"] = issue["comments"].(int) + 1
	return http.StatusCreated, comment
}

// addSubIssue puts one issue below another, and answers with that other.
func (a *API) addSubIssue(r *request) (int, any) {
	parent, sent := a.world.issue(r.number("number")), r.body()
	id, _ := sent["sub_issue_id"].(float64)
	for _, child := range a.world.issues {
		if parent == nil || child["id"] != int(id) {
			continue
		}
		below, _ := parent["sub"].([]int)
		parent["sub"] = append(below, child["number"].(int))
		return http.StatusCreated, visible(parent)
	}
	return notFound, missing
}

func (a *API) subIssues(r *request) (int, any) {
	parent := a.world.issue(r.number("number"))
	if parent == nil {
		return notFound, missing
	}
	all := []object{}
	below, _ := parent["sub"].([]int)
	for _, number := range below {
		all = append(all, visible(a.world.issue(number)))
	}
	return http.StatusOK, page(r, all)
}

// visible is an issue without what the fake keeps with it.
func visible(issue object) object {
	shown := maps.Clone(issue)
	delete(shown, "sub")
	return shown
}

func (a *API) createPull(r *request) (int, any) {
	sent := r.body()
	head, _ := sent["head"].(string)
	if r.repo() != portal || !slices.Contains(a.world.branches, head) {
		return invalid(fmt.Sprintf("head %q is no branch", head))
	}
	_, when := a.world.now()
	p := newPull(pullCount + a.world.writes)
	p["user"], p["head"], p["created_at"], p["updated_at"], p["state"] = user(people[len(people)-1]), side(head, sha("head", head)), when, when, "open"
	if why := change(p, sent); why != "" {
		return invalid(why)
	}
	a.world.pulls = append(a.world.pulls, p)
	return http.StatusCreated, p
}

func (a *API) editPull(r *request) (int, any) {
	p := a.world.pull(r.number("number"))
	if p == nil || r.repo() != portal {
		return notFound, missing
	}
	if why := change(p, r.body()); why != "" {
		return invalid(why)
	}
	_, p["updated_at"] = a.world.now()
	return http.StatusOK, p
}

func (a *API) mergePull(r *request) (int, any) {
	p := a.world.pull(r.number("number"))
	if p == nil || r.repo() != portal {
		return notFound, missing
	}
	if p["merged"] == true {
		return http.StatusMethodNotAllowed, object{"message": "Pull Request is not mergeable", "documentation_url": "https://docs.github.com/rest", "status": "405"}
	}
	p["merged"], p["state"] = true, "closed"
	return http.StatusOK, object{"sha": p["merge_commit_sha"], "merged": true, "message": "Pull Request successfully merged"}
}

// putFile writes a file, and echoes where it is and the commit that did it.
func (a *API) putFile(r *request) (int, any) {
	sent, name := r.body(), strings.Trim(r.PathValue("path"), "/")
	encoded, _ := sent["content"].(string)
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || !slices.Contains(repos, r.repo()) {
		return invalid("content is not base64")
	}
	key, status := r.repo()+":"+name, http.StatusCreated
	if old, ok := a.world.files[key]; ok {
		if status = http.StatusOK; sent["sha"] != sha("blob", old) {
			return http.StatusConflict, object{"message": name + " does not match", "documentation_url": "https://docs.github.com/rest", "status": "409"}
		}
	}
	a.world.files[key] = string(text)
	n, when := a.world.now()
	commit := newCommit(commitCount + n)["commit"].(object)
	who := object{"name": "Spillway agent", "email": "agent@users.noreply.example.org", "date": when}
	commit["sha"], commit["message"], commit["author"], commit["committer"] = sha("written", n), sent["message"], who, who
	commit["html_url"], commit["node_id"], commit["parents"] = htmlURL+"/"+r.repo()+"/commit/"+sha("written", n), "C_kwDOw", []object{}
	return status, object{"content": fileEntry(r.repo(), name, string(text)), "commit": commit}
}

func (a *API) ref(r *request) (int, any) {
	name := r.PathValue("ref")
	short, isHead := strings.CutPrefix(name, "heads/")
	if !slices.Contains(repos, r.repo()) || !isHead || !slices.Contains(a.world.branches, short) {
		return notFound, missing
	}
	return http.StatusOK, gitRef(r.repo(), name)
}

func gitRef(repo, name string) object {
	id := sha("commit", repo)
	return object{"ref": "refs/" + name, "node_id": "REF_" + path.Base(name), "url": apiURL + "/repos/" + repo + "/git/refs/" + name, "object": object{"type": "commit", "sha": id, "url": apiURL + "/repos/" + repo + "/git/commits/" + id}}
}

func (a *API) createRef(r *request) (int, any) {
	full, _ := r.body()["ref"].(string)
	short, ok := strings.CutPrefix(full, "refs/heads/")
	if !ok || slices.Contains(a.world.branches, short) {
		return invalid(fmt.Sprintf("reference %q is no new branch", full))
	}
	a.world.branches = append(a.world.branches, short)
	return http.StatusCreated, gitRef(r.repo(), "heads/"+short)
}

func (a *API) listBranches(r *request) (int, any) {
	all := []object{}
	for _, name := range a.world.branches {
		all = append(all, object{"name": name, "commit": object{"sha": sha("commit", r.repo()), "url": apiURL + "/repos/" + r.repo() + "/commits/" + sha("commit", r.repo())}, "protected": name == branch})
	}
	return http.StatusOK, page(r, all)
}
