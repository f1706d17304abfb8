package githubfake

import (
	"fmt"
	"strings"
)

const (
	firstIssue = 401
	issueCount = 120
	// crash is the issue that tasks are about: its comments say where the
	// fault was seen first, and who knows it.
	crash = 417
)

var pages = []string{"basket", "checkout", "catalogue", "order history", "address book", "vouchers", "search results", "returns"}

func newIssue(i int) object {
	number := firstIssue + i
	where := pages[i%len(pages)]
	title := fmt.Sprintf("Layout of the %s is off on a narrow screen (%d px)", where, 320+8*i)
	names := []string{[]string{"bug", "enhancement", "question"}[i%3], "needs-triage"}
	count := i % 6
	if number == crash {
		title, count = "Checkout crashes when the basket is empty", 24
		names = []string{"bug", "needs-triage"}
	} else if i%4 == 1 {
		title = fmt.Sprintf("Wrong total in the %s when voucher V-%d is used twice", where, 1000+37*i)
	}
	body := fmt.Sprintf("### What happened\n\nOpen the %s, then go back and forth twice.\n\n### Steps\n\n1. sign in as a customer with %d orders\n2. open the %s\n3. wait for the spinner\n\n### What should have happened\n\n%s\n### Environment\n\n| | |\n| --- | --- |\n| build | %d |\n| browser | Firefox %d |\n\nNo crash report was written.\n",
		where, i%7, where, strings.Repeat("The page comes up as on the design, with the totals of the last order and without the notice. ", 4+i%5), 8200+i, 120+i%9)
	state := "open"
	if i%5 == 4 {
		state = "closed"
	}
	issue := object{"id": 2_200_000_000 + number, "node_id": fmt.Sprintf("I_kwDO%d", number), "number": number, "title": title, "body": body, "user": person(i), "state": state, "comments": count,
		"html_url": fmt.Sprintf("%s/%s/issues/%d", htmlURL, portal, number), "created_at": at(4 * i), "updated_at": at(4*i + 30), "closed_at": nil, "state_reason": nil}
	var tags []object
	for _, name := range names {
		tags = append(tags, label(name))
	}
	issue["labels"] = tags
	if state == "closed" {
		issue["closed_at"], issue["state_reason"], issue["closed_by"] = at(4*i+31), "completed", person(i+1)
	}
	return issueLinks(issue)
}

// issueLinks adds to an issue what every one of them has.
func issueLinks(issue object) object {
	url := fmt.Sprintf("%s/repos/%s/issues/%d", apiURL, portal, issue["number"])
	for name, value := range (object{
		"url": url, "repository_url": apiURL + "/repos/" + portal, "labels_url": url + "/labels{/name}", "comments_url": url + "/comments", "events_url": url + "/events", "timeline_url": url + "/timeline",
		"locked": false, "active_lock_reason": nil, "assignee": nil, "assignees": []object{}, "milestone": nil, "author_association": "NONE", "performed_via_github_app": nil, "type": nil,
		"reactions": reactions(url, issue["number"].(int)%4), "score": 1.0,
		"sub_issues_summary": object{"total": 0, "completed": 0, "percent_completed": 0}, "issue_dependencies_summary": object{"blocked_by": 0, "total_blocked_by": 0, "blocking": 0, "total_blocking": 0},
	}) {
		if issue[name] == nil {
			issue[name] = value
		}
	}
	return issue
}

func newComments(number, count int) []object {
	all := []object{}
	for i := range count {
		body := fmt.Sprintf("I can%s see it as well, with %d things in the basket. %s", []string{"", "not"}[i%2], i, strings.Repeat("I have cleared the cache, signed out and in again, and it stays as it was. ", 2+i%3))
		if number == crash {
			switch i {
			case 6:
				body = "Went through the crash reports: seen first in build 8117, nothing of the kind before it."
			case 19:
				body = "Bisected: it came in with " + commitSHA(23) + ", which takes the first line of the basket without looking. tomasz-w knows that code, please assign it there and label it regression."
			}
		}
		all = append(all, newComment(number, 33_000_000+number*100+i, body, person(i), at(4*number+i)))
	}
	return all
}

func newComment(number, id int, body string, by object, when string) object {
	url := fmt.Sprintf("%s/repos/%s/issues/comments/%d", apiURL, portal, id)
	return object{
		"id": id, "node_id": fmt.Sprintf("IC_kwDO%d", id), "url": url, "html_url": fmt.Sprintf("%s/%s/issues/%d#issuecomment-%d", htmlURL, portal, number, id), "issue_url": fmt.Sprintf("%s/repos/%s/issues/%d", apiURL, portal, number),
		"user": by, "body": body, "created_at": when, "updated_at": when, "author_association": "CONTRIBUTOR", "performed_via_github_app": nil, "reactions": reactions(url, id%3),
	}
}
