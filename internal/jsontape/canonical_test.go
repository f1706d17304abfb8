package jsontape

import (
	"bytes"
	"crypto/sha256"
	stdjson "encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		// RFC 8785, section 3.2.3: order by UTF-16 code units.
		{`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}"},
		// Unlike RFC 8785: digits and duplicates stay.
		{`{"n": 9007199254740993, "f": 1.0, "e": 1E400}`, `{"e":1E400,"f":1.0,"n":9007199254740993}`},
		{`{"b":1,"a":2,"b":0}`, `{"a":2,"b":1,"b":0}`},
		{` [ ] `, `[]`},
		{`{"a":{"d":1,"c":[{"z":1,"y":2}]}}`, `{"a":{"c":[{"y":2,"z":1}],"d":1}}`},
	} {
		d, err := Parse([]byte(c.src))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(d.Root().AppendCanonical(nil)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.src, got, c.want)
		}
	}
}

// TestHashIsOfTheCanonicalForm holds the streamed hash to the whole form, with
// strings of every length around a chunk, with and without escapes.
func TestHashIsOfTheCanonicalForm(t *testing.T) {
	for _, n := range []int{0, 1, canonChunk - 2, canonChunk, canonChunk + 1, 5 * canonChunk} {
		for _, piece := range []string{"x", `\"`, `\u00e9`, `\ud83d\ude00`, `ab\ncd`} {
			src := []byte(`{"b":["` + strings.Repeat(piece, n/len(piece)+1) + `",1],"a":"x"}`)
			d, err := Parse(src)
			if err != nil {
				t.Fatal(err)
			}
			if d.Root().SHA256() != sha256.Sum256(d.Root().AppendCanonical(nil)) {
				t.Errorf("hash of %d bytes of %q", n, piece)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range accepted {
		f.Add([]byte(s))
	}
	for _, c := range refused {
		f.Add([]byte(c.src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		d, err := Parse(src)
		if valid := stdjson.Valid(src); valid != (err == nil) {
			t.Fatalf("encoding/json says valid: %v; Parse says %v", valid, err)
		}
		if err != nil {
			if at := err.(*SyntaxError).Offset; at < 0 || at > len(src) {
				t.Fatalf("offset %d outside of %d bytes", at, len(src))
			}
			return
		}
		root := d.Root()
		var std bytes.Buffer
		if err := stdjson.Compact(&std, src); err != nil {
			t.Fatal(err)
		}
		compact := root.AppendCompact(nil)
		if !bytes.Equal(compact, std.Bytes()) || root.CompactLen() != len(compact) {
			t.Fatalf("compact %q (%d), encoding/json %q", compact, root.CompactLen(), std.Bytes())
		}
		canonical := root.AppendCanonical(nil)
		again, err := Parse(canonical)
		if err != nil {
			t.Fatalf("the canonical form %q is invalid: %v", canonical, err)
		}
		if !Equal(root, again.Root()) || !bytes.Equal(again.Root().AppendCanonical(nil), canonical) {
			t.Fatalf("canonical form of %q is not stable", src)
		}
		if root.Kind() == String {
			var s string
			if stdjson.Unmarshal(src, &s) == nil && d.ValidUTF8() && !strings.ContainsRune(s, '\ufffd') && root.Str() != s {
				t.Fatalf("%q decodes to %q, encoding/json %q", src, root.Str(), s)
			}
		}
	})
}

// FuzzCanonical holds the form to an RFC 8785 library where the two are meant
// to agree: no duplicates, and numbers that are written as that writes them.
func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":[1,"\u0000\u20ac\/"],"a":{"ö":null,"😀":1,"\ufb33":0}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		v := jsontext.Value(bytes.Clone(src))
		if v.Canonicalize() != nil { // duplicates and invalid UTF-8 among them
			return
		}
		d, err := Parse(src)
		if err != nil {
			t.Fatalf("the library reads %q, Parse says %v", src, err)
		}
		got := d.Root().AppendCanonical(nil)
		w := jsontext.Value(bytes.Clone(got))
		if err := w.Canonicalize(); err != nil || !bytes.Equal(v, w) {
			t.Fatalf("%q: ours made canonical is %q, theirs %q (%v)", src, w, v, err)
		}
		if !bytes.ContainsAny(src, "0123456789") && !bytes.Equal(got, v) {
			t.Fatalf("%q:\n got %q\nwant %q", src, got, v)
		}
	})
}
