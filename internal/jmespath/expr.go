package jmespath

import (
	"iter"
	"slices"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// Expr is a compiled expression. It is immutable and safe for concurrent use.
type Expr struct {
	src   string
	root  node
	slots int // variables that are in scope at once, at most
}

// Compile parses an expression. The error is a [*SyntaxError].
func Compile(src string) (*Expr, error) {
	root, slots, err := parse(src)
	if err != nil {
		return nil, err
	}
	return &Expr{src: src, root: root, slots: slots}, nil
}

// String returns the expression's source.
func (e *Expr) String() string { return e.src }

// Search evaluates e over v. The error is an [*EvalError]: the expression
// does not fit the data, or would take more than it could be worth. The result
// refers to v's document.
func (e *Expr) Search(v jsontape.Value) (Result, error) {
	ev := e.evaluator(v)
	got, err := ev.eval(e.root, ev.root)
	if err != nil {
		return Result{null}, err
	}
	if got.within(ev.limit) < 0 {
		return Result{null}, ev.tooLong(e.root)
	}
	return Result{got}, nil
}

// AppendJSON evaluates e over v and appends the result to dst as compact JSON
// (RED-43): of what comes from v, strings and numbers keep their bytes. The
// error is as in [Expr.Search]; dst comes back as it was then.
func (e *Expr) AppendJSON(dst []byte, v jsontape.Value) ([]byte, error) {
	ev := e.evaluator(v)
	// Projections keep a few hundredths; room for them at once saves the
	// doublings up to there.
	start, end := v.Span()
	ev.out, ev.start = slices.Grow(dst, min(64+(end-start)/32, 64<<10)), len(dst)
	if _, err := ev.emit(e.root, ev.root); err != nil {
		return dst, err
	}
	return ev.out, nil
}

func (e *Expr) evaluator(v jsontape.Value) *evaluator {
	ev := &evaluator{root: fromTape(v), steps: stepsFor(v), limit: limitFor(v)}
	if e.slots > 0 {
		ev.vars = make([]value, e.slots)
	}
	return ev
}

// Result is what an expression found. It stays valid as long as the document
// that was searched.
type Result struct{ v value }

// Kind returns the JSON type of the result; never Invalid.
func (r Result) Kind() jsontape.Kind {
	if r.v.k == jsontape.Invalid {
		return jsontape.Null
	}
	return r.v.k
}

// IsNull reports whether the result is null, or there is none.
func (r Result) IsNull() bool { return r.Kind() == jsontape.Null }

// Truthy is JMESPath's truth: all but null, false, "", [] and {}.
func (r Result) Truthy() bool { return r.v.truthy() }

// Len returns the number of elements of an array; -1 for anything else.
func (r Result) Len() int {
	if r.v.k != jsontape.Array {
		return -1
	}
	return r.v.size()
}

// Tape returns the result as a value of the document that was searched (or of
// a literal in the expression), where it is one and nothing that was made.
func (r Result) Tape() (jsontape.Value, bool) {
	return r.v.tape, r.v.built == nil && r.v.tape.Exists()
}

// AppendJSON appends the result as compact JSON.
func (r Result) AppendJSON(dst []byte) []byte { return r.v.append(dst) }

// Elements walks the elements of an array; of anything else it walks nothing.
func (r Result) Elements() iter.Seq[Result] {
	return func(yield func(Result) bool) {
		if r.v.k != jsontape.Array {
			return
		}
		it := r.v.walk()
		for e, ok := it.next(); ok && yield(Result{e}); e, ok = it.next() {
		}
	}
}

// Get returns a member of an object; of duplicates the last. It is null where
// there is none.
func (r Result) Get(name string) Result { return Result{r.v.get(name)} }

// Text returns a string's decoded text; of another kind "".
func (r Result) Text() string {
	if r.v.k != jsontape.String {
		return ""
	}
	return string(r.v.text())
}
