package jmespath

import (
	"fmt"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// hash parses a multi-select hash.
func (p *parser) hash() (node, error) {
	pos := p.cur.pos
	if err := p.advance(); err != nil {
		return nil, err
	}
	h := &hashNode{}
	place := map[string]int{}
	var below []node
	for {
		if p.cur.kind != tokName && p.cur.kind != tokQuotedName {
			return nil, p.unexpected("a member's name")
		}
		name := p.cur.text
		if err := p.advance(); err != nil {
			return nil, err
		}
		if err := p.expect(tokColon, "':'"); err != nil {
			return nil, err
		}
		val, err := p.expression(powerNone)
		if err != nil {
			return nil, err
		}
		below = append(below, val)
		if i, ok := place[name]; ok {
			h.members[i].val = val
		} else {
			place[name] = len(h.members)
			quoted := append(jsontape.AppendQuote(nil, name), ':')
			h.members = append(h.members, hashMember{name, newString([]byte(name)), quoted, val})
		}
		if p.cur.kind == tokComma {
			if err := p.advance(); err != nil {
				return nil, err
			}
			continue
		}
		if err := p.expect(tokRightBrace, "an operator, ',' or '}'"); err != nil {
			return nil, err
		}
		h.lookup = newLookup(h)
		h.meta, err = p.over(pos, below...)
		return h, err
	}
}

func (p *parser) variable() (node, error) {
	t := p.cur
	for i := len(p.scope) - 1; i >= 0; i-- {
		if p.scope[i] == t.text {
			return &variableNode{meta{int32(t.pos), 1}, t.text, i}, p.advance()
		}
	}
	hint := ""
	if near := nearest(t.text, p.scope); near != "" {
		hint = "; did you mean $" + near + "?"
	}
	return nil, &SyntaxError{t.pos, fmt.Sprintf("no let binds the variable $%s here%s", clip(t.text), hint), CodeUndefinedVariable}
}

func (p *parser) let() (node, error) {
	n := &letNode{first: len(p.scope)}
	pos := p.cur.pos
	var names []string
	for {
		if err := p.advance(); err != nil {
			return nil, err
		}
		names = append(names, p.cur.text)
		if err := p.expect(tokVariable, "a variable such as $name"); err != nil {
			return nil, err
		}
		if err := p.expect(tokAssign, "'='"); err != nil {
			return nil, err
		}
		val, err := p.expression(powerNone)
		if err != nil {
			return nil, err
		}
		n.values = append(n.values, val)
		if p.cur.kind != tokComma {
			break
		}
	}
	if p.cur.kind != tokName || p.cur.text != "in" {
		return nil, p.unexpected("an operator, ',' or 'in'")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	n.names = names
	p.scope = append(p.scope, names...)
	p.slots = max(p.slots, len(p.scope))
	body, err := p.expression(powerNone)
	p.scope = p.scope[:n.first]
	if err != nil {
		return nil, err
	}
	n.body = body
	n.meta, err = p.over(pos, append(n.values, body)...)
	return n, err
}

// call parses a function call and checks its arguments against the
// function's signature as far as that goes without data.
func (p *parser) call() (node, error) {
	name := p.cur
	if err := p.advance(); err != nil {
		return nil, err
	}
	c := &callNode{}
	for more := true; more; {
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.cur.kind == tokRightParen && len(c.args) == 0 {
			break
		}
		arg, err := p.argument()
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, arg)
		more = p.cur.kind == tokComma
	}
	if err := p.expect(tokRightParen, "an operator, ',' or ')'"); err != nil {
		return nil, err
	}
	fn, err := resolve(name, c.args)
	if err != nil {
		return nil, err
	}
	c.fn = fn
	c.meta, err = p.over(name.pos, c.args...)
	return c, err
}

func (p *parser) argument() (node, error) {
	t := p.cur
	if t.kind != tokRef {
		return p.expression(powerNone)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	of, err := p.expression(powerNone)
	if err != nil {
		return nil, err
	}
	m, err := p.over(t.pos, of)
	return &refNode{m, of}, err
}
