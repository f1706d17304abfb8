package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// bytesPerSecond is what a peer has to manage beyond the first seconds.
const bytesPerSecond = 16 << 10

// firstBuffer bounds what is reserved for a body on the word of its header.
const firstBuffer = 1 << 20

var errTooLarge = errors.New("body too large")

// body reads the whole body in memory of its own. A body that does not keep up
// with Options.ReadTime is given up.
func (s *Server) body(w http.ResponseWriter, r *http.Request) (body []byte, err error) {
	rc := http.NewResponseController(w)
	defer func() {
		var none time.Time
		if err != nil {
			none = time.Now() // net/http would wait for the rest
		}
		_ = rc.SetReadDeadline(none)
	}()
	n := r.ContentLength
	if n > int64(s.opt.MaxBody) {
		return nil, errTooLarge
	}
	start := time.Now()
	granted := start
	_ = rc.SetReadDeadline(start.Add(s.opt.ReadTime)) // not there with every ResponseWriter, and then nothing is to be guarded
	if n < 0 {
		n = 4 << 10
	}
	buf := make([]byte, 0, min(n, firstBuffer)+1) // one more, to see the end without growing
	for {
		got, err := r.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+got]
		switch {
		case len(buf) > s.opt.MaxBody:
			return nil, errTooLarge
		case err == io.EOF:
			return buf, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, fmt.Errorf("the body came too slowly: %d bytes in %v", len(buf), time.Since(start).Round(time.Second))
		case err != nil:
			return nil, errors.New("the body could not be read")
		}
		if len(buf) == cap(buf) {
			bigger := make([]byte, len(buf), len(buf)*2)
			copy(bigger, buf)
			buf = bigger
		}
		if now := time.Now(); now.Sub(granted) > time.Second {
			granted = now
			_ = rc.SetReadDeadline(start.Add(s.opt.ReadTime + allowance(len(buf))))
		}
	}
}

// allowance is the time that n bytes may take beyond the first seconds.
func allowance(n int) time.Duration {
	return time.Duration(n) * (time.Second / bytesPerSecond)
}

// writeChunk is the size in bytes of the pieces for which the time to write is
// counted anew.
const writeChunk = 256 << 10

// deadline gives whatever is written next the time for one write.
func (s *Server) deadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.opt.WriteTime))
}

// timed is a response whose writes a slow client cannot hold up for long.
type timed struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	time time.Duration
}

func (t *timed) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		piece := p[:min(len(p), writeChunk)]
		_ = t.rc.SetWriteDeadline(time.Now().Add(t.time + allowance(len(piece))))
		m, err := t.w.Write(piece)
		n += m
		if err != nil {
			return n, err
		}
		p = p[len(piece):]
	}
	return n, nil
}
