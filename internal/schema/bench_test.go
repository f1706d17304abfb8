package schema_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/schema"
)

// BenchmarkRewriteOutput rewrites the nine schemas of the memory server.
func BenchmarkRewriteOutput(b *testing.B) {
	data, err := os.ReadFile("testdata/servers/memory.json")
	if err != nil {
		b.Fatal(err)
	}
	var tools []tool
	if err := json.Unmarshal(data, &tools); err != nil {
		b.Fatal(err)
	}
	keep, err := jmespath.Compile("entities[*].{name: name, n: length(observations)}")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, tool := range tools {
			doc, err := jsontape.Parse(tool.OutputSchema)
			if err != nil {
				b.Fatal(err)
			}
			schema.RewriteOutput(doc.Root(), schema.Options{Keep: keep, MaxBytes: true})
		}
	}
}
