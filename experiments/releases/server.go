package main

import (
	"errors"
	"io"
	"strconv"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/wire"
)

const hello = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"github","version":"1.0.0"}}`

// pageTool is the tool as GitHub's MCP server lists it.
const pageTool = `{"name":"list_releases","description":"List releases in a GitHub repository",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"owner":{"type":"string","description":"Repository owner"},` +
	`"repo":{"type":"string","description":"Repository name"},` +
	`"page":{"type":"number","description":"Page number for pagination (min 1)","minimum":1},` +
	`"perPage":{"type":"number","description":"Results per page for pagination (min 1, max 100)","minimum":1,"maximum":100}},` +
	`"required":["owner","repo"]},"annotations":{"title":"List releases","readOnlyHint":true}}`

// serve is an MCP server over stdio with one tool. A page beyond the last is
// empty, which is how this upstream says that there are no more.
func serve(in io.Reader, out io.Writer, pages [][]byte) error {
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
			continue
		}
		answer := []byte(`"error":{"code":-32601,"message":"method not found"}`)
		switch wire.Text(m.Method.Of(body)) {
		case "initialize":
			answer = []byte(hello)
		case "tools/list":
			answer = []byte(`"result":{"tools":[` + pageTool + `]}`)
		case "tools/call":
			n := 1
			if at := wire.Path(body, m.Params, "arguments", "page"); at.Present() {
				n, _ = strconv.Atoi(string(at.Of(body)))
			}
			page := []byte("[]")
			if n >= 1 && n <= len(pages) {
				page = pages[n-1]
			}
			answer = append([]byte(`"result":`), textResult(page)...)
		}
		if err := w.Frame([]byte(`{"jsonrpc":"2.0","id":`), m.ID.Of(body), []byte(`,`), answer, []byte(`}`)); err != nil {
			return err
		}
	}
}

func textResult(text []byte) []byte {
	b := jsontape.AppendQuote([]byte(`{"content":[{"type":"text","text":`), text)
	return append(b, `}]}`...)
}

// toolName is the tool that both sides speak of.
const toolName = fixture.ReleasesTool
