package proxy

import (
	"encoding/json"
	"regexp"
	"sync"
	"sync/atomic"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// conformance compares a tool's results with the output schema that the server
// itself declared for it. A result that breaks it passes like any other, and is
// logged, once a tool and listing (RED-40): clients that check will refuse it,
// and a person should know whose fault that is.
type conformance struct {
	declared []byte
	resolve  sync.Once
	schema   *jsonschema.Resolved // nil: it cannot be checked
	said     atomic.Bool
}

// What is larger, in bytes, is not looked at: the check is a courtesy.
const (
	maxCheckedSchema = 64 << 10
	maxCheckedResult = 256 << 10
)

func newConformance(declared []byte) *conformance {
	if len(declared) > maxCheckedSchema {
		return nil
	}
	return &conformance{declared: append([]byte(nil), declared...)}
}

// fault returns where a result breaks the schema, "" if it does not or that
// cannot be told. It names no value: those are the result's own.
func (f *conformance) fault(result []byte) (where string) {
	defer func() {
		if recover() != nil {
			where = ""
		}
	}()
	f.resolve.Do(func() {
		var s jsonschema.Schema
		if json.Unmarshal(f.declared, &s) == nil {
			// Without a loader: nothing is fetched.
			f.schema, _ = s.Resolve(nil)
		}
	})
	if f.schema == nil {
		return ""
	}
	data := wire.Member(result, wire.Span{End: len(result)}, "structuredContent")
	if !data.Present() {
		return "structuredContent is missing"
	}
	var v any
	if json.Unmarshal(data.Of(result), &v) != nil {
		return ""
	}
	err := f.schema.Validate(v)
	if err == nil {
		return ""
	}
	where = "structuredContent"
	if at := pointers.FindAllStringSubmatch(err.Error(), -1); at != nil {
		where += ", against " + at[len(at)-1][1]
	}
	return where
}

// pointers finds the places in the schema that an error names.
var pointers = regexp.MustCompile(`validating (/[^:\s]*)`)

// verdict reads what a result says of itself: that the tool failed, and that it
// is the whole result of a call that did not.
func verdict(result []byte) (failed, complete bool) {
	complete = true
	for it := wire.MembersOf(result, wire.Span{End: len(result)}); it.Next(); {
		switch k := it.Key(); {
		case wire.StringIs(k, "isError"):
			failed = string(it.Value().Of(result)) == "true"
		case wire.StringIs(k, "resultType"):
			complete = wire.StringIs(it.Value().Of(result), "complete")
		}
	}
	return failed, complete && !failed
}

// verdictOf is [verdict] of a result that may be parsed already, as v.
func verdictOf(result []byte, v jsontape.Value) (failed, complete bool) {
	if !v.Exists() {
		return verdict(result)
	}
	failed = v.Get("isError").Kind() == jsontape.True
	kind := v.Get("resultType")
	return failed, (!kind.Exists() || kind.Is("complete")) && !failed
}

// checkSchema logs a result that breaks the tool's own schema.
func (s *session) checkSchema(c *call, result []byte) {
	f := c.info.conform
	if f == nil || f.said.Load() || len(result) > maxCheckedResult {
		return
	}
	if _, complete := verdict(result); !complete {
		return
	}
	where := f.fault(result)
	if where == "" || f.said.Swap(true) {
		return
	}
	s.opt.Log.Warn("a result of the server breaks the output schema that the server declares; it passes as it is",
		"server", c.server, "tool", c.name, "where", where)
}
