package yamlpos

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Error is one fault of a file, or one warning about it.
type Error struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"` // from 1; 0 where the fault is the whole file's
	Col  int    `json:"col,omitempty"`  // in characters, from 1
	Msg  string `json:"msg"`            // what was given and what is allowed
	Hint string `json:"hint,omitempty"` // what to write instead, if anything is likely
}

// Error returns "rules.yaml:7:11: MSG; HINT".
func (e Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Col)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Errors are all faults of a file, in the order of their positions.
type Errors []Error

// Error returns one line an error.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.As each single [Error].
func (es Errors) Unwrap() []error {
	list := make([]error, len(es))
	for i, e := range es {
		list[i] = e
	}
	return list
}

// At adds an error at the start of n.
func (es *Errors) At(n *Node, hint, format string, args ...any) {
	*es = append(*es, Error{File: n.src.name, Line: n.Line, Col: n.Col, Msg: sprintf(format, args...), Hint: hint})
}

// AtOffset adds an error at the byte off of n's decoded string.
func (es *Errors) AtOffset(n *Node, off int, hint, format string, args ...any) {
	line, col := n.Pos(off)
	*es = append(*es, Error{File: n.src.name, Line: line, Col: col, Msg: sprintf(format, args...), Hint: hint})
}

// Err sorts the errors by position and returns them, or nil if there are none.
// Of very many it returns the first, and says how many it left out.
func (es Errors) Err() error {
	if len(es) == 0 {
		return nil
	}
	es.Sort()
	if n := len(es) - maxErrors; n > 0 {
		last := es[maxErrors-1]
		es = append(es[:maxErrors:maxErrors], Error{File: last.File, Line: last.Line, Col: last.Col, Msg: sprintf("%d more errors follow", n)})
	}
	return es
}

// Sort orders the errors by position.
func (es Errors) Sort() {
	slices.SortStableFunc(es, func(a, b Error) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
}

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

func quote(s string) string { return strconv.Quote(s) }
