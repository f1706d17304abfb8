package reduce

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jmespath"
)

// Reducer is a compiled [Rule]. It is immutable and safe for concurrent use.
type Reducer struct {
	rule   Rule
	keep   *jmespath.Expr
	shape  jmespath.Shape
	rows   *jmespath.Expr
	always *fieldTree
	strip  stripSet
	side   textSide
}

// stripSet says which binary content is replaced.
type stripSet struct{ image, audio, blob, base64 bool }

func (s stripSet) any() bool { return s.image || s.audio || s.blob || s.base64 }

// textSide says which lines of a text stay.
type textSide int

const (
	head textSide = iota
	tail
	ends
)

// The values that a rule's text and strip keys allow.
var (
	TextSides   = []string{"head", "tail", "ends"}
	StripKinds  = []string{"image", "audio", "blob", "base64"}
	WriteShapes = []string{"auto", "create", "update", "delete", "off"}
)

// Compile checks rule and prepares it. The error is a [*RuleError].
func Compile(rule Rule) (*Reducer, error) {
	r := &Reducer{rule: rule}
	var err error
	if rule.Keep != "" {
		if r.keep, err = compileExpr("keep", rule.Keep); err != nil {
			return nil, err
		}
		r.shape = r.keep.Shape()
	}
	if rule.Rows != "" {
		if r.rows, err = compileExpr("rows", rule.Rows); err != nil {
			return nil, err
		}
	}
	if rule.MaxRows != nil && *rule.MaxRows < 0 {
		return nil, ruleError("max_rows", "%d is negative; allowed is 0 or more", *rule.MaxRows)
	}
	if rule.MaxBytes != 0 && rule.MaxBytes < MinMaxBytes {
		return nil, ruleError("max_bytes", "%d is too small for a note; the smallest cap is %d bytes", rule.MaxBytes, MinMaxBytes)
	}
	switch rule.Text {
	case "", "head":
	case "tail":
		r.side = tail
	case "ends":
		r.side = ends
	default:
		return nil, ruleError("text", "%q is not one of %s", rule.Text, strings.Join(TextSides, ", "))
	}
	for _, s := range rule.Strip {
		switch s {
		case "image":
			r.strip.image = true
		case "audio":
			r.strip.audio = true
		case "blob":
			r.strip.blob = true
		case "base64":
			r.strip.base64 = true
		default:
			return nil, ruleError("strip", "%q is not one of %s", s, strings.Join(StripKinds, ", "))
		}
	}
	if rule.Write != "" && !slices.Contains(WriteShapes, rule.Write) {
		return nil, ruleError("write", "%q is not one of %s", rule.Write, strings.Join(WriteShapes, ", "))
	}
	if r.always, err = compileAlways(rule.Always); err != nil {
		return nil, err
	}
	return r, nil
}

// Rule returns the rule that r was compiled from.
func (r *Reducer) Rule() Rule { return r.rule }

func ruleError(key, format string, args ...any) *RuleError {
	return &RuleError{Key: key, Offset: -1, Msg: fmt.Sprintf(format, args...)}
}

func compileExpr(key, src string) (*jmespath.Expr, error) {
	e, err := jmespath.Compile(src)
	if err == nil {
		return e, nil
	}
	var syntax *jmespath.SyntaxError
	if errors.As(err, &syntax) {
		return nil, &RuleError{Key: key, Offset: syntax.Offset, Msg: err.Error()}
	}
	return nil, &RuleError{Key: key, Offset: -1, Msg: err.Error()}
}
