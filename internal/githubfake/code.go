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

// corpus is every file of every repository, by "owner/repo:path".
func corpus() map[string]string {
	files := map[string]string{
		portal + ":README.md":    "# portal\n\nThe shop that customers see. Start with `npm ci`, then `npm run dev`.\n",
		portal + ":CHANGELOG.md": changelog(),
	}
	for i, dir := range []string{"basket", "checkout", "catalogue", "vouchers", "search"} {
		for k := range 6 {
			files[fmt.Sprintf("%s:src/%s/part_%d.ts", portal, dir, k)] = source(dir, i*6+k, false)
		}
	}
	for i, repo := range repos[1:] {
		files[repo+":README.md"] = fmt.Sprintf("# %s\n\nOwned by %s.\n", path.Base(repo), people[i%7])
		files[repo+":config/limits.json"] = fmt.Sprintf("{\n  \"requests_per_second\": %d,\n  \"body_bytes\": %d\n}\n", 40+i, 1<<16)
		for k := range 3 {
			files[fmt.Sprintf("%s:src/charge/step_%d.ts", repo, k)] = source("charge", i*3+k, k == i%3 || (k == 0 && i%2 == 1))
		}
	}
	return files
}

// source is a module; an old one still charges the old way.
func source(what string, i int, old bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Step %d of %s.\nimport { log } from '../log';\nimport { charge, deprecatedCharge } from '../charge';\n\n", i, what)
	for k := range 12 {
		fmt.Fprintf(&b, "export function %s%d(order: Order): Cents {\n  log.debug('%s', { step: %d, order: order.id });\n  const total = order.lines.reduce((sum, line) => sum + line.cents * line.quantity, 0);\n", what, k, what, k)
		if old && k == 7 {
			fmt.Fprintf(&b, "  return deprecatedCharge(order, total, { timeout_ms: %d });\n}\n\n", 1500+i*13)
		} else {
			fmt.Fprintf(&b, "  return charge(order, { total, fee: %d });\n}\n\n", 30+i%5)
		}
	}
	if !old {
		return strings.Replace(b.String(), ", deprecatedCharge", "", 1)
	}
	return b.String()
}

func changelog() string {
	var b strings.Builder
	b.WriteString("# Changes\n")
	for i := range releaseCount {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", tag(i), notes(i))
	}
	return b.String()
}

func (a *API) contents(r *request) (int, any) {
	repo, name := r.repo(), strings.Trim(r.PathValue("path"), "/")
	if text, ok := a.world.files[repo+":"+name]; ok {
		entry := fileEntry(repo, name, text)
		entry["encoding"], entry["content"] = "base64", base64.StdEncoding.EncodeToString([]byte(text))
		return http.StatusOK, entry
	}
	list := map[string]object{}
	prefix := repo + ":"
	if name != "" {
		prefix += name + "/"
	}
	for key, text := range a.world.files {
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		if first, _, deeper := strings.Cut(rest, "/"); deeper {
			list[first] = entry(repo, path.Join(name, first), "dir", sha("tree", repo, name, first), 0)
		} else {
			list[first] = fileEntry(repo, path.Join(name, first), text)
		}
	}
	if len(list) == 0 {
		return notFound, missing
	}
	all := []object{}
	for _, first := range slices.Sorted(maps.Keys(list)) {
		all = append(all, list[first])
	}
	return http.StatusOK, all
}

func fileEntry(repo, name, text string) object {
	return entry(repo, name, "file", sha("blob", text), len(text))
}

func entry(repo, name, kind, id string, size int) object {
	url := fmt.Sprintf("%s/repos/%s/contents/%s?ref=%s", apiURL, repo, name, branch)
	git := fmt.Sprintf("%s/repos/%s/git/%ss/%s", apiURL, repo, map[string]string{"file": "blob", "dir": "tree"}[kind], id)
	html := fmt.Sprintf("%s/%s/%s/%s/%s", htmlURL, repo, map[string]string{"file": "blob", "dir": "tree"}[kind], branch, name)
	e := object{"type": kind, "name": path.Base(name), "path": name, "sha": id, "size": size, "url": url, "git_url": git, "html_url": html, "download_url": nil, "_links": object{"self": url, "git": git, "html": html}}
	if kind == "file" {
		e["download_url"] = fmt.Sprintf("https://raw.githubusercontent.com/%s/%s/%s", repo, branch, name)
	}
	return e
}

// searchCode finds the words of the query in files, and shows where.
func (a *API) searchCode(r *request) (int, any) {
	q := parseQuery(r.URL.Query().Get("q"))
	hits := []object{}
	for _, key := range slices.Sorted(maps.Keys(a.world.files)) {
		repo, name, _ := strings.Cut(key, ":")
		text := a.world.files[key]
		if !q.repository(repo) || !q.words(text) || (q.is["path"] != "" && !strings.Contains(name, q.is["path"])) {
			continue
		}
		id := sha("blob", text)
		hit := object{
			"name": path.Base(name), "path": name, "sha": id, "score": 1.0, "repository": repository(repo),
			"url":     fmt.Sprintf("%s/repositories/%v/contents/%s?ref=%s", apiURL, repository(repo)["id"], name, sha("commit", repo)),
			"git_url": fmt.Sprintf("%s/repositories/%v/git/blobs/%s", apiURL, repository(repo)["id"], id), "html_url": fmt.Sprintf("%s/%s/blob/%s/%s", htmlURL, repo, sha("commit", repo), name),
		}
		hit["text_matches"] = textMatches(hit["url"].(string), text, q.text)
		hits = append(hits, hit)
	}
	return http.StatusOK, found(r, hits)
}

// textMatches shows up to two fragments of text around what was looked for.
func textMatches(url, text string, words []string) []object {
	all := []object{}
	if len(words) == 0 {
		return all
	}
	for from := 0; len(all) < 2; {
		i := strings.Index(text[from:], words[0])
		if i < 0 {
			return all
		}
		i += from
		start := strings.LastIndexByte(text[:max(0, i-60)], '\n') + 1
		end := min(len(text), i+120)
		if n := strings.IndexByte(text[end:], '\n'); n >= 0 {
			end += n
		}
		all = append(all, object{
			"object_url": url, "object_type": "FileContent", "property": "content", "fragment": text[start:end],
			"matches": []object{{"text": words[0], "indices": []int{i - start, i - start + len(words[0])}}},
		})
		from = end
	}
	return all
}
