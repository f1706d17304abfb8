package jmespath

import (
	"encoding/json"
	"testing"

	reference "github.com/jmespath/go-jmespath"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

const searchKeep = "items[*].{repo: repository.full_name, path: path, url: html_url}"

// BenchmarkParseAndProject projects 1 MB of a GitHub-like code search, with
// this package over a tape, and with encoding/json and go-jmespath over maps.
func BenchmarkParseAndProject(b *testing.B) {
	src := fixture.Payload(1_000_000)
	b.Run("tape", func(b *testing.B) {
		e, err := Compile(searchKeep)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			doc, err := jsontape.Parse(src)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := e.AppendJSON(nil, doc.Root()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tape-reused", func(b *testing.B) {
		e, err := Compile(searchKeep)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		var doc jsontape.Doc
		var out []byte
		for b.Loop() {
			if err := doc.Reset(src, jsontape.Limits{}); err != nil {
				b.Fatal(err)
			}
			if out, err = e.AppendJSON(out[:0], doc.Root()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("maps", func(b *testing.B) {
		e, err := reference.Compile(searchKeep)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			var data any
			if err := json.Unmarshal(src, &data); err != nil {
				b.Fatal(err)
			}
			got, err := e.Search(data)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := json.Marshal(got); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkProject is the projection alone, over a parsed document.
func BenchmarkProject(b *testing.B) {
	src := fixture.Payload(1_000_000)
	doc, err := jsontape.Parse(src)
	if err != nil {
		b.Fatal(err)
	}
	for _, expression := range []string{
		searchKeep,
		"items[*].[repository.full_name, path, html_url]",
		"items[?repository.fork].{repo: repository.full_name}",
		"sort_by(items, &score)[*].path",
		"items[].repository.owner.login",
	} {
		b.Run(expression, func(b *testing.B) {
			e, err := Compile(expression)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var out []byte
			for b.Loop() {
				if out, err = e.AppendJSON(out[:0], doc.Root()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
