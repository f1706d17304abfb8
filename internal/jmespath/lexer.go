package jmespath

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokQuotedName
	tokVariable
	tokNumber
	tokLiteral // a JSON value in backticks, or a raw string
	tokDot
	tokStar
	tokFlatten // []
	tokFilter  // [?
	tokLeftBracket
	tokRightBracket
	tokLeftBrace
	tokRightBrace
	tokLeftParen
	tokRightParen
	tokComma
	tokColon
	tokCurrent // @
	tokRoot    // $
	tokRef     // &
	tokAnd
	tokOr
	tokNot
	tokPipe
	tokQuestion
	tokAssign
	tokCompare
	tokPlus
	tokMinus
	tokMultiply // ×; * is a tokStar
	tokDivide
	tokIntDivide
	tokModulo

	tokenKinds
)

type token struct {
	kind tokenKind
	op   compareOp
	pos  int
	end  int
	text string         // of a name or variable: decoded; of a number: its digits
	val  jsontape.Value // of a literal
}

// lexer reads one token at a time.
type lexer struct {
	src string
	off int
}

func (l *lexer) fail(at int, format string, args ...any) error {
	return &SyntaxError{Offset: at, Msg: fmt.Sprintf(format, args...), Code: CodeSyntax}
}

var single = [256]tokenKind{
	'.': tokDot, '*': tokStar, ']': tokRightBracket, '{': tokLeftBrace, '}': tokRightBrace,
	'(': tokLeftParen, ')': tokRightParen, ',': tokComma, ':': tokColon, '@': tokCurrent,
	'?': tokQuestion, '+': tokPlus, '%': tokModulo,
}

// mathSigns are the operators beyond ASCII.
var mathSigns = []struct {
	sign string
	kind tokenKind
}{{"×", tokMultiply}, {"÷", tokDivide}, {"−", tokMinus}}

func (l *lexer) next() (token, error) {
	for l.off < len(l.src) && strings.IndexByte(" \t\r\n", l.src[l.off]) >= 0 {
		l.off++
	}
	start := l.off
	if start >= len(l.src) {
		return token{kind: tokEnd, pos: start, end: start}, nil
	}
	c := l.src[start]
	if isNameStart(c) {
		return l.name(tokName, start), nil
	}
	if k := single[c]; k != tokEnd {
		return l.take(k, 1), nil
	}
	switch c {
	case '[':
		switch {
		case l.has("[]"):
			return l.take(tokFlatten, 2), nil
		case l.has("[?"):
			return l.take(tokFilter, 2), nil
		}
		return l.take(tokLeftBracket, 1), nil
	case '&':
		if l.has("&&") {
			return l.take(tokAnd, 2), nil
		}
		return l.take(tokRef, 1), nil
	case '|':
		if l.has("||") {
			return l.take(tokOr, 2), nil
		}
		return l.take(tokPipe, 1), nil
	case '/':
		if l.has("//") {
			return l.take(tokIntDivide, 2), nil
		}
		return l.take(tokDivide, 1), nil
	case '=', '!', '<', '>':
		return l.comparator(c), nil
	case '$':
		if start+1 < len(l.src) && isNameStart(l.src[start+1]) {
			l.off++
			return l.name(tokVariable, start), nil
		}
		return l.take(tokRoot, 1), nil
	case '-':
		if start+1 < len(l.src) && isDigit(l.src[start+1]) {
			return l.number(start), nil
		}
		return l.take(tokMinus, 1), nil
	case '"':
		return l.quotedName(start)
	case '\'':
		return l.rawString(start)
	case '`':
		return l.literal(start)
	}
	if isDigit(c) {
		return l.number(start), nil
	}
	for _, s := range mathSigns {
		if l.has(s.sign) {
			return l.take(s.kind, len(s.sign)), nil
		}
	}
	return token{}, l.fail(start, "expected an expression or an operator, found %s", l.describeChar(start))
}

func (l *lexer) describeChar(at int) string {
	r, n := utf8.DecodeRuneInString(l.src[at:])
	if r == utf8.RuneError && n == 1 {
		return fmt.Sprintf("byte 0x%02X", l.src[at])
	}
	return fmt.Sprintf("%q", r)
}

func (l *lexer) has(s string) bool { return strings.HasPrefix(l.src[l.off:], s) }

func (l *lexer) take(k tokenKind, n int) token {
	t := token{kind: k, pos: l.off, end: l.off + n}
	l.off += n
	return t
}

func (l *lexer) comparator(c byte) token {
	long := l.off+1 < len(l.src) && l.src[l.off+1] == '='
	var op compareOp
	switch {
	case c == '=' && long:
		op = opEqual
	case c == '!' && long:
		op = opNotEqual
	case c == '<' && long:
		op = opLessEqual
	case c == '>' && long:
		op = opGreaterEqual
	case c == '<':
		op = opLess
	case c == '>':
		op = opGreater
	case c == '!':
		return l.take(tokNot, 1)
	default:
		return l.take(tokAssign, 1)
	}
	t := l.take(tokCompare, 1)
	if long {
		l.off++
		t.end++
	}
	t.op = op
	return t
}

func isNameStart(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }
func isDigit(c byte) bool     { return '0' <= c && c <= '9' }

func (l *lexer) name(k tokenKind, start int) token {
	from := l.off
	for l.off < len(l.src) && (isNameStart(l.src[l.off]) || isDigit(l.src[l.off])) {
		l.off++
	}
	return token{kind: k, pos: start, end: l.off, text: l.src[from:l.off]}
}

func (l *lexer) number(start int) token {
	l.off++
	for l.off < len(l.src) && isDigit(l.src[l.off]) {
		l.off++
	}
	return token{kind: tokNumber, pos: start, end: l.off, text: l.src[start:l.off]}
}

// until returns what stands between the delimiter at start and the next one
// that no backslash precedes, and moves behind it.
func (l *lexer) until(start int, delim byte, what string) (string, error) {
	for i := start + 1; i < len(l.src); i++ {
		switch l.src[i] {
		case '\\':
			i++
		case delim:
			l.off = i + 1
			return l.src[start+1 : i], nil
		}
	}
	return "", l.fail(start, "expected %c at the end of the %s that begins here, found the end of the expression", delim, what)
}

func (l *lexer) quotedName(start int) (token, error) {
	if _, err := l.until(start, '"', "quoted name"); err != nil {
		return token{}, err
	}
	doc, err := parseJSON(l.src[start:l.off])
	if err != nil {
		return token{}, l.fail(start+err.Offset, "in a quoted name: %s", err.Msg)
	}
	return token{kind: tokQuotedName, pos: start, end: l.off, text: doc.Str()}, nil
}

// rawString has one escape, \', by the official specification; the community
// edition's \\ is the one case in which the two suites differ.
func (l *lexer) rawString(start int) (token, error) {
	s, err := l.until(start, '\'', "raw string")
	if err != nil {
		return token{}, err
	}
	s = strings.ReplaceAll(s, `\'`, `'`)
	val, _ := parseJSON(string(jsontape.AppendQuote(nil, s)))
	return token{kind: tokLiteral, pos: start, end: l.off, val: val}, nil
}

func (l *lexer) literal(start int) (token, error) {
	s, err := l.until(start, '`', "literal")
	if err != nil {
		return token{}, err
	}
	val, bad := parseJSON(strings.ReplaceAll(s, "\\`", "`"))
	if bad != nil {
		// The offset is in the text without the backslashes before backticks.
		at := start + 1
		for n := bad.Offset; n > 0 && at < l.off-1; n-- {
			if strings.HasPrefix(l.src[at:], "\\`") {
				at++
			}
			at++
		}
		hint := ""
		if isWord(s) {
			hint = fmt.Sprintf("; for a string write '%s'", s)
		}
		return token{}, l.fail(at, "in a literal between backticks: %s%s", bad.Msg, hint)
	}
	return token{kind: tokLiteral, pos: start, end: l.off, val: val}, nil
}

func isWord(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isNameStart(s[i]) && !isDigit(s[i]) && s[i] != '-' {
			return false
		}
	}
	return s != ""
}

func parseJSON(s string) (jsontape.Value, *jsontape.SyntaxError) {
	doc, err := jsontape.Parse([]byte(s))
	if err != nil {
		return jsontape.Value{}, err.(*jsontape.SyntaxError)
	}
	return doc.Root(), nil
}
