package yamlpos

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// outline writes a tree one node a line: position, kind, text.
func outline(b *strings.Builder, n *Node, indent string) {
	fmt.Fprintf(b, "%s%d:%d %s %q\n", indent, n.Line, n.Col, n.Kind, n.Text)
	for _, p := range n.Pairs {
		outline(b, p.Key, indent+"  ")
		outline(b, p.Value, indent+"    ")
	}
	for _, item := range n.Items {
		outline(b, item, indent+"  ")
	}
}

func TestReadPositions(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"block", "# c\na:\n  b: off # c\n  é: [1, x, \"y\"]\n  c: 'é'\n", `
2:1 a map ""
  2:1 a string "a"
    3:3 a map ""
      3:3 a string "b"
        3:6 a string "off"
      4:3 a string "é"
        4:6 a list ""
          4:7 a whole number "1"
          4:10 a string "x"
          4:13 a string "y"
      5:3 a string "c"
        5:6 a string "é"
`},
		{"list of maps", "a:\n- when: x == 'y'\n  b: true\n-\n  c: ~\n", `
1:1 a map ""
  1:1 a string "a"
    2:1 a list ""
      2:3 a map ""
        2:3 a string "when"
          2:9 a string "x == 'y'"
        3:3 a string "b"
          3:6 true or false "true"
      5:3 a map ""
        5:3 a string "c"
          5:6 nothing "~"
`},
		{"several lines", "a: one\n  two\nb: |\n  l1\n    l2\nc: >-\n  f1\n  f2\nd:\n", `
1:1 a map ""
  1:1 a string "a"
    1:4 a string "one two"
  3:1 a string "b"
    3:4 a string "l1\n  l2\n"
  6:1 a string "c"
    6:4 a string "f1 f2"
  9:1 a string "d"
    9:1 nothing ""
`},
		{"JSON", "{\"a\": {\"b\": [1, 2.50, null, true]},\n \"c\": \"\\ud83d\\ude00\"}", `
1:1 a map ""
  1:2 a string "a"
    1:7 a map ""
      1:8 a string "b"
        1:13 a list ""
          1:14 a whole number "1"
          1:17 a number "2.50"
          1:23 nothing "null"
          1:29 true or false "true"
  2:2 a string "c"
    2:7 a string "😀"
`},
		{"CRLF and byte order mark", "\xef\xbb\xbfa:\r\n  b: c\r\n", `
1:1 a map ""
  1:1 a string "a"
    2:3 a map ""
      2:3 a string "b"
        2:6 a string "c"
`},
		{"numbers that are read differently by different readers", "a: [017, 0x1F, 1_000, 1.5, -3, +4]\n", `
1:1 a map ""
  1:1 a string "a"
    1:4 a list ""
      1:5 a number "017"
      1:10 a number "0x1F"
      1:16 a number "1_000"
      1:23 a number "1.5"
      1:28 a whole number "-3"
      1:32 a whole number "+4"
`},
		{"one document with its marker", "---\na: b\n", `
2:1 a map ""
  2:1 a string "a"
    2:4 a string "b"
`},
		{"nothing", "# only a comment\n", "\n1:1 nothing \"\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, err := Read("f.yaml", []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			outline(&b, n, "")
			if got := "\n" + b.String(); got != tt.want {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	for _, tt := range []struct{ name, in, want string }{
		{"anchor", "a: &x 1\n", "f.yaml:1:4: anchors and aliases are not allowed; a name or an expression that starts with & needs quotes"},
		{"glob as alias", "*_list: {a: b}\n", "f.yaml:1:1: anchors and aliases are not allowed; a name or an expression that starts with * needs quotes"},
		{"merge key", "a:\n  <<: {b: c}\n", "f.yaml:2:3: merge keys are not allowed"},
		{"tag", "a: [!total, b]\n", "f.yaml:1:5: tags are not allowed; a string that starts with ! needs quotes, as in \"!name\""},
		{"two documents", "a: b\n---\nc: d\n", "f.yaml:2:1: a second document is not allowed: the file is one document"},
		{"document end", "a: b\n...\n", "f.yaml:2:1: the end of a document is not marked here: the file is one document"},
		{"directive", "%YAML 1.2\n---\na: b\n", "f.yaml:1:1: YAML directives are not allowed"},
		{"explicit key", "? a\n: b\n", "f.yaml:1:1: a key after ? is not allowed\nf.yaml:2:1: a key and its colon must stand on one line"},
		{"number as key", "1: a\ntrue: b\n", "f.yaml:1:1: a key must be a string, not a whole number; put it in quotes\nf.yaml:2:1: a key must be a string, not true or false; put it in quotes"},
		{"duplicates, all of them", "a: {b: 1, b: 2}\nc: 1\na: 1\n", "f.yaml:1:11: the key \"b\" stands here a second time; the first is at 1:5\nf.yaml:3:1: the key \"a\" stands here a second time; the first is at 1:1"},
		{"duplicate in JSON", "{\"a\": 1,\n\"a\": 2}", "f.yaml:2:1: the key \"a\" stands here a second time; the first is at 1:2"},
		{"no space after a colon", "a: {max_rows:25, \"b\":1}\n", "f.yaml:1:13: a colon needs a space after it"},
		{"a value inside { }", "a: {b: c: d}\n", "f.yaml:1:8: this value cannot be read for certain; put it in quotes"},
		{"a tag alone", "!x", "f.yaml:1:1: this line cannot be read"},
		{"tab", "a:\n\tb: c\n", "f.yaml:2:1: a tab cannot indent; use spaces"},
		{"unquoted expression", "a:\n  keep: items[*].{a: b}\n", "f.yaml:2:9: mapping value is not allowed in this context; put the value in quotes, as every expression with \": \" or \" #\" in it, or with one of @ ` % { [ * & ! at its start"},
		{"not UTF-8", "a: b\nc: \xff\n", "f.yaml:2:4: the byte 0xff is not UTF-8"},
		{"control character", "a: \x00\n", "f.yaml:1:4: the character U+0000 is not allowed"},
		{"lone carriage return", "a: b\rc: d", "f.yaml:1:5: the character U+000D is not allowed"},
		{"flow depth", "a: " + deep, "f.yaml:1:35: maps and lists stand more than 32 deep"},
		{"block depth", strings.Repeat("- ", 1000) + "a", "f.yaml:1:65: maps and lists stand more than 32 deep"},
		{"size", strings.Repeat("#", MaxBytes+1), "f.yaml: the file has 1048577 bytes; at most 1048576 are allowed"},
		{"header of a block scalar is not shown", "a: |secret\n  x\n", "f.yaml:1:4: after | or > comes nothing but + or - on this line"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read("f.yaml", []byte(tt.in))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			var one Error
			if !errors.As(err, &one) {
				t.Errorf("errors.As finds no Error in %T", err)
			}
		})
	}
	t.Run("JSON by its name", func(t *testing.T) {
		_, err := Read("f.json", []byte("{\"a\": 1,\n}"))
		if err == nil || !strings.HasPrefix(err.Error(), "f.json:2:1: ") {
			t.Errorf("got %v", err)
		}
	})
}

// TestPos points at the character X of each value, wherever it stands.
func TestPos(t *testing.T) {
	for _, tt := range []struct {
		name, in  string
		line, col int
	}{
		{"plain", "a: éé X\n", 1, 7},
		{"double quotes with escapes", `a: "\u00e9\n\"\\\x41\ud83d\ude00X"`, 1, 33},
		{"single quotes", "a: 'it''s X'\n", 1, 11},
		{"plain over lines", "a: one\n  two\n    X y\n", 3, 5},
		{"double quotes over lines", "a: \"one\n  two \\\n   X\"\n", 3, 4},
		{"literal", "a: |\n    one\n      X\n", 3, 7},
		{"literal after a comment", "k:\n  a: |-  # why\n    one\n\n    two X\n", 5, 9},
		{"folded", "a: >\n  one\n  two\n\n  three X\n", 5, 9},
		{"JSON", "{\n \"a\": \"\\/\\u0041X\"}", 2, 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, err := Read("f.yaml", []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			n := root.Pairs[0].Value
			if n.Kind == Map {
				n = n.Pairs[0].Value
			}
			line, col := n.Pos(strings.Index(n.Text, "X"))
			if line != tt.line || col != tt.col {
				t.Errorf("%q: got %d:%d, want %d:%d", n.Text, line, col, tt.line, tt.col)
			}
		})
	}
}
