package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// maxSession is the most that a session may be once decompressed, in bytes: it
// is held in memory.
const maxSession = 4 << 30

// ErrTooLarge is the error of a session that does not fit in memory.
var ErrTooLarge = errors.New("the session is too large")

// Load reads a session, compressed or not, and what is declared beside it. A
// line that is cut off, as the process that wrote it may have been killed, and
// lines that cannot be read are left out and told of. The error says that the
// file could not be opened, is no recording, or is of a later version.
func Load(path string) (*Session, error) {
	data, torn, err := readAll(path)
	if err != nil {
		return nil, err
	}
	s, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	s.Torn = s.Torn || torn
	s.Declared, err = loadDeclared(path)
	return s, err
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

func readAll(path string) (data []byte, torn bool, err error) {
	data, err = os.ReadFile(path)
	if err != nil {
		return nil, false, err
	}
	if !bytes.HasPrefix(data, zstdMagic) {
		return data, false, nil
	}
	d, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxSession))
	if err != nil {
		return nil, false, err
	}
	defer d.Close()
	var out bytes.Buffer
	out.Grow(4 * len(data))
	n, err := io.Copy(&out, io.LimitReader(d, maxSession))
	if n == maxSession {
		return nil, false, fmt.Errorf("%s: %w: over %d bytes", path, ErrTooLarge, int64(maxSession))
	}
	// What was flushed before the end of a torn file is whole.
	return out.Bytes(), err != nil, nil
}

// Parse reads the lines of a session; path stands in errors.
func Parse(path string, data []byte) (*Session, error) {
	s := &Session{Path: path}
	first := true
	for n := 1; len(data) > 0; n++ {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		data = rest
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		doc, err := jsontape.Parse(line)
		switch {
		case err != nil && !whole && !first:
			s.Torn = true
			continue
		case err != nil && first:
			return nil, fmt.Errorf("%s: not a recorded session: %w", path, err)
		case first:
			if err := s.header(doc.Root(), line); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			first = false
			continue
		case err != nil:
			s.Skipped++
			continue
		}
		var e Event
		if e.read(doc.Root()) {
			s.Events = append(s.Events, e)
		} else {
			s.Skipped++
		}
	}
	if first {
		return nil, fmt.Errorf("%s: not a recorded session: it is empty", path)
	}
	return s, nil
}

func (s *Session) header(v jsontape.Value, line []byte) error {
	if v.Kind() != jsontape.Object || !v.Get("kind").Is("session") {
		return errors.New(`not a recorded session: the first line has no "kind":"session"`)
	}
	if err := json.Unmarshal(line, &s.Header); err != nil {
		return fmt.Errorf("not a recorded session: %w", err)
	}
	if s.Header.Version != Version {
		return fmt.Errorf("a recording of version %d; this program reads %d", s.Header.Version, Version)
	}
	return nil
}

// read fills the event from a line. It reports false for what is no event.
func (e *Event) read(v jsontape.Value) bool {
	if v.Kind() != jsontape.Object {
		return false
	}
	for it := v.Iter(); it.Next(); {
		m := it.Value()
		switch it.Key().Str() {
		case "kind":
			e.Kind = m.Str()
		case "at":
			e.At = integer(m)
		case "done":
			e.Done = integer(m)
		case "server":
			e.Server = m.Str()
		case "tool":
			e.Tool = m.Str()
		case "state":
			e.State = m.Str()
		case "args":
			e.Args = m.Raw()
		case "env":
			_ = json.Unmarshal(m.Raw(), &e.Env)
		case "rule":
			e.Rule = m.Str()
		case "outcome":
			e.Outcome = m.Str()
		case "result":
			e.Result = m.Raw()
		case "shown":
			e.Shown = m.Raw()
		case "error":
			e.Error = m.Raw()
		case "before":
			_ = json.Unmarshal(m.Raw(), &e.Before)
		case "after":
			_ = json.Unmarshal(m.Raw(), &e.After)
		case "cut":
			_ = json.Unmarshal(m.Raw(), &e.Cut)
		case "note":
			e.Note = m.Str()
		case "ref":
			e.Ref = m.Str()
		case "faults":
			_ = json.Unmarshal(m.Raw(), &e.Faults)
		case "dropped":
			e.Dropped = m.Kind() == jsontape.True
		case "reason":
			e.Reason = m.Str()
		}
	}
	return e.Kind != ""
}

func integer(v jsontape.Value) int64 {
	n, _ := strconv.ParseInt(string(v.Raw()), 10, 64)
	return n
}
