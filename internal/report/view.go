package report

import (
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

// view is what a result shows: its text blocks together, and structuredContent
// as compact JSON (RED-15).
type view struct{ bytes, tokens, structured, structuredTokens int64 }

func viewOf(result []byte, counter tokens.Counter) (v view) {
	doc, err := jsontape.Parse(result)
	if err != nil {
		return v
	}
	var buf []byte
	for it := doc.Root().Get("content").Iter(); it.Next(); {
		text := it.Value().Get("text")
		if !text.Exists() {
			text = it.Value().Lookup("resource", "text")
		}
		raw := text.StrBytes(buf)
		v.bytes += int64(len(raw))
		v.tokens += count(counter, raw)
	}
	if sc := doc.Root().Get("structuredContent"); sc.Exists() {
		buf = sc.AppendCompact(nil)
		v.structured, v.structuredTokens = int64(len(buf)), count(counter, buf)
	}
	return v
}

// exactly puts the recorded sizes in, which are those before any redaction.
func (v view) exactly(s record.Sizes) view {
	if s != (record.Sizes{}) {
		v.bytes, v.structured = int64(s.Text), int64(s.Structured)
	}
	return v
}

// of is what a host shows a model: the structured copy where there is one and
// the host shows it, else the text.
func (v view) of(structured bool) Cost {
	if structured && v.structured > 0 {
		return Cost{v.structured, v.structuredTokens}
	}
	return Cost{v.bytes, v.tokens}
}

func count(counter tokens.Counter, text []byte) int64 {
	if len(text) == 0 {
		return 0
	}
	return int64(counter.Count(text))
}
