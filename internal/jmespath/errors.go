package jmespath

import "fmt"

// The categories of errors, as the compliance suites name them.
const (
	CodeSyntax            = "syntax"
	CodeInvalidArity      = "invalid-arity"
	CodeInvalidType       = "invalid-type"
	CodeInvalidValue      = "invalid-value"
	CodeNotANumber        = "not-a-number"
	CodeUndefinedVariable = "undefined-variable"
	CodeUnknownFunction   = "unknown-function"
	// CodeLimit is ours: the evaluation would take more work or space than
	// any honest expression does.
	CodeLimit = "limit"
)

// SyntaxError is an error of [Compile]: it says where an expression stops
// making sense and what would have.
type SyntaxError struct {
	Offset int // in bytes from the start of the expression, at most its length
	Msg    string
	Code   string // CodeSyntax or another category that can be told without data
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Msg) }

// EvalError is an error of an evaluation: the expression does not fit the
// data.
type EvalError struct {
	Offset int // of the function or operator in the expression, in bytes
	Msg    string
	Code   string
}

func (e *EvalError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Msg) }
