package doctest

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

var (
	moreElements = regexp.MustCompile(`^… and ([\d,]+) more$`)
	moreLines    = regexp.MustCompile(`(?m)^… and ([\d,]+) more lines\n`)
	moreLetters  = regexp.MustCompile(`^(.+?) ?\(… ([\d,]+) more characters\)$`)
)

func number(s string) int {
	n, _ := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
	return n
}

// expandJSON writes out an abbreviated JSON text, compactly: an element "… and
// 98 more" of an array stands for elements like the one before it, in which the
// number of that element counts on, and so does a member under such a key;
// "abc (… 500 more characters)" for abc again
// and again.
func expandJSON(t *testing.T, text string) string {
	t.Helper()
	d, err := jsontape.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return string(appendExpanded(nil, d.Root()))
}

func appendExpanded(dst []byte, v jsontape.Value) []byte {
	switch v.Kind() {
	case jsontape.String:
		m := moreLetters.FindStringSubmatch(v.Str())
		if m == nil {
			return append(dst, v.Raw()...)
		}
		_, again, ok := strings.Cut(m[1], ";base64,") // of a data URI its data
		if !ok {
			again = m[1]
		}
		n := number(m[2])
		return jsontape.AppendQuote(dst, m[1]+strings.Repeat(again, n/len(again)+1)[:n])
	case jsontape.Object:
		var members []string
		for it := v.Iter(); it.Next(); {
			if m := moreElements.FindStringSubmatch(it.Key().Str()); m != nil {
				for range number(m[1]) {
					members = append(members, next(members[len(members)-1], len(members)))
				}
				continue
			}
			member := append(append([]byte(nil), it.Key().Raw()...), ':')
			members = append(members, string(appendExpanded(member, it.Value())))
		}
		return append(dst, "{"+strings.Join(members, ",")+"}"...)
	case jsontape.Array:
		var elems []string
		for it := v.Iter(); it.Next(); {
			m := []string(nil)
			if it.Value().Kind() == jsontape.String {
				m = moreElements.FindStringSubmatch(it.Value().Str())
			}
			if m == nil {
				elems = append(elems, string(appendExpanded(nil, it.Value())))
				continue
			}
			for range number(m[1]) {
				elems = append(elems, next(elems[len(elems)-1], len(elems)))
			}
		}
		return append(dst, "["+strings.Join(elems, ",")+"]"...)
	}
	return append(dst, v.Raw()...)
}

// next is the copy of thing i with its number counted on.
func next(s string, i int) string {
	return regexp.MustCompile(`\b`+strconv.Itoa(i)+`\b`).ReplaceAllString(s, strconv.Itoa(i+1))
}

// expandText writes out an abbreviated text: "… and 98 more lines" stands for
// lines like the one before.
func expandText(text string) string {
	m := moreLines.FindStringSubmatchIndex(text)
	if m == nil {
		return text
	}
	lines := strings.SplitAfter(text[:m[0]], "\n")
	lines = lines[:len(lines)-1]
	for range number(text[m[2]:m[3]]) {
		lines = append(lines, next(lines[len(lines)-1], len(lines)))
	}
	return strings.Join(lines, "") + text[m[1]:]
}

// legible shows what a model reads of a result: the text blocks, JSON in one
// line a member and a row, long lines wrapped. Blocks are numbered where there
// are several; one that is no text is shown as its JSON.
func legible(t *testing.T, result []byte) string {
	t.Helper()
	d, err := jsontape.Parse(result)
	if err != nil {
		t.Fatal(err)
	}
	content := d.Root().Get("content")
	var b strings.Builder
	n := 0
	for it := content.Iter(); it.Next(); {
		if n++; content.Len() > 1 {
			b.WriteString("[" + strconv.Itoa(n) + "] ")
		}
		text := it.Value().Get("text")
		if !it.Value().Get("type").Is("text") || !text.Exists() {
			b.WriteString(wrap(string(it.Value().AppendCompact(nil)) + "\n"))
			continue
		}
		s := strings.TrimSuffix(text.Str(), "\n")
		if inner, err := jsontape.Parse([]byte(s)); err == nil && inner.Root().IsContainer() {
			s = strings.TrimSuffix(lined(inner.Root()), "\n")
		}
		b.WriteString(wrap(s + "\n"))
	}
	return b.String()
}

// lined writes a JSON value in lines: one a member, one an element.
func lined(v jsontape.Value) string {
	if v.Kind() != jsontape.Object {
		return string(v.AppendCompact(nil)) + "\n"
	}
	var b strings.Builder
	b.WriteByte('{')
	first := true
	for it := v.Iter(); it.Next(); {
		if !first {
			b.WriteString(",\n ")
		}
		first = false
		b.Write(it.Key().Raw())
		b.WriteByte(':')
		if e := it.Value(); e.Kind() == jsontape.Array && e.Len() > 1 {
			b.WriteByte('[')
			for i := range e.Len() {
				if i > 0 {
					b.WriteByte(',')
				}
				b.WriteString("\n   " + string(e.Index(i).AppendCompact(nil)))
			}
			b.WriteByte(']')
		} else {
			b.Write(e.AppendCompact(nil))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

const width = 110

// wrap breaks lines of more than width characters at spaces; the rest is
// indented.
func wrap(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		for len([]rune(line)) > width {
			r := []rune(line)
			k := width
			for k > width/2 && r[k] != ' ' {
				k--
			}
			if r[k] != ' ' {
				break
			}
			b.WriteString(string(r[:k]) + "\n")
			line = "     " + string(r[k+1:])
		}
		b.WriteString(line)
	}
	return b.String()
}

func TestAbbreviations(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"a": [{"id": 1, "n": "row 1"}, "… and 2 more"]}`, `{"a":[{"id":1,"n":"row 1"},{"id":2,"n":"row 2"},{"id":3,"n":"row 3"}]}`},
		{`{"k 1": [1], "… and 1 more": 0, "x": 0}`, `{"k 1":[1],"k 2":[2],"x":0}`},
		{`["abc (… 4 more characters)"]`, `["abcabca"]`},
	} {
		if got := expandJSON(t, c.in); got != c.want {
			t.Errorf("%s: %s", c.in, got)
		}
	}
	if got := expandText("line 1\n… and 2 more lines\nend\n"); got != "line 1\nline 2\nline 3\nend\n" {
		t.Errorf("%q", got)
	}
}
