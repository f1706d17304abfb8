package rules

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkParse(b *testing.B) {
	var large strings.Builder
	large.WriteString("default: {max_bytes: 20k}\n")
	for i := range 20 {
		fmt.Fprintf(&large, "server%d:\n", i)
		for j := range 50 {
			fmt.Fprintf(&large, "  tool_%d:\n    keep: \"items[*].{a: a, b: b.c}\"\n    max_rows: 25\n", j)
		}
	}
	for name, text := range map[string]string{"design": string(designFile), "1000 tools": large.String()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse("rules.yaml", []byte(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFor(b *testing.B) {
	set, err := Parse("rules.yaml", designFile)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if set.For("github", "search_code") == nil || set.For("github", "get_me") == nil {
			b.Fatal("no tool")
		}
	}
}
