package contract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
)

const (
	benchRecords = 100_000
	benchPage    = 100
)

// releases serves benchRecords records in pages, as bytes made before.
func releases(b *testing.B) string {
	pages := make([][]byte, benchRecords/benchPage)
	for p := range pages {
		body := []byte(`{"items":[`)
		for i := range benchPage {
			if i > 0 {
				body = append(body, ',')
			}
			n := p*benchPage + i
			body = fmt.Appendf(body, `{"id":%d,"tag_name":"v1.%d.0","name":"Release %d","draft":%v,"prerelease":%v,"created_at":"2026-01-01T00:00:00Z","author":{"login":"octo","id":%d,"type":"User"},"body":"Fixes and features of this release, in a line or two of text."}`,
				n, n, n, n%7 == 0, n%5 == 0, n)
		}
		body = append(body, `],"next":`...)
		if p+1 < len(pages) {
			body = fmt.Appendf(body, `"%d"}`, p+1)
		} else {
			body = append(body, `null}`...)
		}
		pages[p] = body
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		_, _ = w.Write(pages[p])
	}))
	b.Cleanup(s.Close)
	return s.URL
}

func fetchPage(ctx context.Context, url string, cursor *string) ([]byte, error) {
	if cursor != nil {
		url += "?cursor=" + *cursor
	}
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// BenchmarkCountPlainLoop fetches and unmarshals the pages as a Go program
// without us does; BenchmarkCountRead is the operation over the same pages.
func BenchmarkCountPlainLoop(b *testing.B) {
	url := releases(b)
	type page struct {
		Items []struct {
			Draft      bool `json:"draft"`
			Prerelease bool `json:"prerelease"`
		} `json:"items"`
		Next *string `json:"next"`
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for cursor := (*string)(nil); ; {
			body, err := fetchPage(context.Background(), url, cursor)
			if err != nil {
				b.Fatal(err)
			}
			var p page
			if err := json.Unmarshal(body, &p); err != nil {
				b.Fatal(err)
			}
			for _, r := range p.Items {
				if !r.Draft && !r.Prerelease {
					n++
				}
			}
			if cursor = p.Next; cursor == nil {
				break
			}
		}
		if n != stableReleases {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(b.N)*benchRecords/b.Elapsed().Seconds(), "records/s")
}

var stableReleases = func() (n int) {
	for i := range benchRecords {
		if i%7 != 0 && i%5 != 0 {
			n++
		}
	}
	return n
}()

func BenchmarkCountRead(b *testing.B) {
	url := releases(b)
	op := contract.Read[struct{}, struct{ Stable int }]{
		Name: "count", Version: "1.0", Scope: "x",
		Fetch: func(ctx context.Context, _ struct{}, cursor *string) ([]byte, error) {
			return fetchPage(ctx, url, cursor)
		},
		Items: "page.items", Next: "page.next", Where: "!draft && !prerelease",
		Aggregates: []contract.Aggregate{{Name: "Stable", Op: contract.Count}},
		Bounds:     contract.Bounds{MaxPages: benchRecords, MaxRecords: benchRecords},
	}.MustDefine()
	c := newClient(b, contract.Options{})
	b.ReportAllocs()
	for b.Loop() {
		v, r, err := op.Do(context.Background(), c, struct{}{}, contract.Call{})
		if err != nil || v.Stable != stableReleases {
			b.Fatal(err, string(r.JSON()))
		}
	}
	b.ReportMetric(float64(b.N)*benchRecords/b.Elapsed().Seconds(), "records/s")
}
