package sse_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/spillway-mcp/spillway/internal/httpmcp/sse"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// readAll writes down what a stream holds, one line an event.
func readAll(r io.Reader, limit int) string {
	var out strings.Builder
	events := sse.NewReader(r, limit)
	for {
		ev, err := events.Next()
		var big *sse.TooLargeError
		switch {
		case errors.As(err, &big):
			fmt.Fprintf(&out, "too large: %v\n", err)
			continue
		case err == io.EOF:
			fmt.Fprintf(&out, "end, last id %q\n", events.LastID())
			return out.String()
		case err != nil:
			fmt.Fprintf(&out, "error: %v\n", err)
			return out.String()
		}
		fmt.Fprintf(&out, "event")
		if ev.Name != "" {
			fmt.Fprintf(&out, " name=%q", ev.Name)
		}
		if ev.ID != "" {
			fmt.Fprintf(&out, " id=%q", ev.ID)
		}
		if ev.HasRetry {
			fmt.Fprintf(&out, " retry=%v", ev.Retry)
		}
		if ev.HasData {
			fmt.Fprintf(&out, " data=%q", ev.Data)
		}
		out.WriteByte('\n')
	}
}

// Each transcript is a stream, with Go's escapes in it and its lines joined, and
// what is read from it, whole and byte by byte.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(ar.Files); i += 2 {
			in, want := ar.Files[i], &ar.Files[i+1]
			t.Run(in.Name, func(t *testing.T) {
				stream := unescape(t, in.Data)
				got := readAll(bytes.NewReader(stream), 1<<20)
				if *update {
					want.Data = []byte(got)
				}
				if got != string(want.Data) {
					t.Errorf("got\n%swant\n%s", got, want.Data)
				}
				for n := 1; n < min(len(stream), 40); n++ {
					if split := readAll(&chunks{stream, n}, 1<<20); split != got {
						t.Fatalf("in pieces of %d bytes:\n%swhole:\n%s", n, split, got)
					}
				}
			})
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func unescape(t *testing.T, lines []byte) []byte {
	t.Helper()
	var out []byte
	for line := range strings.Lines(string(lines)) {
		s, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `"`, `\"`) + `"`)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, s...)
	}
	return out
}

// chunks reads n bytes at once.
type chunks struct {
	rest []byte
	n    int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.rest[:min(c.n, len(c.rest))])
	c.rest = c.rest[n:]
	return n, nil
}

func TestSizesUpTo64MiB(t *testing.T) {
	for _, size := range []int{0, 1, 2047, 2048, 4095, 4096, 4097, 65535, 65536, 65537, 1 << 20, 3<<20 + 7, 64 << 20} {
		data := bytes.Repeat([]byte("0123456789abcde\xFF"), size/16+1)[:size]
		var stream bytes.Buffer
		for range 2 { // the second shows that nothing of the first is reused
			if err := sse.Write(&stream, sse.Head{ID: "7"}, data[:size/3], data[size/3:]); err != nil {
				t.Fatal(err)
			}
		}
		r := sse.NewReader(&stream, 0)
		first, err := r.Next()
		if err != nil {
			t.Fatal(size, err)
		}
		second, err := r.Next()
		if err != nil {
			t.Fatal(size, err)
		}
		if !bytes.Equal(first.Data, data) || !bytes.Equal(second.Data, data) {
			t.Errorf("%d bytes came out changed", size)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%d bytes: end is %v", size, err)
		}
	}
}

func TestOverTheLimitIsSkipped(t *testing.T) {
	stream := "data: {}\n\ndata: " + strings.Repeat("x", 300_000) + "\ndata: y\n\nid: 9\ndata: {\"a\":1}\n\n"
	want := "event data=\"{}\"\ntoo large: message of 300002 bytes is over the limit of 100000\nevent id=\"9\" data=\"{\\\"a\\\":1}\"\nend, last id \"9\"\n"
	if got := readAll(strings.NewReader(stream), 100_000); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := readAll(iotest.OneByteReader(strings.NewReader(stream)), 100_000); got != want {
		t.Errorf("byte by byte\n%s", got)
	}
}

func TestErrorsOfTheSource(t *testing.T) {
	broken := errors.New("connection reset")
	r := sse.NewReader(io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken)), 0)
	if ev, err := r.Next(); err != nil || string(ev.Data) != "1" {
		t.Fatal(ev, err)
	}
	for range 2 {
		if ev, err := r.Next(); err != broken {
			t.Fatal(ev, err)
		}
	}
}

// A CR ends a line by itself: the event is there before the next byte comes.
func TestCarriageReturnDoesNotWait(t *testing.T) {
	pr, pw := io.Pipe()
	defer pw.Close()
	go pw.Write([]byte("data: 1\r\r"))
	if ev, err := sse.NewReader(pr, 0).Next(); err != nil || string(ev.Data) != "1" {
		t.Fatal(ev, err)
	}
}

func TestWriteDividesLines(t *testing.T) {
	var b bytes.Buffer
	if err := sse.Write(&b, sse.Head{Name: "message", ID: "1-2", HasRetry: true}, []byte("{\n\"a\":"), []byte("\r\n1}")); err != nil {
		t.Fatal(err)
	}
	want := "event: message\nid: 1-2\nretry: 0\ndata: {\ndata: \"a\":\ndata: \ndata: 1}\n\n"
	if b.String() != want {
		t.Errorf("got %q", b.String())
	}
}

// Lines that end in CR alone take time in proportion to their bytes.
func TestManyShortLinesAreLinear(t *testing.T) {
	stream := strings.Repeat(":\r", 4<<20)
	if got := readAll(strings.NewReader(stream), 0); got != "end, last id \"\"\n" {
		t.Error(got)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("\xEF\xBB\xBFid: 1\r\ndata: {}\r\n\r\nretry: 5\rdata\rdata: x\r\revent: a\n\n"), 3)
	f.Add([]byte("data: "+strings.Repeat("a", 9000)+"\ndata: b\n\n"), 4096)
	f.Fuzz(func(t *testing.T, stream []byte, n int) {
		whole := readAll(bytes.NewReader(stream), 8000)
		if n = n & 0x3fff; n > 0 {
			if split := readAll(&chunks{stream, n}, 8000); split != whole {
				t.Errorf("in pieces of %d:\n%s\nwhole:\n%s", n, split, whole)
			}
		}
		if plain := readPlainly(stream, 8000); plain != whole {
			t.Errorf("got\n%s\nwant\n%s", whole, plain)
		}
	})
}

// readPlainly is the reading rules written down as they stand in the HTML
// standard, line by line.
func readPlainly(stream []byte, limit int) string {
	s := strings.TrimPrefix(string(stream), "\uFEFF")
	if s == string(stream) && (strings.HasPrefix(s, "\xEF\xBB") || strings.HasPrefix(s, "\xEF")) {
		s = "?" + s
	}
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	var out strings.Builder
	var data []string
	name, lastID, retry, hasRetry, any := "", "", int64(0), false, false
	lines := strings.Split(s, "\n")
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			joined := strings.Join(data, "\n")
			if any && len(joined) > limit {
				fmt.Fprintf(&out, "too large: message of %d bytes is over the limit of %d\n", len(joined), limit)
			} else if any {
				out.WriteString("event")
				if name != "" {
					fmt.Fprintf(&out, " name=%q", name)
				}
				if lastID != "" {
					fmt.Fprintf(&out, " id=%q", lastID)
				}
				if hasRetry {
					fmt.Fprintf(&out, " retry=%v", time.Duration(retry)*time.Millisecond)
				}
				if data != nil {
					fmt.Fprintf(&out, " data=%q", joined)
				}
				out.WriteByte('\n')
			}
			data, name, hasRetry, any = nil, "", false, false
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data, any = append(data, value), true
		case "event":
			any = true
			if len(value) <= 4096 {
				name = value
			}
		case "id":
			any = true
			if len(value) <= 4096 && !strings.Contains(value, "\x00") {
				lastID = value
			}
		case "retry":
			any = true
			if value != "" && strings.Trim(value, "0123456789") == "" {
				retry, hasRetry = 0, true
				for _, c := range value {
					retry = min(retry*10+int64(c-'0'), 86_400_000)
				}
			}
		}
	}
	fmt.Fprintf(&out, "end, last id %q\n", lastID)
	return out.String()
}
