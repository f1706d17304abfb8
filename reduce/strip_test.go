package reduce

import (
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// TestK25_BinaryInJSONText holds that strip reaches into JSON that stands in a
// text, so that a mirror stays one.
func TestK25_BinaryInJSONText(t *testing.T) {
	data := strings.Repeat("QUJDabc1", 100)
	quote := func(s string) string { return string(jsontape.AppendQuote(nil, s)) }
	text := func(s string) string { return `{"content":[{"type":"text","text":` + quote(s) + `}]}` }
	both := func(s string) string {
		return strings.TrimSuffix(text(s), "}") + `,"structuredContent":` + s + `}`
	}
	plain := `{"n":1.0,"avatar":"` + data + `"}`
	image := `{"n":1.0,"pic":{"type":"image","mimeType":"image/png","data":"` + data + `"}}`
	inString := `{"content":` + quote(plain) + `}`
	for _, c := range []struct{ name, result, strip string }{
		{"base64 in a text", text(plain), "base64"},
		{"base64 in lines of JSON", text(plain + "\n" + plain), "base64"},
		{"base64 in a text and its mirror", both(plain), "base64"},
		{"an image in a text", text(image), "image"},
		{"an image in a text and its mirror", both(image), "image"},
		{"base64 in a string member and its mirror", strings.TrimSuffix(text(plain), "}") + `,"structuredContent":` + inString + `}`, "base64"},
		{"base64 in structuredContent alone", `{"content":[],"structuredContent":` + plain + `}`, "base64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := mustCompile(t, Rule{Strip: []string{c.strip}})
			o := r.Reduce([]byte(c.result), listed)
			if !o.Changed || strings.Contains(string(o.Result), data) || !strings.Contains(string(o.Result), "600 bytes, "+o.Ref+"]") {
				t.Fatalf("not stripped: %s", o.Result)
			}
			if strings.Count(o.Note, "Removed: ") != 1 || !strings.Contains(string(o.Result), "1.0") {
				t.Errorf("note %q\n%s", o.Note, o.Result)
			}
			if strings.Contains(c.result, `"content":[]`) && strings.Contains(o.Note, "a block number") {
				t.Errorf("a block number gets nothing from no block: %q", o.Note)
			}
		})
	}
	t.Run("RED-03 what is for the person alone stays", func(t *testing.T) {
		result := `{"content":[{"type":"image","mimeType":"image/png","data":"` + data + `","annotations":{"audience":["user"]}}]}`
		if o := mustCompile(t, Rule{Strip: []string{"image", "base64"}}).Reduce([]byte(result), listed); o.Changed {
			t.Errorf("changed: %s", o.Result)
		}
	})
}
