package yamlpos

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFormat runs one file a case: input, the line "-- want --", output.
func TestFormat(t *testing.T) {
	files, err := filepath.Glob("testdata/format/*")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in, want, ok := strings.Cut(string(data), "-- want --\n")
			if !ok {
				t.Fatal("the case has no line -- want --")
			}
			got, err := Format("f.yaml", []byte(in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if again, err := Format("f.yaml", got); err != nil || !bytes.Equal(again, got) {
				t.Errorf("a second time gives (%v):\n%s", err, again)
			}
		})
	}
}

// FuzzFormat holds the promises of Read and Format on any input: no panic,
// positions within the file, the same data and comments after formatting, and
// nothing left to do for a second run.
func FuzzFormat(f *testing.F) {
	files, _ := filepath.Glob("testdata/format/*")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		in, want, _ := bytes.Cut(data, []byte("-- want --\n"))
		f.Add(in)
		f.Add(want)
	}
	for _, in := range []string{ // each of these was once read or formatted wrong
		"a: # c\nb\n", "  -\n  0\n#\n  -", "{a: {\n%b: 1}}", "{\"a\": {\"b\": 1,}}", "{a: {\nb::}}", "A: 0\n -0",
		"a: [b,\n ?, #\n]", "a:\n  - b: 1\n    c: 2\n  # d\n  -", "a:  # b\n  - - # c", "a: {b:\n0: 0}",
		"a: |   # b\n c\n       ", "A: 0\n - #", "A #\n:", "a: b  \n\n",
		"A:\n    b: |1 #0\n     A",
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, err := Read("f.yaml", data)
		if err != nil {
			return
		}
		checkPositions(t, root)
		out, err := Format("f.yaml", data)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Format("f.yaml", out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("first:\n%s\nsecond (%v):\n%s", out, err, again)
		}
	})
}

func checkPositions(t *testing.T, n *Node) {
	if n.Line < 1 || n.Col < 1 || n.Line > len(n.src.lines) || n.start > n.end || n.end > len(n.src.data) {
		t.Fatalf("node %q stands at %d:%d, bytes %d to %d", n.Text, n.Line, n.Col, n.start, n.end)
	}
	for off := range len(n.Text) + 1 {
		line, col := n.Pos(off)
		if line < n.Line || line > len(n.src.lines) || col < 1 {
			t.Fatalf("byte %d of %q stands at %d:%d", off, n.Text, line, col)
		}
	}
	for _, p := range n.Pairs {
		checkPositions(t, p.Key)
		checkPositions(t, p.Value)
	}
	for _, item := range n.Items {
		checkPositions(t, item)
	}
}
