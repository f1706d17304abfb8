package githubfake

import (
	"fmt"
	"net/http"
	"strings"
)

const releaseCount = 48

// tag is the name of a release; 0 is the newest.
func tag(i int) string {
	n := releaseCount - 1 - i
	return fmt.Sprintf("v2.%d.%d", n/3, n%3)
}

// fixedIn is the release that has the fix of the crash first, and fixedBy the
// pull request that made it.
const (
	fixedIn = 11
	fixedBy = firstPull + 5
)

func notes(i int) string {
	var b strings.Builder
	b.WriteString("## What's Changed\n")
	for k := range 14 {
		number := 300 + (releaseCount-i)*5 + k
		if i == fixedIn && k == 9 {
			fmt.Fprintf(&b, "* Do not read the first line of an empty basket, fixes #%d by @tomasz-w in %s/%s/pull/%d\n", crash, htmlURL, portal, fixedBy)
			continue
		}
		fmt.Fprintf(&b, "* Lay out the %s anew for narrow screens by @%s in %s/%s/pull/%d\n", pages[(i+k)%len(pages)], people[(i+k)%7], htmlURL, portal, number)
	}
	fmt.Fprintf(&b, "\n**Full Changelog**: %s/%s/compare/%s...%s\n", htmlURL, portal, tag(min(i+1, releaseCount-1)), tag(i))
	return b.String()
}

func newRelease(i int) object {
	id := 14_650_000 + releaseCount - i
	url := fmt.Sprintf("%s/repos/%s/releases", apiURL, portal)
	when := at(1400 - 24*i)
	release := object{
		"id": id, "node_id": fmt.Sprintf("RE_kwDO%d", id), "url": fmt.Sprintf("%s/%d", url, id), "assets_url": fmt.Sprintf("%s/%d/assets", url, id), "upload_url": fmt.Sprintf("https://uploads.github.com/repos/%s/releases/%d/assets{?name,label}", portal, id),
		"html_url": htmlURL + "/" + portal + "/releases/tag/" + tag(i), "tag_name": tag(i), "target_commitish": commitSHA(i * 3), "name": "Portal " + tag(i)[1:], "draft": false, "prerelease": i%9 == 4, "immutable": false,
		"author": person(i), "created_at": when, "published_at": when, "body": notes(i), "reactions": reactions(fmt.Sprintf("%s/%d", url, id), i%7),
		"tarball_url": apiURL + "/repos/" + portal + "/tarball/" + tag(i), "zipball_url": apiURL + "/repos/" + portal + "/zipball/" + tag(i),
	}
	assets := []object{}
	for k, platform := range []string{"linux_amd64", "linux_arm64", "linux_riscv64", "darwin_amd64", "darwin_arm64", "windows_amd64", "windows_arm64", "freebsd_amd64", "openbsd_amd64"} {
		for n, ext := range []string{"tar.gz", "tar.gz.sha256"} {
			name := fmt.Sprintf("portal_%s_%s.%s", tag(i)[1:], platform, ext)
			asset := 10_200_000 + i*100 + k*2 + n
			assets = append(assets, object{
				"id": asset, "node_id": fmt.Sprintf("RA_kwDO%d", asset), "url": fmt.Sprintf("%s/assets/%d", url, asset), "name": name, "label": "", "uploader": person(i), "content_type": []string{"application/gzip", "text/plain"}[n],
				"state": "uploaded", "size": []int{41_200_000 + k*317, 92}[n], "digest": "sha256:" + sha(name) + sha(name)[:24], "download_count": 17*k + n + i, "created_at": when, "updated_at": when,
				"browser_download_url": htmlURL + "/" + portal + "/releases/download/" + tag(i) + "/" + name,
			})
		}
	}
	release["assets"] = assets
	return release
}

func (a *API) releases(r *request) (int, any) {
	if r.repo() != portal {
		return http.StatusOK, []object{}
	}
	all := []object{}
	for i := range releaseCount {
		all = append(all, newRelease(i))
	}
	return http.StatusOK, page(r, all)
}

func (a *API) latestRelease(r *request) (int, any) {
	if r.repo() != portal {
		return notFound, missing
	}
	return http.StatusOK, newRelease(0)
}

func (a *API) releaseByTag(r *request) (int, any) {
	for i := range releaseCount {
		if r.repo() == portal && tag(i) == r.PathValue("tag") {
			return http.StatusOK, newRelease(i)
		}
	}
	return notFound, missing
}

func (a *API) tags(r *request) (int, any) {
	all := []object{}
	for i := range releaseCount {
		all = append(all, object{
			"name": tag(i), "node_id": "REF_" + tag(i), "zipball_url": apiURL + "/repos/" + portal + "/zipball/refs/tags/" + tag(i), "tarball_url": apiURL + "/repos/" + portal + "/tarball/refs/tags/" + tag(i),
			"commit": object{"sha": commitSHA(i * 3), "url": apiURL + "/repos/" + portal + "/commits/" + commitSHA(i*3)},
		})
	}
	return http.StatusOK, page(r, all)
}
