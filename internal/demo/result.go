package demo

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// cutMeta is the member of a result's _meta that says what was cut (RED-17).
const cutMeta = "io.github.spillway-mcp/cut"

// result is a CallToolResult as a client shows it.
type result struct {
	Text       string // all text blocks
	Structured []byte // compact
	Ref        string // of the original, if something was cut

	payload jsontape.Value // the last text block, if that is JSON
	first   string         // the first text block
}

func readResult(raw []byte) (*result, error) {
	doc, err := jsontape.Parse(raw)
	if err != nil {
		return nil, err
	}
	root := doc.Root()
	if root.Get("isError").Kind() == jsontape.True {
		return nil, errors.New("the tool answered an error: " + root.Get("content").Index(0).Get("text").Str())
	}
	r := &result{Ref: root.Lookup("_meta", cutMeta, "ref").Str()}
	last := ""
	for it := root.Get("content").Iter(); it.Next(); {
		if text := it.Value().Get("text"); text.Exists() {
			last = text.Str()
			if r.Text == "" {
				r.first = last
			}
			r.Text += last
		}
	}
	if data := root.Get("structuredContent"); data.Exists() {
		r.Structured = data.AppendCompact(nil)
	}
	if doc, err := jsontape.Parse([]byte(last)); err == nil {
		r.payload = doc.Root()
	}
	return r, nil
}

// note is the first member of a reduced JSON value; of text, the first block (RED-17).
func (r *result) note() string {
	if note := r.payload.Get("_spillway"); note.Exists() {
		return note.Str()
	}
	return r.first
}

func (r *result) firstRow() []byte {
	row := r.payload.Get("rows").Index(0)
	if !row.Exists() {
		return nil
	}
	return row.AppendCompact(nil)
}

func (r *result) nodeIDs() []string {
	var ids []string
	for it := r.payload.Get("items").Iter(); it.Next(); {
		ids = append(ids, it.Value().Get("node_id").Str())
	}
	return ids
}

// grouped writes 1234567 as 1,234,567.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// percent is part of whole in per cent with one digit, rounded down.
func percent(part, whole int) string {
	tenths := part * 1000 / whole
	return strings.TrimSuffix(strconv.Itoa(tenths/10)+"."+strconv.Itoa(tenths%10), ".0") + " %"
}
