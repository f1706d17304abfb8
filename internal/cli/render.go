package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// longData is how many characters of a block's base64 a page shows.
const longData = 40

// renderResult writes a CallToolResult for reading and for comparing line by line: a heading for each part, JSON
// indented also where it stands inside a text, everything else as it is. Digits and the order of keys stay.
func renderResult(result []byte) (string, error) {
	doc, err := jsontape.Parse(result)
	if err != nil {
		return "", err
	}
	root := doc.Root()
	var b strings.Builder
	var texts []string
	i := 0
	for it := root.Get("content").Iter(); it.Next(); i++ {
		block := it.Value()
		kind := block.Get("type").Str()
		text := block.Get("text")
		if kind != "text" || text.Kind() != jsontape.String {
			fmt.Fprintf(&b, "== content %d: %s\n%s\n", i, kind, indented(elided(block)))
			continue
		}
		shown, isJSON := pretty([]byte(text.Str()))
		if isJSON {
			texts = append(texts, shown)
			kind = "text, JSON"
		}
		fmt.Fprintf(&b, "== content %d: %s\n%s\n", i, kind, strings.TrimSuffix(shown, "\n"))
	}
	if data := root.Get("structuredContent"); data.Exists() {
		shown := indented(elided(data))
		if slices.Contains(texts, shown) {
			b.WriteString("== structuredContent: the same value\n")
		} else {
			fmt.Fprintf(&b, "== structuredContent\n%s\n", shown)
		}
	}
	for it := root.Iter(); it.Next(); {
		if key := it.Key().Str(); key != "content" && key != "structuredContent" {
			fmt.Fprintf(&b, "== %s\n%s\n", key, indented(it.Value().AppendCompact(nil)))
		}
	}
	return b.String(), nil
}

// pretty indents text that is a JSON object or array, and returns other text as it is.
func pretty(text []byte) (string, bool) {
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return string(text), false
	}
	doc, err := jsontape.Parse(trimmed)
	if err != nil {
		return string(text), false
	}
	return indented(doc.Root().AppendCompact(nil)), true
}

func indented(compact []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		return string(compact) // deeper than encoding/json goes: unreadable either way
	}
	return b.String()
}

// elided is a value as compact JSON with the long base64 of its data and blob members cut, which nobody reads.
func elided(v jsontape.Value) []byte {
	return appendElided(nil, v)
}

func appendElided(dst []byte, v jsontape.Value) []byte {
	switch v.Kind() {
	case jsontape.Object:
		dst = append(dst, '{')
		for it := v.Iter(); it.Next(); {
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(it.Key().AppendCompact(dst), ':')
			inner := it.Value()
			if key := it.Key(); (key.Is("data") || key.Is("blob")) && inner.Kind() == jsontape.String && len(inner.Raw()) > 4*longData {
				raw := inner.Str()
				dst = jsontape.AppendQuote(dst, fmt.Sprintf("%.*s… (%s characters)", longData, raw, grouped(len(raw))))
				continue
			}
			dst = appendElided(dst, inner)
		}
		return append(dst, '}')
	case jsontape.Array:
		dst = append(dst, '[')
		for it := v.Iter(); it.Next(); {
			if dst[len(dst)-1] != '[' {
				dst = append(dst, ',')
			}
			dst = appendElided(dst, it.Value())
		}
		return append(dst, ']')
	}
	return v.AppendCompact(dst)
}
