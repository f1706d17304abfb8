package schema

import "github.com/spillway-mcp/spillway/internal/jsontape"

// The properties of an envelope (RED-30) and of a probe (RED-27). Names and ids
// are the upstream's, and light keys may add any others.
const (
	envelopeProperties = `{"id":{},"url":{"type":"string"},"name":{"type":"string"},"accepted":{"type":"integer"},` +
		`"deleted":{"type":"boolean"},"status_code":{"type":"integer"},"data_size":{"type":"integer"},` +
		`"failed":{"type":"array"},"ids":{"type":"array"},"items":{"type":"array"},"continuation_token":{"type":"string"}}`
	probeProperties = `{"count":{"type":"integer"},"data_size":{"type":"integer"},"fields":{"type":"array","items":{"type":"string"}},` +
		`"preview":{"type":"string"},"continuation_token":{"type":"string"},"fetch":{"type":"string"}}`
)

// Parameter is a property that a tool's input schema is given.
type Parameter struct{ Name, Schema string }

// The parameters that are given to tools: verify to every write that can be
// confirmed (RED-33), the others where a rule says token_param (RED-35).
var (
	Verify = Parameter{"verify", `{"type":"boolean","default":false,"description":"true: answer with the full result, not a short confirmation"}`}
	Token  = Parameter{"continuation_token", `{"type":"string","description":"Token of an earlier answer of this tool: get that result in full. Nothing is run"}`}
	Mode   = Parameter{"mode", `{"type":"string","enum":["full"]}`}

	Parameters = []Parameter{Verify, Token, Mode}
)

// writeBranches writes what stands in place of the payload.
func (w *writer) writeBranches(opt Options) [][]byte {
	var bs [][]byte
	if opt.Envelope {
		bs = append(bs, w.answer(`["status_code"]`, envelopeProperties))
	}
	if opt.Probe {
		bs = append(bs, w.answer(`["data_size","preview"]`, probeProperties))
	}
	return bs
}

func (w *writer) answer(required, properties string) []byte {
	var s assembly
	if !w.object {
		s.set("type", []byte(`"object"`))
	}
	s.set("required", []byte(required))
	s.set("properties", []byte(properties))
	return s.bytes()
}

// Declares reports whether a tool's input schema names a property of its
// arguments: under the root's properties, or what is combined with the root by
// a reference within the schema, allOf, anyOf or oneOf.
func Declares(input jsontape.Value, name string) bool {
	w := newWriter(input)
	names := map[string]bool{}
	w.declared(input, names, 0)
	return names[name]
}
