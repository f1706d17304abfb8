package demo

import (
	"errors"
	"io"
	"strconv"

	"github.com/spillway-mcp/spillway/internal/client"
	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// ServerName is the name that the demo's server announces.
const ServerName = "github"

// What the demo's server holds: pages of these sizes.
const (
	Hits     = 100
	Releases = 10
)

const serverInfo = `{"protocolVersion":"` + client.Revision + `","capabilities":{"tools":{}},` +
	`"serverInfo":{"name":"` + ServerName + `","version":"1.0.0"}}`

// The tools as GitHub's REST API would have them: a search with declared results, a list of records as text alone.
const tools = `{"tools":[` +
	`{"name":"` + fixture.SearchTool + `","description":"Search code on GitHub.",` +
	`"inputSchema":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]},` +
	`"outputSchema":{"type":"object","required":["total_count","incomplete_results","items"],"properties":{` +
	`"total_count":{"type":"integer"},"incomplete_results":{"type":"boolean"},"items":{"type":"array","items":{` +
	`"type":"object","required":["path","html_url","repository"],"properties":{"name":{"type":"string"},"path":{"type":"string"},` +
	`"sha":{"type":"string"},"node_id":{"type":"string"},"html_url":{"type":"string"},"score":{"type":"number"},` +
	`"repository":{"type":"object","properties":{"full_name":{"type":"string"}},"required":["full_name"]}}}}}},` +
	`"annotations":{"readOnlyHint":true}},` +
	`{"name":"` + fixture.ReleasesTool + `","description":"List the releases of a repository.",` +
	`"inputSchema":{"type":"object","properties":{"owner":{"type":"string"},"repo":{"type":"string"}},"required":["owner","repo"]},` +
	`"annotations":{"readOnlyHint":true}}]}`

// Serve answers as an MCP server over stdio until in ends. It knows nothing of Spillway.
func Serve(in io.Reader, out io.Writer) error {
	r, w := wire.NewReader(in, 0), wire.NewWriter(out)
	for {
		frame, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		body := frame.Body()
		m, err := wire.Scan(body)
		if err != nil || m.Kind != wire.Request {
			continue // notifications; and nobody sends anything else
		}
		if err := w.Frame([]byte(`{"jsonrpc":"2.0","id":`), m.ID.Of(body), []byte(`,`), answer(body, m), []byte(`}`)); err != nil {
			return err
		}
	}
}

// answer returns the member result or error of the response to a request.
func answer(body []byte, m wire.Message) []byte {
	var result []byte
	switch method := wire.Text(m.Method.Of(body)); method {
	case "initialize":
		result = []byte(serverInfo)
	case "ping":
		result = []byte("{}")
	case "tools/list":
		result = []byte(tools)
	case "tools/call":
		switch tool := wire.Text(wire.Member(body, m.Params, "name").Of(body)); tool {
		case fixture.SearchTool:
			result = fixture.Result(fixture.CodeSearch(Hits), fixture.Options{})
		case fixture.ReleasesTool:
			result = fixture.Result(fixture.Releases(Releases, 1), fixture.Options{NoData: true})
		default:
			return fault(-32602, "unknown tool: "+tool)
		}
	default:
		return fault(-32601, "method not found: "+method)
	}
	return append([]byte(`"result":`), result...)
}

func fault(code int, message string) []byte {
	out := strconv.AppendInt([]byte(`"error":{"code":`), int64(code), 10)
	return append(jsontape.AppendQuote(append(out, `,"message":`...), message), '}')
}
