package githubfake

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// document is what is sent to /api/graphql.
type document struct {
	Query     string `json:"query"`
	Variables object `json:"variables"`
}

// int is a variable that is a number, or the value for one that is not there.
func (d document) int(name string, other int) int {
	if n, ok := d.Variables[name].(float64); ok {
		return int(n)
	}
	return other
}

// graphql knows the documents that the server sends, by a piece of each, and
// answers with exactly the members that it asks for: its client takes no more.
func (a *API) graphql(w http.ResponseWriter, r *http.Request) {
	var d document
	if err := json.NewDecoder(r.Body).Decode(&d); err != nil {
		send(w, http.StatusBadRequest, object{"message": "Problems parsing JSON"})
		return
	}
	about := object{}
	switch has := func(piece string) bool { return strings.Contains(d.Query, piece) }; {
	case has("closeIssue("), has("reopenIssue("):
		if data := a.setState(d); data != nil {
			send(w, http.StatusOK, object{"data": data})
			return
		}
	case has("nodes(ids: $ids)"):
		send(w, http.StatusOK, object{"data": object{"nodes": a.nodes(d)}})
		return
	case d.Variables["owner"] != org || d.Variables["repo"] != "portal":
	case has("issues(first: $first"):
		about["issues"], about["isPrivate"] = a.listIssues(d), false
	case has("reviewThreads("):
		if p := a.world.pull(d.int("prNum", 0)); p != nil {
			about["pullRequest"] = object{"reviewThreads": connection(d, a.threads(p["number"].(int)))}
		}
	case has("label(name: $name)"):
		if name, _ := d.Variables["name"].(string); slices.Contains(labels, name) {
			about["label"] = pick(label(name))
		}
	case has("labels(first: 100)"):
		if issue := a.world.issue(d.int("issueNumber", 0)); issue != nil {
			nodes := []object{}
			for _, l := range issue["labels"].([]object) {
				nodes = append(nodes, pick(l))
			}
			about["issue"] = object{"labels": object{"nodes": nodes, "totalCount": len(nodes)}}
		}
	case has("issue(number: $issueNumber)"):
		if issue := a.world.issue(d.int("issueNumber", 0)); issue != nil {
			about["issue"] = object{"id": issue["node_id"]}
			if twin := a.world.issue(d.int("duplicateOf", 0)); twin != nil {
				about["duplicateIssue"] = object{"id": twin["node_id"]}
			}
		}
	}
	if len(about) == 0 {
		send(w, http.StatusOK, object{"data": nil, "errors": []object{{"type": "NOT_FOUND", "message": "Could not resolve what the document asks for."}}})
		return
	}
	send(w, http.StatusOK, object{"data": object{"repository": about}})
}

// pick is a label as GraphQL tells it.
func pick(l object) object {
	return object{"id": l["node_id"], "name": l["name"], "color": l["color"], "description": l["description"]}
}

// connection is a page of nodes, from the one behind the cursor of the document.
func connection(d document, all []object) object {
	from := 0
	if after, _ := d.Variables["after"].(string); after != "" {
		for i := range all {
			if cursor(i) == after {
				from = i + 1
			}
		}
	}
	to := min(from+d.int("first", 30), len(all))
	info := object{"hasNextPage": to < len(all), "hasPreviousPage": from > 0, "startCursor": "", "endCursor": ""}
	if to > from {
		info["startCursor"], info["endCursor"] = cursor(from), cursor(to-1)
	}
	return object{"nodes": append([]object{}, all[from:to]...), "pageInfo": info, "totalCount": len(all)}
}

func cursor(i int) string { return "Y3Vyc29yOnYyOp" + sha("cursor", i)[:12] }

func (a *API) listIssues(d document) object {
	var states, tags []string
	for _, s := range list(d.Variables["states"]) {
		states = append(states, strings.ToLower(s))
	}
	tags = list(d.Variables["labels"])
	all := []object{}
	for _, i := range a.world.issues {
		if !slices.Contains(states, i["state"].(string)) || !tagged(i, tags) {
			continue
		}
		names := []object{}
		for _, l := range i["labels"].([]object) {
			names = append(names, object{"name": l["name"], "id": l["node_id"], "description": l["description"]})
		}
		all = append(all, object{"number": i["number"], "title": i["title"], "body": i["body"], "state": strings.ToUpper(i["state"].(string)), "databaseId": i["id"], "author": object{"login": i["user"].(object)["login"]},
			"createdAt": i["created_at"], "updatedAt": i["updated_at"], "labels": object{"nodes": names}, "comments": object{"totalCount": i["comments"]}})
	}
	if d.Variables["direction"] != "ASC" {
		slices.Reverse(all)
	}
	return connection(d, all)
}

// list is a variable that is a list of strings.
func list(v any) []string {
	all, _ := v.([]any)
	var texts []string
	for _, one := range all {
		if text, ok := one.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// nodes are the custom fields of issues: the organization has none.
func (a *API) nodes(d document) []object {
	all := []object{}
	for _, id := range list(d.Variables["ids"]) {
		all = append(all, object{"id": id, "issueFieldValues": object{"nodes": []object{}}})
	}
	return all
}

// setState closes or reopens the issue with the id that the input names.
func (a *API) setState(d document) object {
	input, _ := d.Variables["input"].(object)
	for _, issue := range a.world.issues {
		if issue["node_id"] != input["issueId"] {
			continue
		}
		name, state := "reopenIssue", "open"
		if strings.Contains(d.Query, "closeIssue(") {
			name, state = "closeIssue", "closed"
			if reason, ok := input["stateReason"].(string); ok {
				issue["state_reason"] = strings.ToLower(reason)
			}
		}
		issue["state"] = state
		return object{name: object{"issue": object{"id": issue["node_id"], "number": issue["number"], "url": issue["html_url"], "state": strings.ToUpper(state)}}}
	}
	return nil
}
