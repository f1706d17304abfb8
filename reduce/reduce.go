// Package reduce makes MCP tool results small without losing or inventing
// anything. It is pure: the same rule, environment and result give the same
// bytes on any machine at any time.
//
// [Compile] a [Rule] once, then call [Reducer.Reduce] with each result. What
// was cut is named in the result's own text, and [Reducer.Expand] gets any
// part of the original back. [Confirm] is for servers that answer writes of
// their own: it makes a short confirmation of what they would echo.
package reduce

import (
	"fmt"
	"sync"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// Env is what is known of the client and the tool (RED-42).
type Env struct {
	// Expand is the name under which the expand tool is listed to this
	// caller; empty where it is not listed, and then, without links, no ref
	// is printed (RED-19).
	Expand string
	// Schema reports that the tool lists an output schema, so that a
	// projection that succeeds always applies (RED-05).
	Schema bool
	// UI reports an MCP App (_meta.ui); its results pass (RED-01).
	UI bool
	// ResourceLink adds a resource_link block for the ref (RED-20).
	ResourceLink bool

	// Write reports annotations that say readOnlyHint: false explicitly, and
	// Args is the JSON of the call's arguments: by these write: auto decides
	// (RED-29).
	Write bool
	Args  []byte
	// Verify reports that the caller asked for the full result of a write,
	// which then passes (RED-33).
	Verify bool
	// TokenParam reports that the tool itself lists a continuation_token
	// parameter to this caller: a slot for a token beside the expand tool
	// (RED-34).
	TokenParam bool
}

// Sizes are the bytes of the two views of a result: what a host that shows
// text shows, as raw UTF-8, and structuredContent as compact JSON.
type Sizes struct{ Text, Structured int }

// Cut counts what was removed. Zero values were not cut.
type Cut struct {
	Rows   int // rows, or lines of text, not shown
	Fields int // distinct fields of a row (or of the payload) dropped
	Bytes  int // bytes not shown, of the view that lost more
}

// Outcome is what became of one result.
type Outcome struct {
	// Result is the result to send: the argument itself where nothing
	// changed, otherwise the argument with its content, structuredContent
	// and one member of _meta replaced.
	Result  []byte
	Changed bool
	// Ref is not empty where the result names it: the original must then be
	// stashed before Result is sent, and if it cannot be, the original sent
	// (RED-18).
	Ref string
	// Canonical is the SHA-256 that Ref is the start of; set where Ref is.
	Canonical [32]byte
	// Note is every text that says what was cut, as the model reads it.
	Note   string
	Cut    Cut
	Before Sizes
	After  Sizes
	// Envelope reports a confirmation in place of a write's echo (RED-30),
	// Verified an echo that passed because the caller asked for it, Probe a
	// heavy result that was only described (RED-27).
	Envelope, Verified, Probe bool
	// IsError reports an error result, which always passes (RED-01).
	IsError bool
	// Faults are marks against the rule, for the ledger: a projection that
	// was not applied, selected paths that no row has.
	Faults []string
	// Err is a fault of the result or of the reducer itself; the original is
	// then Result.
	Err error
}

var docs = sync.Pool{New: func() any { return new(jsontape.Doc) }}

var texts = sync.Pool{New: func() any { return new([]byte) }}

// maxPooled is the size in bytes from which memory is given back instead of
// kept for the next result.
const maxPooled = 64 << 20

func freeDoc(d *jsontape.Doc) {
	if len(d.Bytes()) <= maxPooled {
		docs.Put(d)
	}
}

// Reduce applies the rule to result, the JSON of a CallToolResult. It never
// fails: whatever goes wrong, the original comes back (fail open).
func (r *Reducer) Reduce(result []byte, env Env) (o Outcome) {
	defer failOpen(result, &o)
	d := docs.Get().(*jsontape.Doc)
	defer freeDoc(d)
	if err := d.Reset(result, jsontape.Limits{}); err != nil {
		return Outcome{Result: result, Err: err}
	}
	return r.reduce(result, d.Root(), env)
}

// ReduceParsed is [Reducer.Reduce] for a result that was parsed already, as
// those are that this module's own proxy reads while they arrive.
func (r *Reducer) ReduceParsed(result jsontape.Value, env Env) Outcome {
	return r.reduce(result.Raw(), result, env)
}

func (r *Reducer) reduce(result []byte, root jsontape.Value, env Env) (o Outcome) {
	defer failOpen(result, &o)
	decoded := texts.Get().(*[]byte)
	j := &job{r: r, env: env, root: root, decoded: (*decoded)[:0]}
	defer func() {
		if cap(j.decoded) <= maxPooled {
			*decoded = j.decoded
			texts.Put(decoded)
		}
	}()
	o = Outcome{Result: result, IsError: root.Get("isError").Kind() == jsontape.True}
	kind := root.Get("resultType")
	passes := o.IsError || kind.Exists() && !kind.Is("complete") || env.UI || r.rule.Pass
	verified := !passes && env.Verify && r.Writes(env.Write)
	if root.Kind() == jsontape.Object && !passes && !verified && r.likelyCut(env, len(result)) {
		j.sum = startSum(root)
		defer j.sum.end()
	}
	j.read(root)
	o.Before = j.sizes()
	o.After = o.Before
	switch {
	case root.Kind() != jsontape.Object:
		o.Err = fmt.Errorf("the result is a JSON %s, not an object", root.Kind())
	case passes:
	case verified:
		o.Verified = true
	default:
		j.run(&o)
	}
	return o
}

// failOpen makes a fault of the reducer one more reason to pass the original.
func failOpen(result []byte, o *Outcome) {
	if p := recover(); p != nil {
		*o = Outcome{Result: result, Err: fmt.Errorf("the reducer failed: %v", p)}
	}
}
