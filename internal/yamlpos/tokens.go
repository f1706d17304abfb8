package yamlpos

import (
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// checkTokens refuses what the reader does not take, before the parser walks
// into it: the parser is recursive, and an alias or a tag would change what a
// value means in a place that a reviewer does not look at.
func checkTokens(src *source, tokens token.Tokens) (errs Errors) {
	var blocks []int // columns of the block collections that are open
	flows, entries, content, directive := 0, 0, false, false
	for i, t := range tokens {
		switch t.Type {
		case token.SequenceEntryType, token.MappingValueType, token.CollectEntryType:
			entries++
		}
		if entries > MaxEntries {
			return append(errs, tokenError(src, t, sprintf("the file has more than %d entries", MaxEntries), ""))
		}
		var msg, hint string
		switch t.Type {
		case token.InvalidType:
			return append(errs, syntaxError(src, invalid{t}))
		case token.AnchorType, token.AliasType:
			msg = "anchors and aliases are not allowed"
			hint = "a name or an expression that starts with " + t.Value[:1] + " needs quotes"
		case token.TagType:
			msg, hint = tagMsg, tagHint
		case token.MergeKeyType:
			msg = "merge keys are not allowed"
		case token.MappingKeyType:
			msg = "a key after ? is not allowed"
		case token.DirectiveType:
			msg, directive = "YAML directives are not allowed", true
		case token.DocumentEndType:
			msg = "the end of a document is not marked here: the file is one document"
		case token.DocumentHeaderType:
			directive = false
			if content {
				msg = "a second document is not allowed: the file is one document"
			}
		case token.MappingStartType, token.SequenceStartType:
			flows++
		case token.MappingEndType, token.SequenceEndType:
			flows--
		case token.SequenceEntryType, token.MappingValueType:
			if flows > 0 {
				if t.Type == token.MappingValueType && !spaced(src, t) {
					msg = "a colon needs a space after it"
				}
				break
			}
			col := t.Position.Column
			if t.Type == token.MappingValueType && i > 0 {
				key := tokens[i-1].Position
				if col = key.Column; key.Line != t.Position.Line {
					msg = "a key and its colon must stand on one line"
				}
			}
			for len(blocks) > 0 && blocks[len(blocks)-1] > col {
				blocks = blocks[:len(blocks)-1]
			}
			if len(blocks) == 0 || blocks[len(blocks)-1] < col {
				blocks = append(blocks, col)
			}
		}
		content = content || t.Type != token.CommentType && t.Type != token.DocumentHeaderType && !directive
		if max(flows, 0)+len(blocks) > MaxDepth {
			return append(errs, tokenError(src, t, sprintf("maps and lists stand more than %d deep", MaxDepth), ""))
		}
		if msg != "" {
			errs = append(errs, tokenError(src, t, msg, hint))
		}
	}
	return errs
}

const (
	tagMsg  = "tags are not allowed"
	tagHint = "a string that starts with ! needs quotes, as in \"!name\""
)

// spaced reports whether a colon inside { } ends a key for every reader of
// YAML: nothing but a space or the next punctuation follows it, or its key is
// in quotes.
func spaced(src *source, t *token.Token) bool {
	if p := t.Prev; p != nil && (p.Type == token.DoubleQuoteType || p.Type == token.SingleQuoteType) {
		return true
	}
	off := src.offset(t.Position.Line, t.Position.Column) + 1
	return off >= len(src.data) || strings.IndexByte(" \n\t,]}", src.data[off]) >= 0
}

func tokenError(src *source, t *token.Token, msg, hint string) Error {
	return Error{File: src.name, Line: t.Position.Line, Col: max(t.Position.Column, 1), Msg: msg, Hint: hint}
}

// invalid is the scanner's verdict in the form of the parser's errors.
type invalid struct{ t *token.Token }

func (e invalid) Error() string          { return e.t.Error }
func (e invalid) GetToken() *token.Token { return e.t }
func (e invalid) GetMessage() string     { return strings.TrimSpace(e.t.Error) }

// comment is one comment of a YAML file.
type comment struct {
	line, col int
	text      string // from the # to the end of the line, without white space there
	own       bool   // nothing stands before it on its line
}

// newComment finds the comment in the text: it ends its line. The scanner's
// column is not relied on, being off after the header of a block scalar.
func newComment(src *source, t *token.Token) comment {
	c := comment{line: t.Position.Line, text: "#" + strings.TrimRight(t.Value, " \t")}
	line := strings.TrimRight(string(src.line(c.line)), " \t")
	before := strings.TrimSuffix(line, c.text)
	c.col = utf8.RuneCountInString(before) + 1
	c.own = strings.TrimSpace(before) == ""
	return c
}
