package githubfake

import (
	"fmt"
	"net/http"
	"path"
	"strings"
)

const commitCount = 160

func commitSHA(i int) string { return sha("commit", i) }

// revision is the commit that a name stands for; of anything else, itself.
func revision(name string) string {
	if name == branch || name == "HEAD" {
		return commitSHA(0)
	}
	return name
}

func message(i int) string {
	if i == 23 {
		return "Take the delivery notice from the first line of the basket (#590)\n\nThe notice stood on the wrong page."
	}
	return fmt.Sprintf("Move the %s to the new grid (#%d)\n\n%s", pages[i%len(pages)], 440+i, strings.Repeat("Nothing that a customer sees has changed; the tests of the page still pass. ", 1+i%3))
}

func newCommit(i int) object {
	by := people[i%7]
	id := commitSHA(i)
	url := apiURL + "/repos/" + portal
	who := object{"name": strings.ToUpper(by[:1]) + by[1:], "email": by + "@users.noreply.example.org", "date": at(1500 - 3*i)}
	return object{
		"sha": id, "node_id": "C_kwDO" + id[:12], "url": url + "/commits/" + id, "html_url": htmlURL + "/" + portal + "/commit/" + id, "comments_url": url + "/commits/" + id + "/comments",
		"commit": object{
			"author": who, "committer": who, "message": message(i), "tree": object{"sha": sha("tree", i), "url": url + "/git/trees/" + sha("tree", i)}, "url": url + "/git/commits/" + id, "comment_count": 0,
			"verification": object{"verified": true, "reason": "valid", "signature": "-----BEGIN PGP SIGNATURE-----\n" + strings.Repeat(sha("signature", i)+"\n", 12) + "-----END PGP SIGNATURE-----", "payload": "tree " + sha("tree", i), "verified_at": at(1500 - 3*i)},
		},
		"author": user(by), "committer": user(by), "parents": []object{{"sha": commitSHA(i + 1), "url": url + "/commits/" + commitSHA(i+1), "html_url": htmlURL + "/" + portal + "/commit/" + commitSHA(i+1)}},
	}
}

func (a *API) commits(r *request) (int, any) {
	if r.repo() != portal {
		return notFound, missing
	}
	author := r.URL.Query().Get("author")
	all := []object{}
	for i := range commitCount {
		if author == "" || people[i%7] == author {
			all = append(all, newCommit(i))
		}
	}
	return http.StatusOK, page(r, all)
}

func (a *API) commit(r *request) (int, any) {
	for i := range commitCount {
		if commitSHA(i) != revision(r.PathValue("sha")) {
			continue
		}
		c := newCommit(i)
		files := changedFiles(i, 3+i%5)
		added, removed := 0, 0
		for _, f := range files {
			added, removed = added+f["additions"].(int), removed+f["deletions"].(int)
		}
		c["files"], c["stats"] = files, object{"additions": added, "deletions": removed, "total": added + removed}
		return http.StatusOK, c
	}
	return notFound, missing
}

// changedFiles are what one change touches, with patches.
func changedFiles(seed, count int) []object {
	all := []object{}
	for k := range count {
		name := fmt.Sprintf("src/%s/part_%d.ts", strings.ReplaceAll(pages[(seed+k)%len(pages)], " ", "_"), k)
		lines := 8 + (seed+k*7)%40
		all = append(all, object{
			"sha": sha("blob", seed, k), "filename": name, "status": "modified", "additions": lines, "deletions": lines / 2, "changes": lines + lines/2, "patch": patch(name, lines),
			"blob_url": htmlURL + "/" + portal + "/blob/" + commitSHA(seed) + "/" + name, "raw_url": htmlURL + "/" + portal + "/raw/" + commitSHA(seed) + "/" + name, "contents_url": apiURL + "/repos/" + portal + "/contents/" + name + "?ref=" + commitSHA(seed),
		})
	}
	return all
}

func patch(name string, lines int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "@@ -10,%d +10,%d @@ export class Page {", 6+lines/2, 6+lines)
	for i := range lines {
		fmt.Fprintf(&b, "\n+  const row%d = this.grid.row(%d, { name: '%s' });", i, i, name)
		if i%2 == 1 {
			fmt.Fprintf(&b, "\n-  const row%d = document.getElementById('%s-%d');", i, path.Base(name), i)
		}
	}
	return b.String()
}
