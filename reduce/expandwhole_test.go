package reduce

import (
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// expandAll asks for a whole original and then does what the answers say; it
// returns all texts and how often "done" was said.
func expandAll(t *testing.T, original []byte, budget int) (texts []string, done int) {
	t.Helper()
	ref, _, err := Ref(original)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	calls := []string{`{"ref":"` + ref + `"}`}
	for len(calls) > 0 && len(asked) < 500 {
		args := calls[0]
		if calls = calls[1:]; asked[args] {
			continue
		}
		asked[args] = true
		q, err := ParseExpandRequest([]byte(args))
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		answer, err := (*Reducer)(nil).Expand(original, q, budget)
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		d, err := jsontape.Parse(answer)
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for it := d.Root().Get("content").Iter(); it.Next(); {
			text := it.Value().Get("text").Str()
			size += len(text)
			if strings.HasSuffix(text, "done") {
				done++
			}
			texts = append(texts, text)
			at := strings.Index(text, `all with {"ref"`)
			if at < 0 {
				continue
			}
			var call stdjson.RawMessage
			if err := stdjson.NewDecoder(strings.NewReader(text[at+len("all with "):])).Decode(&call); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			calls = append(calls, string(call))
		}
		if size > budget {
			t.Errorf("%s: %d bytes for a budget of %d", args, size, budget)
		}
	}
	return texts, done
}

func TestRED26_EveryBlockIsReached(t *testing.T) {
	var blocks []string
	for i := range 12 {
		text := fmt.Sprintf("block %d ", i) + strings.Repeat("abc ", []int{10, 200, 900}[i%3])
		blocks = append(blocks, `{"type":"text","text":`+string(jsontape.AppendQuote(nil, text))+`}`)
	}
	all := "[" + strings.Join(blocks, ",") + "]"
	for name, original := range map[string]string{
		"alone":                    `{"content":` + all + `}`,
		"beside structuredContent": `{"content":` + all[:len(all)-len(blocks[11])-2] + `],"structuredContent":{"list":` + list(`"something else"`, 500) + `}}`,
		"beside a scalar":          `{"content":[],"structuredContent":"` + strings.Repeat("block 0 block 1 block 2 ", 200) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			texts, done := expandAll(t, []byte(original), 1500)
			joined := strings.Join(texts, "")
			for i := range 12 {
				if s := fmt.Sprintf("block %d ", i); strings.Contains(original, s) && !strings.Contains(joined, s) {
					if strings.Contains(name, "beside") && strings.Contains(joined, "Not in it: block 1, 2") {
						continue
					}
					t.Errorf("block %d is named nowhere", i)
				}
			}
			if done == 0 {
				t.Error("no answer said done")
			}
		})
	}
}

func TestRED26_PagesLoseNothing(t *testing.T) {
	// A mark after a line feed joins nothing; flags and joiners may be split by no page.
	for _, unit := range []string{"line of text\n\u0301mark", "é\n", "👩‍🚀", "🇩🇪", "\r\n", "\n\u200d", "\x00\n"} {
		text := strings.Repeat(unit, 1200)
		texts, _ := expandAll(t, textResult(text), 1000)
		var pages strings.Builder
		for _, s := range texts {
			if !strings.HasPrefix(s, "Bytes ") {
				pages.WriteString(s)
			}
		}
		if pages.String() != text {
			t.Errorf("%q: %d bytes of %d", unit, pages.Len(), len(text))
		}
	}
}

func TestRED26_LongQueriesKeepTheBudget(t *testing.T) {
	original := both(`{"items":` + list(`{"id":1,"name":"a name"}`, 3000) + `}`)
	q := ExpandRequest{Ref: "r_0123456789ab", Query: "items[?" + strings.Repeat("id == `1` || ", 80) + "id == `2`]"}
	out, err := (*Reducer)(nil).Expand(original, q, 3000)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := jsontape.Parse(out)
	size := 0
	for it := d.Root().Get("content").Iter(); it.Next(); {
		size += len(it.Value().Get("text").Str())
	}
	if size > 3000 {
		t.Errorf("%d bytes", size)
	}
}

func TestRED25_QueryReachesWhatStandsBesideAString(t *testing.T) {
	inner := string(jsontape.AppendQuote(nil, `{"items":[1,2]}`))
	original := []byte(`{"content":[{"type":"text","text":` + inner + `}],"structuredContent":{"content":` + inner + `,"meta":{"took":7}}}`)
	for query, want := range map[string]string{"items[1]": "2", "meta.took": "7", "nothing": "null"} {
		out, err := mustCompile(t, Rule{MaxRows: intp(1)}).Expand(original, ExpandRequest{Ref: "r_0123456789ab", Query: query}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if d, _ := jsontape.Parse(out); d.Root().Get("content").Index(0).Get("text").Str() != want {
			t.Errorf("%s: %s, want %s", query, out, want)
		}
	}
}
