package sse

import (
	"bytes"
	"io"
	"strconv"
	"time"
)

// A Head is what an event has besides its data. Strings must hold no line ends.
type Head struct {
	ID, Name string
	Retry    time.Duration
	HasRetry bool
}

// AppendHead appends the lines of h.
func AppendHead(dst []byte, h Head) []byte {
	if h.Name != "" {
		dst = append(append(append(dst, "event: "...), h.Name...), '\n')
	}
	if h.ID != "" {
		dst = append(append(append(dst, "id: "...), h.ID...), '\n')
	}
	if h.HasRetry {
		dst = strconv.AppendInt(append(dst, "retry: "...), h.Retry.Milliseconds(), 10)
		dst = append(dst, '\n')
	}
	return dst
}

// Write writes one event whose data are the parts, one behind the other. Line
// ends in them, which in JSON are white space, divide the data into lines. Small
// events are one write; the parts of large ones are not copied.
func Write(w io.Writer, h Head, parts ...[]byte) error {
	buf := make([]byte, 0, 2<<10)
	buf = append(AppendHead(buf, h), "data: "...)
	for _, p := range parts {
		for len(p) > 0 {
			end, next := lineEnd(p)
			if len(buf)+end+64 <= cap(buf) {
				buf = append(buf, p[:end]...)
			} else {
				if err := flush(w, &buf); err != nil {
					return err
				}
				if _, err := w.Write(p[:end]); err != nil {
					return err
				}
			}
			if next > end {
				buf = append(buf, "\ndata: "...)
			}
			p = p[next:]
		}
	}
	buf = append(buf, "\n\n"...)
	return flush(w, &buf)
}

func flush(w io.Writer, buf *[]byte) error {
	if len(*buf) == 0 {
		return nil
	}
	_, err := w.Write(*buf)
	*buf = (*buf)[:0]
	return err
}

// lineEnd returns where the first line of p ends and where the next begins.
func lineEnd(p []byte) (end, next int) {
	end = bytes.IndexByte(p, '\n')
	if end < 0 {
		end = len(p)
	}
	if i := bytes.IndexByte(p[:end], '\r'); i >= 0 {
		return i, i + 1 // the LF of a CR LF makes one more, empty line: white space too
	}
	return end, min(end+1, len(p))
}
