package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp/client"
)

func TestSessionHeaders(t *testing.T) {
	var mu sync.Mutex
	var got []string
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got = append(got, fmt.Sprintf("%s %q %q", r.Method, r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Protocol-Version")))
		mu.Unlock()
		switch {
		case r.Method == "GET":
			w.WriteHeader(405)
		case r.Method == "DELETE":
			w.WriteHeader(204)
		case !initialized(w, r, bodyOf(r)):
			w.WriteHeader(202)
		}
	})
	s := opened(t, upstream(t, up.URL, client.Options{}))
	if s.Revision() != "2025-11-25" {
		t.Error(s.Revision())
	}
	if err := s.Send(t.Context(), out(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), client.Answer{}); err != nil {
		t.Error(err)
	}
	if err := s.Listen(t.Context(), nil, nil); err != nil {
		t.Error("an upstream without a GET stream:", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	want := `POST "" ""|POST "s1" "2025-11-25"|GET "s1" "2025-11-25"|DELETE "s1" "2025-11-25"`
	if strings.Join(got, "|") != want {
		t.Errorf("got %s", strings.Join(got, "|"))
	}
}

// K61: a session that the upstream has forgotten is told apart from all else.
func TestK61_SessionLost(t *testing.T) {
	for _, refuse := range []func(w http.ResponseWriter){
		func(w http.ResponseWriter) { http.Error(w, "session not found", 404) },
		func(w http.ResponseWriter) {
			sendJSON(w, 404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
		},
		func(w http.ResponseWriter) {
			sendJSON(w, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)
		},
	} {
		up := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if !initialized(w, r, bodyOf(r)) {
				refuse(w)
			}
		})
		s := opened(t, upstream(t, up.URL, client.Options{}))
		for _, msg := range []string{call, progress} {
			var l log
			if err := s.Send(t.Context(), out(msg), l.answer()); !errors.Is(err, client.ErrSessionLost) {
				t.Error(err)
			}
			l.want(t)
		}
	}
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !initialized(w, r, bodyOf(r)) {
			http.NotFound(w, r)
		}
	})
	s := opened(t, upstream(t, up.URL, client.Options{}))
	if err := s.Listen(t.Context(), nil, nil); !errors.Is(err, client.ErrSessionLost) {
		t.Error(err)
	}
}

func TestResumption(t *testing.T) {
	var gets atomic.Int32
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == "GET" && gets.Add(1) == 2: // the second attempt fails
			w.WriteHeader(503)
		case r.Method == "GET" && r.Header.Get("Last-Event-ID") == "a-0":
			sendStream(w, "id: a-1\ndata: "+progress+"\n\n")
		case r.Method == "GET" && r.Header.Get("Last-Event-ID") == "a-1":
			sendStream(w, "id: a-2\ndata: "+result+"\n\n")
		case r.Method == "GET":
			w.WriteHeader(400)
		case !initialized(w, r, bodyOf(r)):
			sendStream(w, "id: a-0\nretry: 3\ndata:\n\n")
		}
	})
	s := opened(t, upstream(t, up.URL, client.Options{}))
	var l log
	if err := s.Send(t.Context(), out(call), l.answer()); err != nil {
		t.Error(err)
	}
	l.want(t, "stream", "dropped 3ms", progress, "dropped 3ms", result)
}

func TestResumptionThatFails(t *testing.T) {
	for status, want := range map[int]string{404: "does not resume it (status 404)", 405: "does not resume it", 503: "2 attempts to resume it failed"} {
		up := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == "GET":
				w.WriteHeader(status)
			case !initialized(w, r, bodyOf(r)):
				sendStream(w, "id: a-0\ndata: "+progress+"\n\n")
				panic(http.ErrAbortHandler)
			}
		})
		s := opened(t, upstream(t, up.URL, client.Options{MaxAttempts: 2}))
		var l log
		err := s.Send(t.Context(), out(call), l.answer())
		if !errors.Is(err, client.ErrNoAnswer) || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
		l.want(t, "stream", progress)
	}
}

func TestListenReconnectsAndResumes(t *testing.T) {
	var mu sync.Mutex
	var lasts []string
	n := 0
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "GET" {
			initialized(w, r, bodyOf(r))
			return
		}
		mu.Lock()
		lasts = append(lasts, r.Header.Get("Last-Event-ID"))
		n++
		turn := n
		mu.Unlock()
		switch turn {
		case 1:
			sendStream(w, "retry: 1\n\nid: 1\ndata: {\"n\":1}\n\n")
		case 2:
			w.WriteHeader(503)
		case 3:
			sendStream(w, "id: 2\ndata: {\"n\":2}\n\ndata: {\"bro")
			panic(http.ErrAbortHandler)
		case 4:
			w.WriteHeader(400) // it does not resume
		default:
			sendStream(w, "data: [{\"n\":3},{\"n\":4}]\n\n")
			<-r.Context().Done()
		}
	})
	s := opened(t, upstream(t, up.URL, client.Options{}))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	var l log
	done := errors.New("enough")
	ctx, stop := context.WithCancelCause(ctx)
	defer cancel()
	err := s.Listen(ctx, func(msg []byte) {
		l.lines = append(l.lines, string(msg))
		if len(l.lines) == 4 {
			stop(done)
		}
	}, nil)
	if err != done {
		t.Error(err)
	}
	l.want(t, `{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`)
	if got := strings.Join(lasts, ","); got != ",1,1,2," {
		t.Errorf("asked for what follows %q", got)
	}
}

// The transport of 2024-11-05, on which everything comes by one stream.
func TestHTTPSSE(t *testing.T) {
	for _, forced := range []bool{false, true} {
		stream := make(chan string, 9)
		up := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == "GET":
				sendStream(w, "event: endpoint\ndata: /message?sessionId=1\n\n")
				for {
					select {
					case msg := <-stream:
						sendStream(w, "event: message\ndata: "+msg+"\n\n")
					case <-r.Context().Done():
						return
					}
				}
			case r.URL.Path == "/message":
				body := bodyOf(r)
				w.WriteHeader(202)
				switch method([]byte(body)) {
				case "initialize":
					stream <- `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05"}}`
				case "tools/call":
					stream <- progress
					stream <- `{"jsonrpc":"2.0","id":77,"result":"another's"}`
					stream <- result
				}
			default:
				if forced {
					t.Error("asked over the newer transport")
				}
				w.WriteHeader(405)
			}
		})
		s := opened(t, upstream(t, up.URL+"/sse", client.Options{HTTPSSE: forced}))
		if s.Revision() != "2024-11-05" {
			t.Error(s.Revision())
		}
		var l log
		if err := s.Send(t.Context(), out(call), l.answer()); err != nil {
			t.Error(err)
		}
		l.want(t, result)
		outside := make(chan string)
		ended := make(chan error)
		go func() { ended <- s.Listen(t.Context(), func(msg []byte) { outside <- string(msg) }, nil) }()
		if got := <-outside; got != progress {
			t.Error(got)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, client.ErrSessionLost) {
			t.Error(err)
		}
	}
}

func TestHTTPSSEStaysAtItsServer(t *testing.T) {
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "GET" {
			w.WriteHeader(405)
			return
		}
		sendStream(w, "event: endpoint\ndata: http://evil.example.com/message\n\n")
	})
	u := upstream(t, up.URL, client.Options{HTTPSSE: true})
	if err := u.Session(nil).Send(t.Context(), out(initialize), client.Answer{}); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Error(err)
	}
}
