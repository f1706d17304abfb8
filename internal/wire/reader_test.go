package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func TestReaderLineEnds(t *testing.T) {
	r := NewReader(strings.NewReader("{\"a\":1}\r\n\n  \n\r\n{\"b\":2}\n{\"c\":3}"), 0)
	var got []string
	for {
		f, err := r.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			break
		}
		got = append(got, string(f.Body()))
	}
	if want := `[{"a":1} {"b":2} {"c":3}]`; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// Whatever the sizes of frames and reads, frames come out as they went in.
func TestReaderFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := 3 * chunkSize / 2
		sizes := rapid.SliceOfN(rapid.OneOf(
			rapid.IntRange(1, 300),
			rapid.IntRange(windowSize-3, windowSize+3),
			rapid.IntRange(chunkSize-3, chunkSize+windowSize+3),
			rapid.IntRange(limit-2, limit+3),
			rapid.SampledFrom([]int{2 * limit}),
		), 1, 8).Draw(t, "sizes")
		crlf := rapid.Bool().Draw(t, "crlf")
		var in bytes.Buffer
		for i, n := range sizes {
			in.Write(bytes.Repeat([]byte{byte('a' + i)}, n))
			if crlf {
				in.WriteByte('\r')
			}
			in.WriteByte('\n')
		}
		var src io.Reader = &in
		if rapid.Bool().Draw(t, "half reads") {
			src = iotest.HalfReader(src)
		}
		r := NewReader(src, limit)
		for i, n := range sizes {
			f, err := r.Next()
			if n > limit {
				var big *TooLargeError
				if !errors.As(err, &big) || big.Size < int64(n) || big.Size > int64(n)+1 {
					t.Fatalf("frame %d of %d bytes: error %v", i, n, err)
				}
				continue
			}
			if err != nil || f.Len() != n || f.Body()[0] != byte('a'+i) || f.Body()[n-1] != byte('a'+i) {
				t.Fatalf("frame %d: %d bytes, error %v, want %d", i, f.Len(), err, n)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatalf("at the end: %v", err)
		}
	})
}

func TestK60_FrameOverTheLimitTellsItsID(t *testing.T) {
	pad := strings.Repeat(`x\"{`, 5000)
	for name, in := range map[string]string{
		"first":                 `{"id":"r-7","method":"m","params":"` + pad + `"}`,
		"last":                  `{"result":{"id":5,"a":["` + pad + `"]},"method":"m","id" : "r-7"}`,
		"twice, last wins":      `{"id":1,"method":"m","params":["` + pad + `"],"id":"r-7"}`,
		"over a buffered limit": `{"id":"r-7","method":"m","params":"` + strings.Repeat(pad, 200) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(iotest.HalfReader(strings.NewReader(in+"\n{\"id\":2}\n")), 4096)
			_, err := r.Next()
			var big *TooLargeError
			if !errors.As(err, &big) {
				t.Fatalf("error %v", err)
			}
			if string(big.ID) != `"r-7"` || string(big.Method) != `"m"` || big.Size != int64(len(in)) {
				t.Errorf("%s %s %d, want the id, the method and %d bytes", big.ID, big.Method, big.Size, len(in))
			}
			if f, err := r.Next(); err != nil || string(f.Body()) != `{"id":2}` {
				t.Errorf("the next frame: %s, %v", f.Body(), err)
			}
		})
	}
}

func TestReaderReportsTheSourcesError(t *testing.T) {
	boom := errors.New("boom")
	r := NewReader(io.MultiReader(strings.NewReader("{}\n{"), iotest.ErrReader(boom)), 0)
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, boom) {
		t.Errorf("error %v, want boom", err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("{}\n\r\n{\"id\":1}\r\n"), 3)
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		r := NewReader(bytes.NewReader(in), limit%4096)
		for {
			fr, err := r.Next()
			var big *TooLargeError
			if errors.As(err, &big) {
				continue
			}
			if err != nil {
				return
			}
			if bytes.IndexByte(fr.Body(), '\n') >= 0 {
				t.Fatal("a frame with a newline")
			}
		}
	})
}

func BenchmarkReader(b *testing.B) {
	line := append(bytes.Repeat([]byte("x"), 2<<20), '\n')
	b.SetBytes(int64(len(line)))
	src := &loop{line: line}
	r := NewReader(src, 0)
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

type loop struct {
	line []byte
	at   int
}

func (l *loop) Read(p []byte) (int, error) {
	n := copy(p, l.line[l.at:])
	l.at = (l.at + n) % len(l.line)
	return n, nil
}
