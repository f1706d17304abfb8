package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/httpmcp/server"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/wire"
)

const searchRules = `r:
  search_code:
    keep: "items[*].{repo: repository.full_name, path: path, url: html_url}"
`

// BenchmarkBesideReverseProxy calls one tool of an HTTP server directly, through
// a plain reverse proxy and through the gateway, in turn, so that what disturbs
// the machine disturbs all three. It reports the median of each, in microseconds
// and as a multiple; once for a client that only reads the bytes of the answer,
// and once for one that decodes them, as all clients do.
func BenchmarkBesideReverseProxy(b *testing.B) {
	for _, size := range []struct {
		name string
		hits int
	}{{"1.5kB", 0}, {"211kB", 20}, {"2.05MB", 194}} {
		for _, decode := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/decoded=%v", size.name, decode), func(b *testing.B) { benchBeside(b, size.hits, decode) })
		}
	}
}

func benchBeside(b *testing.B, hits int, decode bool) {
	answer := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("all is well. ", 110) + `"}]}`)
	if hits > 0 {
		answer = fixture.Result(fixture.CodeSearch(hits), fixture.Options{})
	}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, err := wire.Scan(body)
		if err != nil || m.Kind != wire.Request {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		id := m.ID.Of(body)
		switch methodOf(body, m) {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", "s")
			_, _ = w.Write(result(id, []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"r","version":"1"}}`)))
		case "tools/list":
			_, _ = w.Write(result(id, []byte(`{"tools":[{"name":"search_code","inputSchema":{"type":"object"}}]}`)))
		default:
			_, _ = w.Write(result(id, answer))
		}
	}))
	defer up.Close()
	target, _ := url.Parse(up.URL)
	through := httputil.NewSingleHostReverseProxy(target)
	through.Transport = &http.Transport{MaxIdleConnsPerHost: 100}
	reverse := httptest.NewServer(through)
	defer reverse.Close()
	set, err := rules.Parse("rules.yaml", []byte(searchRules))
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(Options{
		Servers: []config.Server{{Name: "r", URL: up.URL}}, Rules: func() *rules.Set { return set }, Stash: &memory{}, Expand: true,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	edge := server.New(g, server.Options{})
	defer edge.Close()
	gate := httptest.NewServer(edge)
	defer gate.Close()

	ways := []*way{{name: "direct", url: up.URL}, {name: "reverse", url: reverse.URL}, {name: "gateway", url: gate.URL}}
	for _, w := range ways {
		w.client.Transport = &http.Transport{}
		defer w.client.CloseIdleConnections()
		w.call(b, hello)
		w.call(b, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	}
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_code","arguments":{"query":"x"}}}`
	sizes := fmt.Sprintf("%d bytes", len(ways[0].call(b, call)))
	sizes += fmt.Sprintf(" reduced to %d", len(ways[2].call(b, call)))
	for b.Loop() {
		for _, w := range ways {
			began := time.Now()
			answer := w.call(b, call)
			if decode {
				var v any
				if err := json.Unmarshal(answer, &v); err != nil {
					b.Fatal(err)
				}
			}
			w.took = append(w.took, time.Since(began))
		}
	}
	for _, w := range ways {
		slices.Sort(w.took)
		w.median = w.took[len(w.took)/2]
		b.ReportMetric(float64(w.median.Microseconds()), w.name+"-µs")
	}
	b.ReportMetric(float64(ways[2].median)/float64(ways[0].median), "x-direct")
	b.ReportMetric(float64(ways[2].median)/float64(ways[1].median), "x-reverse")
	b.ReportMetric(0, "ns/op")
	b.Log(sizes)
}

type way struct {
	name, url, session string
	took               []time.Duration
	median             time.Duration
	client             http.Client
	buf                bytes.Buffer
}

func (w *way) call(b *testing.B, body string) []byte {
	r, err := http.NewRequest("POST", w.url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if w.session != "" {
		r.Header.Set("Mcp-Session-Id", w.session)
	}
	resp, err := w.client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	w.buf.Reset()
	if _, err := w.buf.ReadFrom(resp.Body); err != nil || resp.StatusCode != 200 {
		b.Fatal(w.name, err, resp.Status)
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		w.session = id
	}
	return w.buf.Bytes()
}
