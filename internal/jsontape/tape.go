// Package jsontape reads JSON into a tape: one validating pass over the bytes
// leaves one word a token, pointing back into the source. Values keep the
// digits of their numbers, the order and the duplicates of their keys and the
// bytes of their strings; nothing is decoded until somebody asks.
//
// It owns reading, exact comparison and the canonical form. It does not build
// maps, convert numbers to floats, or write anything but JSON text.
//
// Start with [Parse], then [Doc.Root] and the methods of [Value].
package jsontape

import "unicode/utf8"

// Kind is the JSON type of a [Value]. The zero Kind is Invalid, the kind of
// the zero Value.
type Kind uint8

// The kinds, in the order in which they are documented to compare in sorts
// of mixed values.
const (
	Invalid Kind = iota
	Null
	False
	True
	Number
	String
	Array
	Object

	// stringEsc is a String with escapes, all of them the ones that RFC 8785
	// writes; stringOdd has others too (\u and \/). Kind reports both as
	// String.
	stringEsc
	stringOdd
	// closing ends a container; it is never the kind of a Value.
	closing
)

func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case False, True:
		return "boolean"
	case Number:
		return "number"
	case String, stringEsc, stringOdd:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	}
	return "invalid"
}

// Limits bound what one document may ask of its reader.
type Limits struct {
	MaxDepth int // containers within containers; 0 means DefaultMaxDepth
	MaxBytes int // length of the source in bytes; 0 means MaxBytes, the most that is possible
}

const (
	// DefaultMaxDepth is the nesting that encoding/json accepts too.
	DefaultMaxDepth = 10_000
	// MaxBytes is the largest source a tape can address.
	MaxBytes = 1<<28 - 1
)

// A tape word is, from the top: 4 bits of kind, 28 bits of extent, 32 bits of
// offset into the source. The extent of a scalar is its length in bytes, of an
// opening word the index of the word after its closing word, of a closing word
// the number of elements or members.
type word uint64

func makeWord(k Kind, extent, offset int) word {
	return word(k)<<60 | word(extent)<<32 | word(uint32(offset))
}

func (w word) kind() Kind  { return Kind(w >> 60) }
func (w word) extent() int { return int(w >> 32 & (1<<28 - 1)) }
func (w word) offset() int { return int(uint32(w)) }

// Doc is one parsed document. It refers to the source bytes, which must not
// change while the Doc or a Value of it is in use. A Doc may be read from many
// goroutines; Reset may not run beside a reader.
type Doc struct {
	src     []byte
	tape    []word
	stack   []frame
	spaces  bool // white space stands between tokens
	nonUTF8 bool
	at      place
	whole   bool // Finish has succeeded
}

// Parse validates src, which must hold exactly one JSON value (RFC 8259)
// with optional white space around it, under the default limits. Invalid
// UTF-8 and lone surrogate escapes inside strings are accepted and kept as
// they are, see [Doc.ValidUTF8]. The error is a [*SyntaxError].
func Parse(src []byte) (*Doc, error) {
	d := new(Doc)
	if err := d.Reset(src, Limits{}); err != nil {
		return nil, err
	}
	return d, nil
}

// Reset parses src into d as [Parse] does and reuses d's memory. Values taken
// from d before are no longer usable, also where it returns an error.
func (d *Doc) Reset(src []byte, lim Limits) error {
	d.Begin(len(src))
	return d.Finish(src, lim)
}

// Begin makes d ready for a source that arrives in parts and will have about
// size bytes. [Doc.Feed] may follow, and has to be followed by [Doc.Finish].
// Values taken from d before are no longer usable, and there is no root until
// Finish has succeeded.
func (d *Doc) Begin(size int) {
	d.src, d.tape, d.stack, d.at = nil, d.tape[:0], d.stack[:0], place{}
	d.spaces, d.nonUTF8, d.whole = false, false, false
	d.room(min(size, MaxBytes))
}

// Feed parses as much of a source as has arrived: src is all of it up to here,
// and starts with the bytes of the call before; where it stands in memory may
// change. After an error only Begin may follow.
func (d *Doc) Feed(src []byte, lim Limits) error { return d.more(src, lim, false) }

// Finish parses the rest of src, the whole source.
func (d *Doc) Finish(src []byte, lim Limits) error {
	if err := d.more(src, lim, true); err != nil {
		return err
	}
	d.nonUTF8 = d.at.bits&hi8 != 0 && !utf8.Valid(src)
	d.whole = true
	return nil
}

func (d *Doc) more(src []byte, lim Limits, final bool) (err error) {
	if lim.MaxDepth <= 0 {
		lim.MaxDepth = DefaultMaxDepth
	}
	if lim.MaxBytes <= 0 || lim.MaxBytes > MaxBytes {
		lim.MaxBytes = MaxBytes
	}
	d.src = src
	if len(src) > lim.MaxBytes {
		err = &SyntaxError{Offset: lim.MaxBytes, Msg: limitMsg(len(src), lim.MaxBytes)}
	} else {
		err = d.parse(lim.MaxDepth, final)
	}
	if err != nil {
		d.src, d.tape = nil, d.tape[:0]
	}
	return err
}

// Root returns the document's value; of a Doc that holds none, the zero Value.
func (d *Doc) Root() Value {
	if !d.whole {
		return Value{}
	}
	return Value{d, 0}
}

// ValidUTF8 reports whether the source is valid UTF-8. Strings of one that is
// not come out with the bytes they went in with (RED-44).
func (d *Doc) ValidUTF8() bool { return !d.nonUTF8 }

// Bytes returns the source.
func (d *Doc) Bytes() []byte { return d.src }
