package githubfake

import (
	"fmt"
	"net/http"
	"strings"
)

// firstRemark is the number of the comment that a thread of a review begins
// with: the thread's place in the review is its last digit.
func firstRemark(pull, i int) int { return 1_810_000_000 + pull*10 + i }

// thread is one thread of a review, as GraphQL tells it.
func thread(number, i int, replies []object) object {
	id := firstRemark(number, i)
	file := fmt.Sprintf("src/%s/part_%d.ts", strings.ReplaceAll(pages[(number+i)%len(pages)], " ", "_"), i)
	body := fmt.Sprintf("Could this take the name from the grid? %s", strings.Repeat("It is what the other pages do, and one place less to change. ", 1+i%3))
	resolved := i%2 == 0
	if number == reviewed && i == 4 {
		body, resolved = "This sends the charge again with a new key. Keep the idempotency key of the first try, or the customer pays twice.", false
	}
	comments := []object{threadComment(number, id, file, 12+i*9, body, people[(i+2)%7], at(5*number+i))}
	for k := range i % 3 {
		comments = append(comments, threadComment(number, id+1000+k, file, 12+i*9, "I had it so first, and it grew. Let me see whether it still does.", people[(i+k)%7], at(5*number+i+k+1)))
	}
	comments = append(comments, replies...)
	return object{"id": fmt.Sprintf("PRRT_kwDO%d", id), "isResolved": resolved, "isOutdated": i == 3, "isCollapsed": resolved, "comments": object{"nodes": comments, "totalCount": len(comments)}}
}

func threadComment(number, id int, file string, line int, body, login, when string) object {
	return object{
		"id": fmt.Sprintf("PRRC_kwDO%d", id), "body": body, "path": file, "line": line, "author": object{"login": login}, "createdAt": when, "updatedAt": when,
		"url": fmt.Sprintf("%s/%s/pull/%d#discussion_r%d", htmlURL, portal, number, id),
	}
}

const threadCount = 8

func (a *API) threads(number int) []object {
	all := []object{}
	for i := range threadCount {
		all = append(all, thread(number, i, a.world.threads[firstRemark(number, i)]))
	}
	return all
}

// reply answers a comment of a review, and echoes it with the lines that it
// stands at, as REST does.
func (a *API) reply(r *request) (int, any) {
	p, sent := a.world.pull(r.number("number")), r.body()
	if p == nil || r.repo() != portal {
		return notFound, missing
	}
	body, _ := sent["body"].(string)
	to, ok := sent["in_reply_to"].(float64)
	if body == "" || !ok {
		return invalid("body and in_reply_to are required")
	}
	number := p["number"].(int)
	for i := range threadCount {
		id := firstRemark(number, i)
		if id != int(to) {
			continue
		}
		first := thread(number, i, nil)["comments"].(object)["nodes"].([]object)[0]
		n, when := a.world.now()
		made := 1_820_000_000 + n
		a.world.threads[id] = append(a.world.threads[id], threadComment(number, made, first["path"].(string), first["line"].(int), body, people[len(people)-1], when))
		url := fmt.Sprintf("%s/repos/%s/pulls/comments/%d", apiURL, portal, made)
		return http.StatusCreated, object{
			"id": made, "node_id": fmt.Sprintf("PRRC_kwDO%d", made), "url": url, "html_url": fmt.Sprintf("%s/%s/pull/%d#discussion_r%d", htmlURL, portal, number, made), "pull_request_url": p["url"], "pull_request_review_id": 2_800_000 + n,
			"in_reply_to_id": id, "body": body, "path": first["path"], "diff_hunk": patch(first["path"].(string), 12), "commit_id": headSHA(number), "original_commit_id": headSHA(number), "position": 9, "original_position": 9,
			"line": first["line"], "original_line": first["line"], "side": "RIGHT", "start_line": nil, "original_start_line": nil, "start_side": nil, "subject_type": "line", "user": user(people[len(people)-1]),
			"author_association": "CONTRIBUTOR", "created_at": when, "updated_at": when, "reactions": reactions(url, 0), "_links": object{"self": object{"href": url}, "html": object{"href": p["html_url"]}, "pull_request": object{"href": p["url"]}},
		}
	}
	return notFound, missing
}
