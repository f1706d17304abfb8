package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// maxInput is the largest file that reduce and dry-run read, in bytes.
const maxInput = jsontape.MaxBytes

// input is a CallToolResult as it stands in a file: alone, or inside the JSON-RPC response that brought it.
type input struct {
	name   string
	whole  []byte    // the file
	result []byte    // the CallToolResult
	within wire.Span // where it stands in whole; absent where it is alone
}

// splice returns the file with the result replaced.
func (in *input) splice(result []byte) []byte {
	if !in.within.Present() {
		return result
	}
	return wire.Splice(in.whole, wire.Edit{Span: in.within, With: result})
}

// readInput reads the file of a reduce or dry-run; no argument and "-" mean stdin. With payload, the file is bare data
// and is put into a result as its text.
func readInput(stdin io.Reader, args []string, payload bool) (*input, error) {
	in := &input{name: "stdin"}
	var err error
	if len(args) == 0 || args[0] == "-" {
		in.whole, err = io.ReadAll(io.LimitReader(stdin, maxInput+1))
	} else {
		in.name = args[0]
		in.whole, err = os.ReadFile(args[0])
	}
	if err != nil {
		return nil, err
	}
	if len(in.whole) > maxInput {
		return nil, fmt.Errorf("%s: over %s bytes, the most that is read", in.name, grouped(maxInput))
	}
	if payload {
		in.result = textResult(in.whole)
		return in, nil
	}
	in.result = bytes.TrimSpace(in.whole)
	doc, err := jsontape.Parse(in.result)
	if err != nil {
		return nil, notAResult(in.name, err)
	}
	root := doc.Root()
	if root.Get("jsonrpc").Exists() {
		inner := root.Get("result")
		if !inner.Exists() {
			return nil, fmt.Errorf("%s: a JSON-RPC message without a result", in.name)
		}
		in.whole = in.result
		in.result = inner.Raw()
		in.within.Start, in.within.End = inner.Span()
		root = inner
	}
	if !root.Get("content").Exists() && !root.Get("structuredContent").Exists() {
		return nil, fmt.Errorf("%s: neither content nor structuredContent, so not a CallToolResult; use --payload for bare data", in.name)
	}
	return in, nil
}

func notAResult(name string, err error) error {
	var syntax *jsontape.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%s: %w; use --payload for bare text", name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// textResult is the CallToolResult of one text.
func textResult(text []byte) []byte {
	out := jsontape.AppendQuote([]byte(`{"content":[{"type":"text","text":`), text)
	return append(out, "}]}"...)
}
