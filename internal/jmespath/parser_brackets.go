package jmespath

import (
	"math"
	"strconv"
)

// leftBracket parses [n], [a:b:c], [*] of @, or a multi-select list.
func (p *parser) leftBracket() (node, error) {
	switch {
	case p.aheadErr != nil:
	case p.ahead.kind == tokNumber, p.ahead.kind == tokColon:
		return p.index(p.current())
	case p.ahead.kind == tokStar && p.starBracket():
		return p.index(p.current())
	}
	return p.list()
}

// starBracket reports whether [ is followed by *], with the lexer behind the
// star.
func (p *parser) starBracket() bool {
	l := p.lexer
	t, err := l.next()
	return err == nil && t.kind == tokRightBracket
}

// index parses the brackets that follow an expression.
func (p *parser) index(left node) (node, error) {
	pos := p.cur.pos
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch p.cur.kind {
	case tokStar:
		return p.project(left, true)
	case tokNumber:
		if p.ahead.kind != tokColon {
			n := toInt(p.cur.text)
			if err := p.advance(); err != nil {
				return nil, err
			}
			if err := p.expect(tokRightBracket, "']' or ':'"); err != nil {
				return nil, err
			}
			right := &indexNode{meta{int32(pos), 1}, n}
			if _, ok := left.(*currentNode); ok {
				return right, nil
			}
			return p.sub(pos, left, right)
		}
		return p.slice(pos, left)
	case tokColon:
		return p.slice(pos, left)
	}
	return nil, p.unexpected("a number, '*', a slice such as 0:10, '?' or ']'")
}

// toInt reads a number's digits; one that no array can have an element at
// becomes the nearest int.
func toInt(s string) int {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		if s[0] == '-' {
			return math.MinInt32
		}
		return math.MaxInt32
	}
	return int(n)
}

func (p *parser) slice(pos int, left node) (node, error) {
	s := &sliceNode{meta: meta{int32(pos), 1}, step: 1}
	for part := 0; p.cur.kind != tokRightBracket; {
		switch {
		case p.cur.kind == tokColon && part < 2:
			part++
		case p.cur.kind == tokNumber && p.before.kind != tokNumber:
			n := toInt(p.cur.text)
			switch part {
			case 0:
				s.start, s.hasStart = n, true
			case 1:
				s.stop, s.hasStop = n, true
			case 2:
				s.step = n
			}
		case part == 2 && (p.cur.kind == tokColon || p.before.kind == tokNumber):
			return nil, p.unexpected("']'")
		case p.before.kind == tokNumber:
			return nil, p.unexpected("':' or ']'")
		default:
			return nil, p.unexpected("a number, ':' or ']'")
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	if s.step == 0 {
		return nil, &SyntaxError{p.before.pos, "expected a step other than 0", CodeInvalidValue}
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	var err error
	var from node = s
	if _, ok := left.(*currentNode); !ok {
		if from, err = p.sub(pos, left, s); err != nil {
			return nil, err
		}
	}
	return p.projection(pos, projectSlice, from, nil, powerStar)
}

// project parses a projection whose first token is current: [], [?, or *, the
// one of [*] where bracket is set.
func (p *parser) project(left node, bracket bool) (node, error) {
	t := p.cur
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch t.kind {
	case tokFlatten:
		return p.projection(t.pos, projectFlatten, left, nil, powerFlatten)
	case tokFilter:
		cond, err := p.expression(powerNone)
		if err != nil {
			return nil, err
		}
		if err := p.expect(tokRightBracket, "an operator or the ']' of the filter"); err != nil {
			return nil, err
		}
		return p.projection(t.pos, projectFilter, left, cond, powerFilter)
	}
	if !bracket {
		return p.projection(t.pos, projectObject, left, nil, powerStar)
	}
	if err := p.expect(tokRightBracket, "']'"); err != nil {
		return nil, err
	}
	return p.projection(t.pos, projectArray, left, nil, powerStar)
}

// projection parses what is applied to each element, which goes on until an
// operator that ends a projection.
func (p *parser) projection(pos int, op projectOp, left, cond node, power int) (node, error) {
	right := p.current()
	var err error
	switch k := p.cur.kind; {
	case k == tokDot:
		if err := p.advance(); err != nil {
			return nil, err
		}
		right, err = p.afterDot(power)
	case k == tokLeftBracket, k == tokFilter:
		right, err = p.expression(power)
	}
	if err != nil {
		return nil, err
	}
	if cond == nil {
		m, err := p.over(pos, left, right)
		return &projectNode{m, op, left, right, nil}, err
	}
	m, err := p.over(pos, left, right, cond)
	return &projectNode{m, op, left, right, cond}, err
}

// list parses a multi-select list.
func (p *parser) list() (node, error) {
	pos := p.cur.pos
	if err := p.advance(); err != nil {
		return nil, err
	}
	var items []node
	for {
		item, err := p.expression(powerNone)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		if p.cur.kind == tokComma {
			if err := p.advance(); err != nil {
				return nil, err
			}
			continue
		}
		if err := p.expect(tokRightBracket, "an operator, ',' or ']'"); err != nil {
			return nil, err
		}
		m, err := p.over(pos, items...)
		return &listNode{m, items}, err
	}
}
