package yamlpos

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// source is a file's text, with \n for its line ends and no byte order mark,
// and the offsets at which its lines start.
type source struct {
	name  string
	data  []byte
	lines []int
	json  bool
	mark  mark
}

// mark is a place found before, from which the next one is counted: a file of
// one long line would otherwise be counted from its start for each value.
type mark struct{ line, col, off int }

// newSource checks the characters of data, which must be text.
func newSource(name string, data []byte) (*source, *Error) {
	if len(data) > MaxBytes {
		return nil, &Error{File: name, Msg: sprintf("the file has %d bytes; at most %d are allowed", len(data), MaxBytes)}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	s := &source{name: name, data: data, lines: []int{0}}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == '\n':
			s.lines = append(s.lines, i+1)
		case r == utf8.RuneError && n == 1:
			return nil, s.errorAt(i, sprintf("the byte 0x%02x is not UTF-8", data[i]))
		case r < ' ' && r != '\t', r == 0x7f, r == 0xfeff, r == 0x85, r == 0x2028, r == 0x2029:
			return nil, s.errorAt(i, sprintf("the character U+%04X is not allowed", r))
		}
		i += n
	}
	return s, nil
}

// pos returns the line and column of a byte offset.
func (s *source) pos(off int) (line, col int) {
	off = min(off, len(s.data))
	i := s.lineOf(off) - 1
	m := s.from(i + 1)
	if m.off > off {
		m = mark{i + 1, 1, s.lines[i]}
	}
	m.col += utf8.RuneCount(s.data[m.off:off])
	m.off = off
	s.mark = m
	return m.line, m.col
}

// lineOf returns the line of a byte offset.
func (s *source) lineOf(off int) int { return sort.SearchInts(s.lines, off+1) }

// from returns the mark if it is on the line, else the line's start.
func (s *source) from(line int) mark {
	if s.mark.line == line {
		return s.mark
	}
	return mark{line, 1, s.lines[line-1]}
}

// offset returns the byte offset of a line and column, held to the line.
func (s *source) offset(line, col int) int {
	if line < 1 {
		return 0
	}
	if line > len(s.lines) {
		return len(s.data)
	}
	m := s.from(line)
	if m.col > col {
		m = mark{line, 1, s.lines[line-1]}
	}
	for end := s.lineEnd(line); m.col < col && m.off < end; m.col++ {
		_, n := utf8.DecodeRune(s.data[m.off:end])
		m.off += n
	}
	s.mark = m
	return m.off
}

// lineEnd returns the offset of the line's \n, or of the end of the text.
func (s *source) lineEnd(line int) int {
	if line < len(s.lines) {
		return s.lines[line] - 1
	}
	return len(s.data)
}

// line returns a line's text without its end.
func (s *source) line(line int) []byte {
	return s.data[s.lines[line-1]:s.lineEnd(line)]
}

// blank reports whether a line exists and has nothing but white space.
func (s *source) blank(line int) bool {
	return line >= 1 && line <= len(s.lines) && len(bytes.TrimSpace(s.line(line))) == 0
}

func (s *source) errorAt(off int, msg string) *Error {
	line, col := s.pos(off)
	return &Error{File: s.name, Line: line, Col: col, Msg: msg}
}
