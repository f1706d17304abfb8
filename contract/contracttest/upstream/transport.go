package upstream

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
)

// Serve answers on a free loopback port until stop is called.
func (f *Fake) Serve() (url string, stop func()) {
	s := httptest.NewServer(f)
	return s.URL, func() {
		s.CloseClientConnections()
		s.Close()
	}
}

// ServeHTTP implements http.Handler.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := arrival(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reply := f.handle(a)
	if !reply.broken {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(reply.status)
		_, _ = w.Write(reply.body) // a client that left has its own error
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reply.reset {
		_ = tcp.SetLinger(0) // a close sends a reset then
	}
	_ = conn.Close()
}

// Transport answers within the process: requests to any host go to the fake.
func (f *Fake) Transport() http.RoundTripper { return transport{f} }

type transport struct{ fake *Fake }

// RoundTrip implements http.RoundTripper. A request whose context ends is
// abandoned as a dropped connection is: the fake goes on with it.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := arrival(r)
	if err != nil {
		return nil, err
	}
	done := make(chan reply, 1)
	go func() { done <- t.fake.handle(a) }()
	var got reply
	select {
	case got = <-done:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if got.broken {
		if got.reset {
			return nil, syscall.ECONNRESET
		}
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{
		StatusCode: got.status, Status: http.StatusText(got.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{"Content-Type": {"application/json"}},
		Body:    io.NopCloser(bytes.NewReader(got.body)),
		Request: r, ContentLength: int64(len(got.body)),
	}, nil
}

func arrival(r *http.Request) (Arrival, error) {
	a := Arrival{
		Method: r.Method, Path: r.URL.Path, Ref: r.URL.Query().Get("ref"), Cursor: r.URL.Query().Get("cursor"),
		Key: r.Header.Get("Idempotency-Key"), XRef: r.Header.Get("X-Ref"), Match: r.Header.Get("If-Match"),
		Gone: r.Context().Done(),
	}
	if r.Body == nil {
		return a, nil
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return a, err
	}
	if len(raw) > 0 {
		var v any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return a, err
		}
		if a.Body, err = json.Marshal(v); err != nil { // sorts members
			return a, err
		}
	}
	return a, nil
}
