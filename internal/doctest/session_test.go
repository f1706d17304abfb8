package doctest

import (
	"fmt"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// session plays one client's session with the demo server behind spillway run,
// under the rules in force, and returns the answer to request 2.
func (e *examples) session(server, request string) jsontape.Value {
	e.t.Helper()
	talk := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"doctest","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,` + request + "}\n"
	out, errs, err := e.spillwayWith(talk, "run", "--server", server, "--rules", "rules.yaml", "--", "spillway", "__demo-server")
	if err != nil {
		e.t.Fatalf("run: %v\n%s", err, errs)
	}
	e.outputs++
	for line := range strings.Lines(string(out)) {
		d, err := jsontape.Parse([]byte(strings.TrimSpace(line)))
		if err != nil {
			e.t.Fatalf("run printed %q: %v", line, err)
		}
		if string(d.Root().Get("id").Raw()) == "2" {
			return d.Root().Get("result")
		}
	}
	e.t.Fatalf("no answer in %s\n%s", out, errs)
	return jsontape.Value{}
}

// lists shows the names and descriptions of the tools that a client is listed.
func (e *examples) lists(server string) string {
	var b strings.Builder
	for it := e.session(server, `"method":"tools/list"`).Get("tools").Iter(); it.Next(); {
		b.WriteString(wrap(fmt.Sprintf("%-16s%s\n", it.Value().Get("name").Str(), it.Value().Get("description").Str())))
	}
	return b.String()
}

// calls shows the text that a call is answered with; a ref in its arguments is
// the one that was printed last.
func (e *examples) calls(server, tool, args string) string {
	answer := e.session(server, `"method":"tools/call","params":{"name":"`+tool+`","arguments":`+args+`}`)
	return wrap(answer.Get("content").Index(0).Get("text").Str() + "\n")
}
