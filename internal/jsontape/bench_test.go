package jsontape

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// document is about 1 MB in the shape of a code search: objects of many short
// strings, some numbers, little nesting.
var document = func() []byte {
	var b strings.Builder
	b.WriteString(`{"total_count":4213,"items":[`)
	for i := range 200 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"file%d.go","path":"internal/x/file%d.go","sha":"%040d","score":1.0,"repository":{"id":%d,"private":false`, i, i, i, 1000+i)
		for k := range 46 {
			fmt.Fprintf(&b, `,"key%d_url":"https://api.github.com/repos/owner/name%d/things%d{/sha}"`, (k*37)%46, i, k)
		}
		b.WriteString(`,"description":"a \"quoted\" text\nwith lines — and é"}}`)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}()

func BenchmarkParse(b *testing.B) {
	b.Run("tape", func(b *testing.B) {
		var d Doc
		b.SetBytes(int64(len(document)))
		b.ReportAllocs()
		for b.Loop() {
			if err := d.Reset(document, Limits{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(document)))
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := stdjson.Unmarshal(document, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCanonical(b *testing.B) {
	b.Run("tape", func(b *testing.B) {
		var d Doc
		buf := make([]byte, 0, 2*len(document))
		b.SetBytes(int64(len(document)))
		b.ReportAllocs()
		for b.Loop() {
			if err := d.Reset(document, Limits{}); err != nil {
				b.Fatal(err)
			}
			buf = d.Root().AppendCanonical(buf[:0])
		}
	})
	b.Run("jsontext", func(b *testing.B) {
		buf := make([]byte, 0, 2*len(document))
		b.SetBytes(int64(len(document)))
		b.ReportAllocs()
		for b.Loop() {
			v := jsontext.Value(append(buf[:0], document...))
			if err := v.Canonicalize(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkHash(b *testing.B) {
	d, _ := Parse(document)
	b.SetBytes(int64(len(document)))
	b.ReportAllocs()
	for b.Loop() {
		_ = d.Root().SHA256()
	}
}

// BenchmarkNested is a document that some parsers read in quadratic time.
func BenchmarkNested(b *testing.B) {
	unit := strings.Repeat("[", 990) + strings.Repeat("]", 990)
	src := []byte("[" + strings.TrimSuffix(strings.Repeat(unit+",", 100), ",") + "]")
	b.Run("tape", func(b *testing.B) {
		var d Doc
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			if err := d.Reset(src, Limits{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			var v any
			if err := stdjson.NewDecoder(bytes.NewReader(src)).Decode(&v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
