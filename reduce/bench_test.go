package reduce

import (
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// BenchmarkFile is a text file of 1 MB in both copies, cut to 20 kB: what the
// default rule does to a large read_text_file.
func BenchmarkFile(b *testing.B) {
	quoted := string(jsontape.AppendQuote(nil, lines(40_000)))
	result := []byte(`{"content":[{"type":"text","text":` + quoted + `}],"structuredContent":{"content":` + quoted + `}}`)
	r := mustCompile(b, Rule{MaxBytes: 20_000})
	b.SetBytes(int64(len(result)))
	b.ReportAllocs()
	for b.Loop() {
		if o := r.Reduce(result, listed); !o.Changed {
			b.Fatal("not reduced")
		}
	}
}
