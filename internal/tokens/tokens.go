// Package tokens counts how many tokens a text costs a model. It owns the
// estimators that a ledger line can name (RED-46); their vocabularies are
// embedded, and nothing is ever downloaded.
//
// The counts of cl100k_base and o200k_base equal those of npm gpt-tokenizer
// 4.0.0 for the same bytes, with these three points fixed:
//
//   - The names of special tokens, such as <|endoftext|>, are ordinary text, as
//     in any text that a tool returns (gpt-tokenizer with disallowedSpecial empty).
//   - Bytes that are not UTF-8 count as U+FFFD, one for each maximal part of a
//     broken sequence, as WHATWG and Unicode define it: what a client sees after
//     decoding.
//   - A byte order mark counts as gpt-tokenizer counts it, which is at times one
//     more than OpenAI's own code does.
//
// What is a letter, a mark or a number is a fixed table of Unicode 17, so that
// counts do not change with the Go release.
package tokens

import (
	"fmt"
	"strings"
)

// A Counter estimates the tokens of a text. Count neither keeps nor changes its
// argument, does not allocate in steady state, and may be called from many
// goroutines at once. The first Count of a vocabulary loads it, once a process,
// in some tens of milliseconds.
type Counter interface {
	// Name is the estimator's name as ByName takes it and the ledger writes it.
	Name() string
	// Count returns the number of tokens in text, 0 for none.
	Count(text []byte) int
}

var counters = []Counter{bytes4{}, cl100k, o200k}

// Names returns the names that ByName knows: bytes/4, cl100k_base, o200k_base.
func Names() []string {
	names := make([]string, len(counters))
	for i, c := range counters {
		names[i] = c.Name()
	}
	return names
}

// ByName returns the counter of that name. It loads nothing.
func ByName(name string) (Counter, error) {
	for _, c := range counters {
		if c.Name() == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("estimator %q is not known: want one of %s", name, strings.Join(Names(), ", "))
}

// bytes4 takes four bytes for a token and rounds up, so that no text but the
// empty one is free. Measured, it is near on JSON and far too low on mixed text.
type bytes4 struct{}

func (bytes4) Name() string          { return "bytes/4" }
func (bytes4) Count(text []byte) int { return bytes4{}.CountLen(len(text)) }
func (bytes4) CountLen(n int) int    { return (n + 3) / 4 }

// A Sizer is a Counter that needs no more of a text than its length in bytes.
type Sizer interface {
	Counter
	CountLen(n int) int
}
