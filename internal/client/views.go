package client

import "github.com/spillway-mcp/spillway/internal/jsontape"

// Views are the two ways in which hosts show a model a result: its text blocks together, or structuredContent as
// compact JSON. A result may lack either; then that view is empty.
type Views struct {
	Text       []byte
	Structured []byte
}

// ViewsOf reads the views of a CallToolResult, the texts of embedded resources among the text blocks.
func ViewsOf(result []byte) (Views, error) {
	doc, err := jsontape.Parse(result)
	if err != nil {
		return Views{}, err
	}
	var v Views
	for it := doc.Root().Get("content").Iter(); it.Next(); {
		block := it.Value()
		v.Text = block.Get("text").AppendString(v.Text)
		v.Text = block.Lookup("resource", "text").AppendString(v.Text)
	}
	if data := doc.Root().Get("structuredContent"); data.Exists() {
		v.Structured = data.AppendCompact(nil)
	}
	return v, nil
}
