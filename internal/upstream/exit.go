package upstream

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"unicode"
)

// An ExitError tells how a server ended. It is an error where nobody asked it
// to.
type ExitError struct {
	Name      string
	Code      int // its exit status; -1 if a signal ended it
	Signal    int // the signal's number, 0 if none
	LastWords string
}

func (e *ExitError) Error() string {
	if e.LastWords == "" {
		return e.How() + ", without a word on stderr"
	}
	return e.How() + "; its last words: " + e.LastWords
}

// How is the error without the last words.
func (e *ExitError) How() string {
	if e.Signal != 0 {
		return fmt.Sprintf("server %s was ended by signal %d (%s)", e.Name, e.Signal, syscall.Signal(e.Signal))
	}
	return fmt.Sprintf("server %s exited with status %d", e.Name, e.Code)
}

// Status is the exit status that stands for it in a shell: its own, or 128 and
// the signal.
func (e *ExitError) Status() int {
	if e.Signal != 0 {
		return 128 + e.Signal
	}
	return e.Code
}

// wordsKept is how much of a server's stderr is remembered, in bytes.
const wordsKept = 4 << 10

// tail is a writer that remembers the end of what was written.
type tail struct {
	mu  sync.Mutex
	buf []byte
	cut bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if n > wordsKept {
		p, t.buf, t.cut = p[n-wordsKept:], t.buf[:0], true
	}
	if over := len(t.buf) + len(p) - wordsKept; over > 0 {
		t.buf, t.cut = append(t.buf[:0], t.buf[over:]...), true
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

// String returns whole lines of printable text: colour codes are for terminals.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buf
	if i := bytes.IndexByte(b, '\n'); t.cut && i >= 0 && i < len(b)-1 {
		b = b[i+1:]
	}
	text := strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, stripColours(strings.ToValidUTF8(string(b), "\uFFFD")))
	return strings.TrimSpace(text)
}

// stripColours removes the escape sequences ESC [ … letter.
func stripColours(s string) string {
	var out strings.Builder
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			out.WriteString(s)
			return out.String()
		}
		out.WriteString(s[:i])
		s = strings.TrimLeft(s[i+2:], "0123456789;?")
		if s != "" {
			s = s[1:]
		}
	}
}
