package gateway

import (
	"github.com/spillway-mcp/spillway/internal/httpmcp"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// checkHeaders compares the headers of a call that came over HTTP of 2026-07-28
// with the arguments that they repeat, for a child: it sees no headers, so the
// gateway is the server that has to refuse what differs. An HTTP upstream gets
// the headers as they came, and checks them itself.
func (c *conn) checkHeaders(p *peer, f *inflight, msg []byte, m wire.Message) *httpmcp.Error {
	if f.method != "tools/call" || !c.modern || f.reply == nil || p.src.http != nil {
		return nil
	}
	return httpmcp.CheckParams(f.header, c.paramsOf(text(msg, m.Params, "name")), msg, wire.Member(msg, m.Params, "arguments"))
}
