package proxy

import (
	"bytes"

	"github.com/spillway-mcp/spillway/internal/wire"
)

// fromClient carries one frame of the client up.
func (s *session) fromClient(f wire.Frame) {
	body := f.Body()
	m, err := wire.Scan(body)
	if err != nil {
		// The server's own answer to it is better than ours.
		s.toServer(f)
		return
	}
	if m.Kind == wire.Request {
		id := bytes.Clone(m.ID.Of(body))
		s.add(&call{key: wire.KeyOf(id), id: id, method: wire.Text(m.Method.Of(body))})
	}
	s.toServer(f)
}

func (s *session) toServer(f wire.Frame) {
	if err := s.up.Forward(f); err != nil {
		s.opt.Log.Debug("server's stdin", "err", err)
	}
}

// fromServer carries one frame of the server down.
func (s *session) fromServer(f wire.Frame) {
	body := f.Body()
	m, err := wire.Scan(body)
	if err != nil {
		s.opt.Log.Warn("line on the server's stdout skipped", "server", s.opt.Upstream.Name(), "err", err, "line", clip(body, 200))
		return
	}
	if m.Kind == wire.Response {
		s.take(wire.KeyOf(m.ID.Of(body)))
	}
	s.sent(s.down.Forward(f))
}

func clip(b []byte, n int) string {
	if len(b) > n {
		return string(b[:n]) + "…"
	}
	return string(b)
}
