package jmespath

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// maxHeight bounds how deep an expression may nest, in brackets as in chains
// such as a|a|a: everything that walks one recurses.
const maxHeight = 1000

// Binding powers: an operator takes the expression to its left if its power is
// greater than that of the one before.
const (
	powerNone       = 0
	powerPipe       = 1
	powerTernary    = 2
	powerOr         = 3
	powerAnd        = 4
	powerCompare    = 5
	powerAdd        = 6
	powerMultiply   = 7
	powerPrefix     = 8 // !a and -a take the whole path a
	powerFlatten    = 9
	powerProjection = 10 // operators below end a projection
	powerStar       = 20
	powerFilter     = 21
	powerDot        = 40
	powerBracket    = 55
)

var powers = [tokenKinds]int{
	tokPipe: powerPipe, tokQuestion: powerTernary, tokOr: powerOr, tokAnd: powerAnd, tokCompare: powerCompare,
	tokPlus: powerAdd, tokMinus: powerAdd, tokStar: powerMultiply, tokMultiply: powerMultiply,
	tokDivide: powerMultiply, tokIntDivide: powerMultiply, tokModulo: powerMultiply,
	tokFlatten: powerFlatten, tokFilter: powerFilter, tokDot: powerDot, tokLeftBracket: powerBracket,
}

type parser struct {
	lexer
	cur, ahead token
	aheadErr   error
	before     token // the token before cur
	depth      int
	scope      []string // names of the variables bound here, outermost first
	slots      int      // the most that scope has held
}

func parse(src string) (node, int, error) {
	p := &parser{lexer: lexer{src: src}}
	p.ahead, p.aheadErr = p.next()
	p.before.end = -1
	if err := p.advance(); err != nil {
		return nil, 0, err
	}
	n, err := p.expression(powerNone)
	if err != nil {
		return nil, 0, err
	}
	if p.cur.kind != tokEnd {
		return nil, 0, p.unexpected("an operator or the end of the expression")
	}
	return n, p.slots, nil
}

// advance moves to the next token. A fault in the one after it is kept until
// its turn, so that the first fault of the source is the one reported.
func (p *parser) advance() error {
	if p.aheadErr != nil {
		return p.aheadErr
	}
	p.before, p.cur = p.cur, p.ahead
	if p.cur.kind != tokEnd {
		p.ahead, p.aheadErr = p.next()
	}
	return nil
}

func (p *parser) describe(t token) string {
	if t.kind == tokEnd {
		return "the end of the expression"
	}
	return "'" + clip(p.src[t.pos:t.end]) + "'"
}

// clip keeps messages short where a token is long.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// unexpected is the error for a current token that is not what was expected.
func (p *parser) unexpected(want string) error {
	after := ""
	if p.before.end > 0 {
		after = " after " + p.describe(p.before)
	}
	hint := ""
	if p.cur.kind == tokAssign {
		hint = "; write == to compare"
	}
	return p.fail(p.cur.pos, "expected %s%s, found %s%s", want, after, p.describe(p.cur), hint)
}

func (p *parser) expect(k tokenKind, want string) error {
	if p.cur.kind != k {
		return p.unexpected(want)
	}
	return p.advance()
}

// over checks the height of what is about to stand over below.
func (p *parser) over(pos int, below ...node) (meta, error) {
	high := 0
	for _, n := range below {
		high = max(high, n.height())
	}
	if high >= maxHeight {
		return meta{}, p.tooDeep(pos)
	}
	return meta{pos: int32(pos), high: int32(high + 1)}, nil
}

func (p *parser) tooDeep(pos int) error {
	return p.fail(pos, "the expression nests deeper than %d levels", maxHeight)
}

func (p *parser) current() node { return &currentNode{meta{int32(p.cur.pos), 1}} }

// expression parses up to the first operator whose power is not over power.
func (p *parser) expression(power int) (node, error) {
	if p.depth++; p.depth > maxHeight {
		return nil, p.tooDeep(p.cur.pos)
	}
	defer func() { p.depth-- }()
	left, err := p.prefix()
	for err == nil && power < powers[p.cur.kind] {
		left, err = p.infix(left)
	}
	if err != nil {
		return nil, err
	}
	return left, nil
}

// prefix parses what can start an expression.
func (p *parser) prefix() (node, error) {
	t := p.cur
	switch t.kind {
	case tokName:
		if p.ahead.kind == tokLeftParen && p.aheadErr == nil {
			return p.call()
		}
		if t.text == "let" && p.ahead.kind == tokVariable && p.aheadErr == nil {
			return p.let()
		}
		return &fieldNode{meta{int32(t.pos), 1}, t.text}, p.advance()
	case tokQuotedName:
		if p.ahead.kind == tokLeftParen && p.aheadErr == nil {
			return nil, p.fail(t.pos, "expected a function's name without quotes before '(', found %s", p.describe(t))
		}
		return &fieldNode{meta{int32(t.pos), 1}, t.text}, p.advance()
	case tokVariable:
		return p.variable()
	case tokCurrent:
		return &currentNode{meta{int32(t.pos), 1}}, p.advance()
	case tokRoot:
		return &rootNode{meta{int32(t.pos), 1}}, p.advance()
	case tokLiteral:
		return &literalNode{meta{int32(t.pos), 1}, t.val}, p.advance()
	case tokNot, tokMinus, tokPlus:
		return p.unary()
	case tokLeftParen:
		return p.parens()
	case tokStar, tokFlatten, tokFilter:
		return p.project(p.current(), false)
	case tokLeftBracket:
		return p.leftBracket()
	case tokLeftBrace:
		return p.hash()
	case tokNumber:
		return nil, p.fail(t.pos, "expected an expression, found the number %s; a number stands between backticks, `%s`, outside of [ ]", clip(t.text), clip(t.text))
	}
	return nil, p.unexpected("an expression")
}

func (p *parser) unary() (node, error) {
	t := p.cur
	if err := p.advance(); err != nil {
		return nil, err
	}
	of, err := p.expression(powerPrefix)
	if err != nil {
		return nil, err
	}
	m, err := p.over(t.pos, of)
	if err != nil {
		return nil, err
	}
	if t.kind == tokNot {
		return &notNode{m, of}, nil
	}
	return &arithmeticNode{meta: m, op: arithmeticOps[t.kind], right: of}, nil
}

func (p *parser) parens() (node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.expression(powerNone)
	if err != nil {
		return nil, err
	}
	return n, p.expect(tokRightParen, "an operator or ')'")
}

var arithmeticOps = map[tokenKind]byte{
	tokPlus: '+', tokMinus: '-', tokStar: '*', tokMultiply: '*', tokDivide: '/', tokIntDivide: 'I', tokModulo: '%',
}

// infix parses an operator with left to its left.
func (p *parser) infix(left node) (node, error) {
	t := p.cur
	switch t.kind {
	case tokDot:
		return p.dot(left)
	case tokFlatten, tokFilter:
		return p.project(left, false)
	case tokLeftBracket:
		return p.index(left)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if t.kind == tokQuestion {
		return p.ternary(t, left)
	}
	right, err := p.expression(powers[t.kind])
	if err != nil {
		return nil, err
	}
	m, err := p.over(t.pos, left, right)
	if err != nil {
		return nil, err
	}
	switch t.kind {
	case tokPipe:
		return &pipeNode{m, left, right}, nil
	case tokOr:
		return &orNode{m, left, right}, nil
	case tokAnd:
		return &andNode{m, left, right}, nil
	case tokCompare:
		return &compareNode{m, t.op, left, right}, nil
	}
	return &arithmeticNode{m, arithmeticOps[t.kind], left, right}, nil
}

// ternary parses yes : no, which takes all but a pipe; a ? b : c ? d : e
// groups to the right.
func (p *parser) ternary(t token, cond node) (node, error) {
	yes, err := p.expression(powerNone)
	if err != nil {
		return nil, err
	}
	if err := p.expect(tokColon, "an operator or the ':' of the '?'"); err != nil {
		return nil, err
	}
	no, err := p.expression(powerTernary - 1)
	if err != nil {
		return nil, err
	}
	m, err := p.over(t.pos, cond, yes, no)
	return &ternaryNode{m, cond, yes, no}, err
}

// dot parses .name, .*, .function(), .[list] and .{hash}.
func (p *parser) dot(left node) (node, error) {
	pos := p.cur.pos
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.cur.kind == tokStar {
		return p.project(left, false)
	}
	right, err := p.afterDot(powerDot)
	if err != nil {
		return nil, err
	}
	return p.sub(pos, left, right)
}

func (p *parser) sub(pos int, left, right node) (node, error) {
	m, err := p.over(pos, left, right)
	return &subNode{m, left, right}, err
}

func (p *parser) afterDot(power int) (node, error) {
	switch p.cur.kind {
	case tokName:
		if p.cur.text == "let" && p.ahead.kind == tokVariable {
			return &fieldNode{meta{int32(p.cur.pos), 1}, p.cur.text}, p.advance()
		}
		return p.expression(power)
	case tokQuotedName, tokStar:
		return p.expression(power)
	case tokLeftBracket, tokFlatten, tokFilter:
		if p.cur.kind == tokLeftBracket {
			return p.list()
		}
	case tokLeftBrace:
		return p.hash()
	}
	return nil, p.unexpected("a name, '*', '[', '{' or a function")
}

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
