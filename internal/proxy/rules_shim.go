package proxy

import (
	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/reduce"
)

type toolRule struct {
	Variants            []ruleVariant
	Rename, Description string
	Hide, Pass          bool
}

type ruleVariant struct {
	When    *jmespath.Expr
	Reducer *reduce.Reducer
	Digest  string
}

func (t *toolRule) Pick(args jsontape.Value) *ruleVariant {
	if t == nil {
		return nil
	}
	for i := range t.Variants {
		v := &t.Variants[i]
		if v.When == nil {
			return v
		}
		if r, err := v.When.Search(args); err == nil && r.Truthy() {
			return v
		}
	}
	return nil
}

// RuleSet is a [rules.Set].
type RuleSet interface {
	Digest() string
	Servers() []string
	Names(server string) bool
	For(server, tool string) *toolRule
}
