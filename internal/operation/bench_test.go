package operation

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
)

const countYAML = `
operations:
  count@1.0:
    scope: All records.
    effects: read
    bounds: {max_pages: 2000, max_records: 200000, deadline: 10m}
    read:
      call: {http: {url: "URL/records", query: {page: "cursor || '1'"}}}
      items: page.items
      end: "!page.more"
      where: "!draft && !prerelease"
      aggregate: {n: count}
`

// BenchmarkCount counts 100,000 records in pages of 100 over loopback HTTP, as
// an operation of a file and as the loop that somebody would write instead.
func BenchmarkCount(b *testing.B) {
	const pages, size = 1000, 100
	var rows []string
	for i := range size {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"draft":false,"prerelease":%t,"name":"release %d of the project","tag":"v1.%d.0","body":%q}`,
			i, i%3 == 0, i, i, strings.Repeat("notes ", 20)))
	}
	items := `"items":[` + strings.Join(rows, ",") + "]}"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		n, _ := strconv.Atoi(r.URL.Query().Get("page"))
		fmt.Fprintf(w, `{"page":%d,"more":%t,%s`, n, n < pages, items)
	}))
	defer server.Close()

	b.Run("operation", func(b *testing.B) {
		set, err := Parse("f.yaml", []byte(strings.ReplaceAll(countYAML, "URL", server.URL)), Options{})
		if err != nil {
			b.Fatal(err)
		}
		c, err := contract.New(contract.Options{Caller: "bench", Definitions: set.Definitions})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			r, err := c.Do(b.Context(), set.Definitions[0], contract.Call{})
			if err != nil || r.RecordsExamined != pages*size {
				b.Fatal(err, string(r.JSON()))
			}
		}
		b.ReportMetric(float64(pages*size*b.N)/b.Elapsed().Seconds(), "records/s")
	})
	b.Run("loop", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			count := 0
			for n := 1; ; n++ {
				resp, err := http.Get(server.URL + "/records?page=" + strconv.Itoa(n))
				if err != nil {
					b.Fatal(err)
				}
				var page struct {
					Items []struct {
						Draft, Prerelease bool
					}
					More bool
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err == nil {
					err = json.Unmarshal(body, &page)
				}
				if err != nil {
					b.Fatal(err)
				}
				for _, r := range page.Items {
					if !r.Draft && !r.Prerelease {
						count++
					}
				}
				if !page.More {
					break
				}
			}
		}
		b.ReportMetric(float64(pages*size*b.N)/b.Elapsed().Seconds(), "records/s")
	})
}
