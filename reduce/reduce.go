// Package reduce makes MCP tool results small without losing or inventing
// anything. It is pure: the same rule, environment and result give the same
// bytes on any machine at any time.
//
// [Compile] a [Rule] once, then call [Reducer.Reduce] with each result.
package reduce

// Reducer is a compiled [Rule]. It is immutable and safe for concurrent use.
type Reducer struct{ rule Rule }

// Compile checks rule and prepares it. The error is a [*RuleError].
func Compile(rule Rule) (*Reducer, error) { return &Reducer{rule: rule}, nil }

// Rule returns the rule that r was compiled from.
func (r *Reducer) Rule() Rule { return r.rule }

// Env is what is known of the client and the tool (RED-42).
type Env struct {
	// Expand is the name under which the expand tool is listed to this
	// caller; empty where it is not listed, and then no ref is printed
	// (RED-19).
	Expand string
	// Schema reports that the tool lists an output schema, so that a
	// projection that succeeds always applies (RED-05).
	Schema bool
	// UI reports an MCP App (_meta.ui); its results pass (RED-01).
	UI bool
	// ResourceLink adds a resource_link block for the ref (RED-20).
	ResourceLink bool
}

// Sizes are the bytes of the two views of a result: what a host that shows
// text shows, as raw UTF-8, and structuredContent as compact JSON.
type Sizes struct{ Text, Structured int }

// Cut counts what was removed. Zero values were not cut.
type Cut struct {
	Rows   int // rows not shown
	Fields int // distinct fields of a row (or of the payload) dropped
	Bytes  int // bytes of the larger view that are not shown
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
	// Canonical is the SHA-256 that Ref is the start of.
	Canonical [32]byte
	Note      string
	Cut       Cut
	Before    Sizes
	After     Sizes
	// Faults are marks against the rule, for the ledger: a projection that
	// failed, selected paths that no row has.
	Faults []string
	// Err is a fault of the reducer itself; the original is then Result.
	Err error
}

// Reduce applies the rule to result, the JSON of a CallToolResult. It never
// fails: whatever goes wrong, the original comes back (fail open).
func (r *Reducer) Reduce(result []byte, env Env) Outcome {
	return Outcome{Result: result}
}
