package githubfake

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Addresses are those of github.com, wherever the fake listens.
const (
	apiURL  = "https://api.github.com"
	htmlURL = "https://github.com"
)

// sha is 40 hex digits that stand for the parts.
func sha(parts ...any) string {
	sum := sha1.Sum([]byte(fmt.Sprint(parts...)))
	return hex.EncodeToString(sum[:])
}

// at is a time of the world, so many hours after it begins.
func at(hours int) string {
	return time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC).Add(time.Duration(hours) * time.Hour).Format(time.RFC3339)
}

// people are the members of the organization, all invented. The last is whom
// the token belongs to.
var people = []string{"ines-k", "tomasz-w", "reyes-a", "okafor-n", "lindqvist-s", "haruka-m", "dupont-c", "spillway-agent"}

func person(i int) object { return user(people[i%(len(people)-1)]) }

func user(login string) object {
	id := 5100 + slices.Index(people, login)
	u := object{
		"login": login, "id": id, "node_id": fmt.Sprintf("U_kgDO%d", id), "gravatar_id": "", "type": "User", "user_view_type": "public", "site_admin": false,
		"avatar_url": fmt.Sprintf("https://avatars.githubusercontent.com/u/%d?v=4", id), "url": apiURL + "/users/" + login, "html_url": htmlURL + "/" + login,
	}
	for name, rest := range map[string]string{
		"followers": "/followers", "following": "/following{/other_user}", "gists": "/gists{/gist_id}", "starred": "/starred{/owner}{/repo}", "subscriptions": "/subscriptions",
		"organizations": "/orgs", "repos": "/repos", "events": "/events{/privacy}", "received_events": "/received_events",
	} {
		u[name+"_url"] = apiURL + "/users/" + login + rest
	}
	return u
}

// repoLinks are the members of a repository that are addresses below its own.
var repoLinks = strings.Fields("archive assignees blobs branches collaborators comments commits compare contents contributors deployments downloads events forks git_commits git_refs git_tags hooks issue_comment issue_events issues keys labels languages merges milestones notifications pulls releases stargazers statuses subscribers subscription tags teams trees")

// repository is a repository as it stands in a hit of a search.
func repository(full string) object {
	owner, name, _ := strings.Cut(full, "/")
	id := 910000 + slices.Index(repos, full)
	r := object{
		"id": id, "node_id": fmt.Sprintf("R_kgDO%d", id), "name": name, "full_name": full, "private": false, "fork": false,
		"owner": user(owner), "html_url": htmlURL + "/" + full, "url": apiURL + "/repos/" + full, "description": about(name),
	}
	for _, link := range repoLinks {
		r[link+"_url"] = apiURL + "/repos/" + full + "/" + link + "{/x}"
	}
	return r
}

// wholeRepository is a repository as it is answered alone, and in a search of
// repositories.
func wholeRepository(full string) object {
	r := repository(full)
	i := slices.Index(repos, full)
	for name, value := range (object{
		"default_branch": branch, "language": "TypeScript", "stargazers_count": 12 + 37*i, "watchers_count": 12 + 37*i, "forks_count": 3 + i, "open_issues_count": 4 + 2*i, "size": 18211 + i,
		"created_at": at(-9000), "updated_at": at(700 + i), "pushed_at": at(701 + i), "archived": false, "disabled": false, "visibility": "public", "topics": []string{"shop", "payments"},
		"has_issues": true, "has_projects": true, "has_wiki": false, "has_pages": false, "has_downloads": true, "has_discussions": false, "allow_forking": true, "is_template": false,
		"git_url": "git://github.com/" + full + ".git", "ssh_url": "git@github.com:" + full + ".git", "clone_url": htmlURL + "/" + full + ".git", "svn_url": htmlURL + "/" + full,
		"homepage": nil, "mirror_url": nil, "forks": 3 + i, "watchers": 12 + 37*i, "open_issues": 4 + 2*i, "web_commit_signoff_required": false, "score": 1.0,
		"license":     object{"key": "apache-2.0", "name": "Apache License 2.0", "spdx_id": "Apache-2.0", "url": apiURL + "/licenses/apache-2.0", "node_id": "MDc6TGljZW5zZTI="},
		"permissions": object{"admin": false, "maintain": false, "push": true, "triage": true, "pull": true},
	}) {
		r[name] = value
	}
	return r
}

func about(name string) string {
	if name == "portal" {
		return "The shop that customers see: catalogue, basket, checkout"
	}
	return "Part " + name + " of what the shop stands on"
}

func label(name string) object {
	i := slices.Index(labels, name)
	return object{
		"id": 3100 + i, "node_id": fmt.Sprintf("LA_kwDO%d", 3100+i), "url": apiURL + "/repos/" + portal + "/labels/" + name, "name": name,
		"color": fmt.Sprintf("%06x", 0xd73a4a-i*0x1111), "default": i < 3, "description": "Issues about " + name,
	}
}

var labels = []string{"bug", "enhancement", "question", "checkout", "layout", "payments", "search", "regression", "needs-triage"}

func reactions(url string, n int) object {
	return object{"url": url + "/reactions", "total_count": n, "+1": n, "-1": 0, "laugh": 0, "hooray": 0, "confused": 0, "heart": 0, "rocket": 0, "eyes": 0}
}
