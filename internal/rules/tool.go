package rules

import (
	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/reduce"
)

// Tool is what the rules say about one tool. It is immutable.
type Tool struct {
	Server string // as in the file; empty where no server's rules hold
	Match  string // the name or glob that matched, or "default"
	Level  Level  // of Match

	// Variants are the rules of the tool. The first whose condition holds for
	// a call is that call's one rule (RED-06); a listed schema must cover all
	// of them.
	Variants []Variant

	Rename      string // the name to list, or ""
	Description string // the description to list, or ""
	Hide        bool   // not listed, and not to be called
	// Pass reports that every rule of the tool exempts it: nothing that it
	// answers is changed.
	Pass    bool
	Listing []Origin // where the four above were set, those that were
}

// Variant is one resolved rule.
type Variant struct {
	When    *jmespath.Expr // over the arguments of a call; nil: always
	Reducer *reduce.Reducer
	// Digest names the resolved rule, without When: 16 hex digits, the same
	// for the same settings whatever levels they come from.
	Digest string
	// Origin says for each key that is set what it is and where it comes
	// from; always has one for each name.
	Origin []Origin
}

// Origin is one setting of a resolved rule and where it was written.
type Origin struct {
	Key   string `json:"key"`
	Value any    `json:"value"` // string, int, bool or []string; of always one name
	Level Level  `json:"level"`
	Match string `json:"match,omitempty"` // the tool or glob, at those levels
	File  string `json:"file,omitempty"`  // empty if built in
	Line  int    `json:"line,omitempty"`
	Col   int    `json:"col,omitempty"`
}

// noArguments stands for the arguments of a call that has none.
var noArguments = func() jsontape.Value {
	doc, err := jsontape.Parse([]byte("{}"))
	if err != nil {
		panic(err)
	}
	return doc.Root()
}()

// Pick returns the one rule for a call with these arguments, the zero Value if
// it has none; nil if no rule applies. A condition that cannot be evaluated
// does not hold.
func (t *Tool) Pick(args jsontape.Value) *Variant {
	for i := range t.Variants {
		v := &t.Variants[i]
		if v.When == nil || holds(v.When, args) {
			return v
		}
	}
	return nil
}

// Conditional reports whether the rule of a call depends on its arguments.
func (t *Tool) Conditional() bool {
	return len(t.Variants) > 0 && t.Variants[0].When != nil
}

func holds(when *jmespath.Expr, args jsontape.Value) bool {
	if !args.Exists() {
		args = noArguments
	}
	result, err := when.Search(args)
	return err == nil && result.Truthy()
}
