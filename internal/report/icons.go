package report

import "github.com/spillway-mcp/spillway/internal/jsontape"

// withoutIcons is an array of tools without their icons. They are pictures for
// people: no host shows them to a model, and of GitHub's server they are three
// fifths of the list.
func withoutIcons(list []byte) []byte {
	doc, err := jsontape.Parse(list)
	if err != nil {
		return list
	}
	var out []byte
	from := 0
	for _, tool := range doc.Root().Elements(nil) {
		if tool.Kind() != jsontape.Object {
			continue
		}
		var starts, ends []int
		icons := -1
		for it := tool.Iter(); it.Next(); {
			if it.Key().Is("icons") {
				icons = len(starts)
			}
			start, _ := it.Key().Span()
			_, end := it.Value().Span()
			starts, ends = append(starts, start), append(ends, end)
		}
		if icons < 0 {
			continue
		}
		start, end := starts[icons], ends[icons]
		if icons > 0 {
			start = ends[icons-1] // with the comma before
		} else if len(starts) > 1 {
			end = starts[1] // with the comma behind
		}
		out, from = append(out, list[from:start]...), end
	}
	return append(out, list[from:]...)
}
