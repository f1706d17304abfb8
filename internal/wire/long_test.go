package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// watcher keeps what it was shown of a frame.
type watcher struct {
	begun int
	drops int
	shown [][]byte
}

func (w *watcher) Begin(int)         { w.begun, w.shown = w.begun+1, nil }
func (w *watcher) Drop()             { w.drops++ }
func (w *watcher) More(soFar []byte) { w.shown = append(w.shown, soFar) }

func TestReaderShowsLongFramesWhileTheyArrive(t *testing.T) {
	long := func(c byte, n int) []byte { return append(bytes.Repeat([]byte{c}, n), '\n') }
	in := bytes.Join([][]byte{
		long('a', 100), long('b', 700_000), long('c', 100), long('d', 3<<20), long('e', 70_000),
		long('f', mostLong+chunkSize), long('g', 2<<20), long('h', 100),
	}, nil)
	for name, src := range map[string]io.Reader{
		"whole reads": bytes.NewReader(in), "half reads": iotest.HalfReader(bytes.NewReader(in)), "data with EOF": iotest.DataErrReader(bytes.NewReader(in)),
	} {
		t.Run(name, func(t *testing.T) {
			var w watcher
			r := NewReader(src, 0)
			r.Follow(&w)
			for _, c := range []struct {
				of            byte
				size          int
				shown, passes bool
			}{
				{'a', 100, false, true}, {'b', 700_000, true, true}, {'c', 100, false, true}, {'d', 3 << 20, true, true}, {'e', 70_000, true, true},
				{'f', mostLong + chunkSize, true, true}, {'g', 2 << 20, false, true}, {'h', 100, false, true},
			} {
				w = watcher{}
				f, err := r.Next()
				if err != nil || f.Len() != c.size || bytes.Count(f.Body(), []byte{c.of}) != c.size {
					t.Fatalf("%c: %d bytes, error %v", c.of, f.Len(), err)
				}
				if c.of == 'g' { // behind a very long frame the window is larger, and shows less
					continue
				}
				if (w.begun == 1) != c.shown || w.begun > 1 {
					t.Errorf("%c: begun %d times", c.of, w.begun)
				}
				if (w.drops == 1) != (c.size > mostLong) {
					t.Errorf("%c: dropped %d times", c.of, w.drops)
				}
				seen := 0
				for _, part := range w.shown {
					if !bytes.HasPrefix(f.Body()[seen:], part[seen:]) {
						t.Fatalf("%c: was shown %d bytes that are not its start", c.of, len(part))
					}
					seen = len(part)
				}
			}
			if _, err := r.Next(); !errors.Is(err, io.EOF) {
				t.Errorf("at the end: %v", err)
			}
		})
	}
}

// A long last line counts without its newline, and one over the limit is
// dropped whether it ends or not.
func TestReaderEndsInALongLine(t *testing.T) {
	body := bytes.Repeat([]byte("x"), 300_000)
	r := NewReader(iotest.HalfReader(bytes.NewReader(body)), 0)
	if f, err := r.Next(); err != nil || !bytes.Equal(f.Body(), body) {
		t.Errorf("%d bytes, error %v", f.Len(), err)
	}
	for _, end := range []string{"", "\n", "\r\n"} {
		r = NewReader(bytes.NewReader(append(bytes.Clone(body), end...)), 299_999)
		var big *TooLargeError
		if _, err := r.Next(); !errors.As(err, &big) || big.Size != int64(len(body)) {
			t.Errorf("end %q: %v", end, err)
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("end %q: behind it %v", end, err)
		}
		r = NewReader(bytes.NewReader(append(bytes.Clone(body), end...)), 300_000)
		if f, err := r.Next(); err != nil || !bytes.Equal(f.Body(), body) {
			t.Errorf("end %q, just as long as the limit: %d bytes, error %v", end, f.Len(), err)
		}
	}
	boom := errors.New("boom")
	r = NewReader(io.MultiReader(bytes.NewReader(body), iotest.ErrReader(boom)), 0)
	if _, err := r.Next(); !errors.Is(err, boom) {
		t.Errorf("error %v, want boom", err)
	}
}
