package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"
)

// releases serves pages of releases, numbered from 1, as bytes made before. It
// returns how many of its records are stable, and the bytes of a page.
func releases(o options) (server *httptest.Server, stable, bytes int) {
	pages, size := o.pages, o.size
	bodies := make([][]byte, pages)
	for p := range bodies {
		var rows []string
		for i := range size {
			n := p*size + i
			draft, pre := n%7 == 0, n%5 == 0
			if !draft && !pre {
				stable++
			}
			rows = append(rows, fmt.Sprintf(`{"id":%d,"tag_name":"v1.%d.0","name":"Release %d","draft":%t,"prerelease":%t,"created_at":"2026-01-01T00:00:00Z",`+
				`"author":{"login":"octo","id":%d,"type":"User"},"body":"Fixes and features of this release, in a line or two of text."}`, n, n, n, draft, pre, n))
		}
		bodies[p] = fmt.Appendf(nil, `{"items":[%s],"last":%t}`, strings.Join(rows, ","), p == pages-1)
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Query().Get("page"))
		if err != nil || n < 1 || n > pages {
			http.NotFound(w, r)
			return
		}
		time.Sleep(o.wait)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(bodies[n-1]) // a client that left has its own error
	})), stable, len(bodies[pages/2])
}
