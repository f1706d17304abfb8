package hop

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// start serves h until the test is over.
func start(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestMeasureTakesEachWayInEachRound(t *testing.T) {
	defer func(was map[string]int) { perRound = was }(perRound)
	perRound = map[string]int{Small: 2, Medium: 2, Large: 2}
	upstream := start(t, Upstream())
	target, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	ways := []Way{{Name: "direct", URL: upstream}, {Name: "reverse", URL: start(t, Reverse(target))}}
	report, err := Measure(t.Context(), ways, Plan{Rounds: 2, Callers: 3, Stretch: 20 * time.Millisecond}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Rows) != len(ways)*len(Tools) || len(report.Loads) != len(ways) {
		t.Fatalf("%d rows and %d loads for %d ways", len(report.Rows), len(report.Loads), len(ways))
	}
	for i, row := range report.Rows {
		if row.Way != ways[i%2].Name || row.Tool != Tools[i/2] || row.Read <= 0 || row.Used <= 0 {
			t.Errorf("row %d: %+v", i, row)
		}
		if row.Way == "direct" && (row.Read != 1 || row.Used != 1) {
			t.Errorf("the direct call is %v and %v times itself", row.Read, row.Used)
		}
	}
	for _, load := range report.Loads {
		if load.Rate <= 0 {
			t.Errorf("%+v", load)
		}
	}
	// What the columns of a report are called by.
	for i, most := range []int{1_600, 220_000, 2_100_000} {
		if got := report.Rows[2*i].Bytes; got > most || got < most*9/10 {
			t.Errorf("%s: %d bytes, want nearly %d", Tools[i], got, most)
		}
	}
}

func TestMeasureRefusesAWayThatDoesNotAnswer(t *testing.T) {
	upstream := start(t, Upstream())
	silent := start(t, http.NotFoundHandler())
	_, err := Measure(t.Context(), []Way{{Name: "direct", URL: upstream}, {Name: "other", URL: silent}}, Plan{Rounds: 1}, func(string) {})
	if err == nil || !strings.HasPrefix(err.Error(), "other: status 404") {
		t.Errorf("got %v", err)
	}
}

// What breaks one kind of answer is no reason to measure nothing.
func TestMeasureGoesOnWithoutWhatOneWayCannot(t *testing.T) {
	defer func(was map[string]int) { perRound = was }(perRound)
	perRound = map[string]int{Small: 1, Medium: 1, Large: 1}
	upstream := Upstream()
	lame := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		upstream.ServeHTTP(rec, r)
		if rec.Body.Len() > 1_000_000 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	})
	report, err := Measure(t.Context(), []Way{{Name: "direct", URL: start(t, upstream)}, {Name: "lame", URL: start(t, lame)}}, Plan{Rounds: 1}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range report.Rows {
		if broken := i == 5; broken != (row.Read == 0) || broken != (row.Failed > 0) {
			t.Errorf("%+v", row)
		}
	}
}

// Gateways show tools under names of their own.
func TestDialFindsToolsUnderLongerNames(t *testing.T) {
	upstream := Upstream()
	renaming := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		upstream.ServeHTTP(rec, r)
		for name, values := range rec.Header() {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write([]byte(strings.ReplaceAll(rec.Body.String(), `"name":"search`, `"name":"up__search`)))
	})
	c, err := dial(t.Context(), Way{Name: "x", URL: start(t, renaming)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if c.names[Small] != Small || c.names[Medium] != "up__search_code" {
		t.Errorf("names %v", c.names)
	}
}

func TestResponseIsFoundInStreams(t *testing.T) {
	for _, c := range []struct {
		name, body string
		stream, ok bool
	}{
		{"plain", `{"jsonrpc":"2.0","id":1,"result":{}}`, false, true},
		{"stream", "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", true, true},
		{"progress before it", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", true, true},
		{"no answer", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n", true, false},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}`, false, false},
	} {
		got, err := response([]byte(c.body), c.stream)
		if (err == nil) != c.ok || c.ok && !strings.Contains(string(got), `"result":{}`) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}
