package jmespath

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
