package reduce

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// TestPrintOf holds prints to what Equal takes for one value.
func TestPrintOf(t *testing.T) {
	value := func(s string) jsontape.Value {
		d, err := jsontape.Parse([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return d.Root()
	}
	for _, pair := range [][2]string{
		{`{"a":1,"b":[2,null]}`, "{ \"b\" : [2.0, null], \"\\u0061\":1e0 }"},
		{`0`, `-0.0`},
		{`"é"`, `"\u00e9"`},
		{`{"a":1,"a":2}`, `{"a":1.0,"a":2.0}`},
		{`123456789012345678901234567890`, `1.23456789012345678901234567890e29`},
	} {
		a, b := value(pair[0]), value(pair[1])
		if !jsontape.Equal(a, b) || printOf(a) != printOf(b) {
			t.Errorf("%s and %s: equal %v, prints %x and %x", pair[0], pair[1], jsontape.Equal(a, b), printOf(a), printOf(b))
		}
	}
	seen := map[uint64]string{}
	for _, s := range []string{`0`, `1`, `"1"`, `[1]`, `[[1]]`, `[1,1]`, `{"1":1}`, `{}`, `[]`, `null`, `true`, `false`, `""`, `[1,2]`, `[2,1]`, `{"a":1,"b":2}`, `{"a":2,"b":1}`} {
		p := printOf(value(s))
		if other, ok := seen[p]; ok {
			t.Errorf("%s and %s have one print", s, other)
		}
		seen[p] = s
	}
}

// TestRED02_ManyBlocks holds the work for many blocks to about what they are
// many: at 20,000 of them, the square of it takes minutes.
func TestRED02_ManyBlocks(t *testing.T) {
	const n = 20_000
	var blocks, members, alike strings.Builder
	for i := range n {
		fmt.Fprintf(&blocks, `{"type":"text","text":"{\"a\":%d}"},`, i)
		fmt.Fprintf(&members, `"k%d":{"a":%d},`, i, i)
		alike.WriteString(`{"type":"text","text":"1"},`)
	}
	cut := func(b *strings.Builder) string { return strings.TrimSuffix(b.String(), ",") }
	for name, result := range map[string]string{
		"payloads":        `{"content":[` + cut(&blocks) + `]}`,
		"mirrors":         `{"content":[` + cut(&blocks) + `],"structuredContent":{` + cut(&members) + `}}`,
		"not quite a run": `{"content":[` + cut(&alike) + `],"structuredContent":{"list":` + strings.TrimSuffix(list("1", n/2), "]") + `,2]}}`,
	} {
		o := mustCompile(t, Rule{MaxBytes: 20_000}).Reduce([]byte(result), listed)
		if !o.Changed || o.After.Text > 20_000 || o.After.Structured > 20_000 {
			t.Errorf("%s: changed %v, sizes %+v", name, o.Changed, o.After)
		}
	}
}

// TestRED44_DuplicateStringMember: the last of duplicates is the payload, and
// what only the first holds is no mirror of it.
func TestRED44_DuplicateStringMember(t *testing.T) {
	long, other := strings.Repeat("line one\n", 200), strings.Repeat("line two\n", 200)
	result := `{"content":[{"type":"text","text":` + string(jsontape.AppendQuote(nil, long)) + `}],"structuredContent":{"content":` +
		string(jsontape.AppendQuote(nil, long)) + `,"content":` + string(jsontape.AppendQuote(nil, other)) + `}}`
	o := mustCompile(t, Rule{MaxBytes: 1500}).Reduce([]byte(result), listed)
	d, err := jsontape.Parse(o.Result)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Root().Lookup("structuredContent", "content").Str(); !strings.HasPrefix(got, "line two") {
		t.Errorf("shown: %s", got)
	}
}

// TestRED16_BlocksNotShown: an image after the texts that are left out is shown.
func TestRED16_BlocksNotShown(t *testing.T) {
	text := `{"type":"text","text":"` + strings.Repeat("a line\\n", 60) + `"},`
	image := `{"type":"image","mimeType":"image/png","data":"QUJD"}`
	o := mustCompile(t, Rule{MaxBytes: 2500}).Reduce([]byte(`{"content":[`+strings.Repeat(text, 20)+image+","+strings.Repeat(text, 3)+image+`]}`), listed)
	if !strings.Contains(o.Note, "Not shown: block ") || !strings.Contains(o.Note, "-20 and 22-24 of 25.") {
		t.Errorf("note %q", o.Note)
	}
}
