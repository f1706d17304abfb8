package operation

import (
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
)

const pagesOverHTTP = `
operations:
  linked@1.0:
    scope: All rows.
    effects: read
    params: {type: object, properties: {q: {type: string}, tag: {type: array, items: {type: string}}}}
    read:
      call:
        http:
          url: URL/rows/{params.q}
          query: {page: "cursor || '1'", tag: params.tag, flag: true, none: params.none}
          headers: {Authorization: "Bearer ${TOKEN}", X-Op: "{key}"}
          envelope: true
      items: page.body
      end: "!page.links.next"
      aggregate: {n: count, last: {op: max, of: id}}
  cursors@1.0:
    scope: All rows.
    effects: read
    read:
      call: {http: {url: "URL/rows", query: {cursor: cursor}}}
      items: page.items
      next: page.next
      aggregate: count
  denied@1.0:
    scope: All rows.
    effects: read
    read:
      call: {http: {url: "URL/rows", query: {cursor: cursor}}}
      classify: [{when: "error.status == ` + "`418`" + ` && error.body.why == 'access'", as: denied}]
      items: page.items
      next: page.next
      aggregate: count
`

func TestReadOverHTTP(t *testing.T) {
	s := newService(t, func(r request) (int, string) {
		if strings.HasPrefix(r.Query, "flag=true&page=2") {
			return 200, `[{"id":3}]`
		}
		return 200, `Link:<http://x/?page=2>; rel="next", <http://x/?page=9>; rel="last"` + "\n" + `[{"id":1},{"id":90071992547409931}]`
	})
	c := open(t, pagesOverHTTP, s.url, nil)
	r := do(t, c, "linked", "k1", `{"q":"a b/../c?d","tag":["x","y"]}`)
	if !r.Complete || string(r.Result) != `{"n":3,"last":90071992547409931}` {
		t.Fatalf("%s", r.JSON())
	}
	first := s.requests()[0]
	if first.Path != "/rows/a%20b%2F..%2Fc%3Fd" || first.Query != "flag=true&page=1&tag=x&tag=y" {
		t.Errorf("asked %+v", first)
	}
	if first.Header.Get("Authorization") != "Bearer secret-of-TOKEN" || first.Header.Get("X-Op") != "k1" {
		t.Errorf("headers %v", first.Header)
	}
}

func TestReadOverHTTPFails(t *testing.T) {
	for _, tt := range []struct {
		operation string
		status    int
		body      string
		reason    string
	}{
		{"cursors", 500, "oops", contract.ReasonUpstreamError},
		{"cursors", 403, "", contract.ReasonAccessLost},
		{"cursors", 0, "", contract.ReasonUpstreamError},
		{"denied", 418, `{"why":"access"}`, contract.ReasonAccessLost},
		{"denied", 418, `{"why":"tea"}`, contract.ReasonUpstreamError},
	} {
		s := newService(t, func(r request) (int, string) {
			if r.Query == "" {
				return 200, `{"items":[{"id":1}],"next":"c2"}`
			}
			return tt.status, tt.body
		})
		r := do(t, open(t, pagesOverHTTP, s.url, nil), tt.operation, "", "{}")
		if r.Complete || r.Reason != tt.reason || r.RecordsExamined != 1 || string(r.Result) != "1" {
			t.Errorf("%s, %d: %s", tt.operation, tt.status, r.JSON())
		}
	}
}

// Credentials stay with the origin they are for, and nothing of a redirected
// read is taken for an answer.
func TestRedirects(t *testing.T) {
	stranger := newService(t, func(request) (int, string) { return 200, `{"items":[],"next":null}` })
	for name, to := range map[string]string{"elsewhere": stranger.url + "/rows", "same": "/other"} {
		s := newService(t, func(r request) (int, string) {
			if r.Path == "/other" {
				return 200, `{"items":[{}],"next":null}`
			}
			return 302, to
		})
		r := do(t, open(t, pagesOverHTTP, s.url, nil), "cursors", "", "{}")
		if r.Complete != (name == "same") {
			t.Errorf("%s: %s", name, r.JSON())
		}
	}
	if got := stranger.requests(); len(got) > 0 {
		t.Errorf("another origin was asked: %+v", got)
	}
}

// A tool may answer in any of the three forms, or not at all.
func TestPageOfAToolResult(t *testing.T) {
	for _, tt := range []struct{ in, want, kind string }{
		{`{"structuredContent":{"a":1.0},"content":[{"type":"text","text":"x"}]}`, `{"a":1.0}`, ""},
		{`{"content":[{"type":"text","text":"{\"a\":12345678901234567890}"}]}`, `{"a":12345678901234567890}`, ""},
		{`{"content":[{"type":"text","text":"plain"}]}`, `"plain"`, ""},
		{`{"content":[{"type":"text","text":"no"}],"isError":true}`, "", "isError"},
		{`{"resultType":"task","taskId":"t"}`, "", "transport"},
		{`{"resultType":"input_required","requestState":"x"}`, "", "transport"},
		{`nope`, "", "transport"},
	} {
		got, err := pageOf([]byte(tt.in))
		kind := ""
		if ce, ok := err.(*CallError); ok {
			kind = ce.Kind
		}
		if string(got) != tt.want || kind != tt.kind {
			t.Errorf("%s: %s, %v", tt.in, got, err)
		}
	}
}

// TestC07_SideBySideOverHTTP: calls of one read run at once, and give what one
// after another gives.
func TestC07_SideBySideOverHTTP(t *testing.T) {
	s := newService(t, func(r request) (int, string) {
		page, last := strings.TrimPrefix(r.Query, "page="), "false"
		switch {
		case page == "20":
			last = "true"
		case len(page) == 2 && page > "20":
			return 404, `{"error":"no such page"}`
		}
		return 200, `{"rows":[{"id":` + page + `1},{"id":` + page + `2}],"last":` + last + `}`
	})
	for _, concurrency := range []string{"1", "4"} {
		c := open(t, `
operations:
  rows@1.0:
    scope: All rows.
    effects: read
    read:
      call: {http: {url: "URL/rows", query: {page: "cursor || '1'"}}}
      items: page.rows
      end: page.last
      concurrency: `+concurrency+`
      aggregate: {n: count, first: {op: project, of: id}}
`, s.url, nil)
		r := do(t, c, "rows", "k", "{}")
		if !r.Complete || r.Pages != 20 || r.Attempts != 20 || !strings.HasPrefix(string(r.Result), `{"n":40,"first":[11,12,21,22,`) {
			t.Errorf("%s side by side: %s", concurrency, r.JSON())
		}
	}
}
