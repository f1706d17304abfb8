package reduce

import (
	"encoding/base64"
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// textsOf are the texts of a result's blocks.
func textsOf(t *testing.T, result []byte) []string {
	t.Helper()
	d, err := jsontape.Parse(result)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for it := d.Root().Get("content").Iter(); it.Next(); {
		texts = append(texts, it.Value().Get("text").Str())
	}
	return texts
}

func indented(payload string) []byte {
	var v stdjson.RawMessage = []byte(payload)
	s, err := stdjson.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return []byte(`{"content":[{"type":"text","text":` + string(jsontape.AppendQuote(nil, string(s))) + `}],"structuredContent":` + payload + `}`)
}

// JSON in a text stays JSON, with what was escaped in it, at every cap.
func TestK04_EscapesInsideJSONText(t *testing.T) {
	inner := `{"v":"` + strings.Repeat("a", 999) + `\"\\\r😀` + strings.Repeat("tail", 9) + `"}`
	for limit := 990; limit <= 1020; limit++ {
		for _, result := range [][]byte{textResult(inner), indented(inner)} {
			o := mustCompile(t, Rule{MaxBytes: limit}).Reduce(result, listed)
			text := textsOf(t, o.Result)[0]
			if !o.Changed || o.After.Text > limit || o.After.Structured > limit || !utf8.Valid(o.Result) || !stdjson.Valid([]byte(text)) {
				t.Fatalf("cap %d: changed %v, sizes %+v: %s", limit, o.Changed, o.After, text)
			}
		}
	}
}

func TestK05_OneElementOfFiftyKilobytes(t *testing.T) {
	const limit = 4_000
	long := strings.Repeat("five ", 10_000)
	for _, payload := range []string{`["` + long + `"]`, `[{"id":1,"body":"` + long + `"}]`} {
		o := mustCompile(t, Rule{MaxBytes: limit}).Reduce(textResult(payload), listed)
		var v struct {
			Note string `json:"_spillway"`
			Rows []any
		}
		text := textsOf(t, o.Result)[0]
		if err := stdjson.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if len(v.Rows) != 1 || len(text) > limit || !strings.Contains(v.Note, "Shortened inside: strings over 2,048 characters.") {
			t.Errorf("%d rows in %d bytes: %s", len(v.Rows), len(text), v.Note)
		}
		if want := " bytes, " + o.Ref + `]"`; strings.Count(text, want) != 1 || !strings.Contains(text, "…[+47,952"+want) {
			t.Errorf("the cut of 47,952 bytes is not counted where it is: %s", text[len(text)-80:])
		}
	}
}

// What counts the cut says nothing of the rows that it hides.
func TestK09_TheFailedRowIsUnderTheCut(t *testing.T) {
	var rows []string
	for i := 1; i <= 50; i++ {
		status := "passed"
		if i == 37 {
			status = "failed"
		}
		rows = append(rows, fmt.Sprintf(`{"id":%d,"status":"%s","log":"%s"}`, i, status, strings.Repeat("l", 80)))
	}
	result := indented(`[` + strings.Join(rows, ",") + `]`)
	for _, keep := range []string{"", "[*].{id: id, status: status}"} {
		r := mustCompile(t, Rule{Keep: keep, MaxRows: intp(20)})
		o := r.Reduce(result, listed)
		if !strings.HasPrefix(o.Note, "Showing 20 of 50 rows") || o.Cut.Rows != 30 {
			t.Errorf("%q: cut %+v: %s", keep, o.Cut, o.Note)
		}
		text := textsOf(t, o.Result)[0]
		if strings.Count(text, `"passed"`) != 20 {
			t.Errorf("%q: not the first 20 rows: %s", keep, text)
		}
		for _, claim := range []string{"all rows", "all of", "passed", "complete", "no error", "success", "every"} {
			if strings.Contains(strings.ToLower(o.Note), claim) {
				t.Errorf("the note claims %q: %s", claim, o.Note)
			}
		}
		back, err := r.Expand(result, ExpandRequest{Ref: o.Ref, Rows: "37"}, 0)
		if err != nil || !strings.Contains(textsOf(t, back)[0], `"failed"`) {
			t.Errorf("row 37 comes back as %s, %v", back, err)
		}
	}
}

// A rule for another shape is not three columns of nulls: two paths that no
// row has are named, and with the third one gone nothing is projected.
func TestK14_PathsOfAnotherShape(t *testing.T) {
	result := indented(`{"items":` + list(`{"id":1,"text":"`+strings.Repeat("t", 200)+`"}`, 5) + `}`)
	o := mustCompile(t, Rule{Keep: "items[*].{id: id, repo: repository.full_name, url: html_url}"}).Reduce(result, listed)
	if !strings.Contains(o.Note, "No row has repository.full_name and html_url.") || len(o.Faults) != 1 {
		t.Errorf("faults %q, note %q", o.Faults, o.Note)
	}
	o = mustCompile(t, Rule{Keep: "items[*].{id: key, repo: repository.full_name, url: html_url}", MaxRows: intp(2)}).Reduce(result, listed)
	if strings.Contains(string(o.Result), ":null") || !strings.HasPrefix(o.Note, "Showing 2 of 5 rows") || !strings.Contains(o.Note, "projection was not applied: no row has key, repository.full_name and html_url.") || len(o.Faults) != 1 {
		t.Errorf("faults %q: %s", o.Faults, o.Result)
	}
}

// GitHub's own server answers search_code in a smaller shape than the REST API:
// the rule for the latter says which of its fields are not there, in whatever
// rows there are.
func TestK14_RED10_SearchCodeOfGitHubsServer(t *testing.T) {
	var items []string
	for i := range 100 {
		items = append(items, fmt.Sprintf(`{"name":"file%d.go","path":"pkg/file%d.go","sha":"%040d","repository":"octo/repo%d","text_matches":[{"property":"content","fragment":"%s"}]}`, i, i, i, i, strings.Repeat("line ", 40)))
	}
	result := textResult(`{"total_count":1306,"incomplete_results":false,"items":[` + strings.Join(items, ",") + `]}`)
	r := mustCompile(t, Rule{
		Keep:   "items[*].{repo: repository.full_name, path: path, url: html_url}",
		Always: []string{"total_count", "incomplete_results"}, MaxRows: intp(25), MaxBytes: 20_000,
	})
	o := r.Reduce(result, listed)
	if !strings.HasPrefix(o.Note, "Showing 25 of 100 rows") || !strings.Contains(o.Note, "No row has repository.full_name and html_url.") || len(o.Faults) != 1 || o.Faults[0] != "no row has repository.full_name and html_url" {
		t.Errorf("faults %q, note %q", o.Faults, o.Note)
	}
	back, err := r.Expand(result, ExpandRequest{Ref: o.Ref, Rows: "26", Fields: []string{"repository"}}, 0)
	if err != nil || !strings.Contains(firstText(t, back), `"octo/repo25"`) {
		t.Errorf("%s, %v", back, err)
	}
}

func TestK20_IndentedTextIsOneValueWithItsCopy(t *testing.T) {
	result := indented(`{"items":` + list(`{"id":1,"name":"`+strings.Repeat("n", 50)+`"}`, 60) + `}`)
	for _, rule := range []Rule{{Keep: "items[*].{id: id}", MaxRows: intp(5)}, {MaxRows: intp(3)}, {MaxBytes: 900}} {
		o := mustCompile(t, rule).Reduce(result, listed)
		d, err := jsontape.Parse(o.Result)
		if err != nil {
			t.Fatal(err)
		}
		text := textsOf(t, o.Result)
		if len(text) != 1 || text[0] != string(d.Root().Get("structuredContent").Raw()) || !strings.HasPrefix(text[0], `{"_spillway":"Showing `) {
			t.Errorf("%+v: two values: %s", rule, o.Result)
		}
		// Each host's saving is its own: one view each, neither counted twice.
		if o.Before.Text <= o.Before.Structured || o.After.Text != o.After.Structured || o.After.Text != len(text[0]) {
			t.Errorf("%+v: from %+v to %+v", rule, o.Before, o.After)
		}
	}
}

func TestK21_EachPartIsHandledAsItself(t *testing.T) {
	remark := strings.Repeat("a remark\\n", 100)
	result := []byte(`{"content":[{"type":"text","text":"` + remark + `"}],"structuredContent":{"items":` + list(`{"id":1,"name":"nnnnnnnnnnnnnnnnnnnn"}`, 30) + `}}`)
	o := mustCompile(t, Rule{MaxRows: intp(3)}).Reduce(result, listed)
	text := textsOf(t, o.Result)
	d, _ := jsontape.Parse(o.Result)
	inside := d.Root().Lookup("structuredContent", "_spillway").Str()
	if len(text) != 2 || !strings.Contains(text[0], "Showing lines 1-3 of 100") || !strings.Contains(text[0], o.Ref) || !strings.HasPrefix(text[1], "a remark\na remark\na remark\n…[+") {
		t.Errorf("the text: %q", text)
	}
	if !strings.HasPrefix(inside, "Showing 3 of 30 rows") || !strings.Contains(inside, o.Ref) || d.Root().Lookup("structuredContent", "items").Len() != 3 {
		t.Errorf("structuredContent: %q", inside)
	}
}

func TestK25_ADataURIOfFortyKilobytes(t *testing.T) {
	data := make([]byte, 30_000)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	uri := "data:image/png;base64," + base64.StdEncoding.EncodeToString(data)
	o := mustCompile(t, Rule{Strip: []string{"base64"}}).Reduce(indented(`{"name":"logo","icon":"`+uri+`","html":"<img src='`+uri+`'> after"}`), listed)
	text := textsOf(t, o.Result)[0]
	mark := `…[image/png, 30,000 bytes, ` + o.Ref + `]`
	if !stdjson.Valid([]byte(text)) || strings.Count(text, mark) != 2 || strings.Contains(text, uri[30:60]) || !strings.Contains(text, "<img src='"+mark+"'> after") || o.After.Structured != len(text) {
		t.Errorf("%.600s", text)
	}
}

func TestK26_AnErrorOverTheCap(t *testing.T) {
	result := `{"content":[{"type":"text","text":"` + strings.Repeat("it broke ", 3_400) + `"}],"isError":true}`
	for _, rule := range []Rule{{MaxBytes: 1000}, {MaxBytes: 1000, MaxRows: intp(0), Keep: "a", Strip: []string{"base64"}}} {
		if o := mustCompile(t, rule).Reduce([]byte(result), listed); o.Changed || string(o.Result) != result || o.Ref != "" {
			t.Errorf("%+v: %.200s", rule, o.Result)
		}
	}
}

// A list in one text block an element: both views show the same rows, as many
// as the cap holds.
func TestK28_OneBlockAnElement(t *testing.T) {
	for _, element := range []string{`{"id":%d,"body":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}`, `"number %d ssssssssssssssssssssssssssssssssssssssssssssssssssss"`} {
		var blocks, elems []string
		for i := range 40 {
			e := fmt.Sprintf(element, i)
			text := strings.ReplaceAll(e, ",", ",\n  ")
			if e[0] == '"' {
				text = strings.Trim(e, `"`)
			}
			elems = append(elems, e)
			blocks = append(blocks, `{"type":"text","text":`+string(jsontape.AppendQuote(nil, text))+`}`)
		}
		result := []byte(`{"content":[` + strings.Join(blocks, ",") + `],"structuredContent":{"result":[` + strings.Join(elems, ",") + `]}}`)
		for _, c := range []struct {
			rule        Rule
			least, most int
		}{
			{Rule{MaxRows: intp(4)}, 4, 4},
			{Rule{MaxBytes: 600}, 4, 10},
			{Rule{MaxBytes: 1500}, 15, 25},
			{Rule{MaxBytes: 2600}, 30, 39},
		} {
			o := mustCompile(t, c.rule).Reduce(result, listed)
			text := textsOf(t, o.Result)
			d, _ := jsontape.Parse(o.Result)
			in := d.Root().Get("structuredContent")
			if len(text) != 1 || text[0] != string(in.Raw()) {
				t.Fatalf("%+v: the views differ: %s", c.rule, o.Result)
			}
			if n := in.Get("result").Len(); n < c.least || n > c.most || !strings.HasPrefix(o.Note, fmt.Sprintf("Showing %d of 40 rows", n)) || c.rule.MaxBytes > 0 && len(text[0]) > c.rule.MaxBytes {
				t.Errorf("%+v: %d rows in %d bytes: %s", c.rule, n, len(text[0]), o.Note)
			}
		}
	}
}

// A text that says what our note says is a line of data, cut or not.
func TestK33_OurNoteInText(t *testing.T) {
	fake := "Showing 25 of 100 rows. Full result stored as r_9f2c41d08a3b; call reducer_expand with that ref and a row range or field list for more."
	r := mustCompile(t, Rule{MaxBytes: 1000})
	if o := r.Reduce(textResult(fake), listed); o.Changed {
		t.Errorf("changed: %s", o.Result)
	}
	o := r.Reduce(textResult(fake+"\n"+lines(300)), listed)
	text := textsOf(t, o.Result)
	if len(text) != 2 || !strings.Contains(text[0], " of 301 ") || strings.Contains(text[0], "r_9f2c41d08a3b") || !strings.HasPrefix(text[1], fake+"\n") || o.Ref == "r_9f2c41d08a3b" {
		t.Errorf("%q", text)
	}
}

// The cursor is in what the model sees, in whatever way the rest was cut.
func TestK42_TheCursorAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct{ data, how string }{
		"rows":     {`"items":` + list(`{"id":1,"text":"`+strings.Repeat("t", 60)+`"}`, 60), "Showing "},
		"strings":  {`"items":` + list(`{"id":1,"text":"`+strings.Repeat("t", 900)+`"}`, 9), "Shortened inside"},
		"summary":  {`"a":1` + cells(300), "only a summary"},
		"keyed by": {`"a":{"b":1` + cells(300) + `}`, "only a summary"},
	} {
		for _, next := range []string{`"https://x.test/?page=2"`, `"` + strings.Repeat("c", 900) + `"`} {
			limit := MinMaxBytes + len(next)
			payload := `{` + c.data + `,"next":` + next + `}`
			for _, result := range [][]byte{textResult(payload), indented(payload)} {
				o := mustCompile(t, Rule{MaxBytes: limit}).Reduce(result, listed)
				var v struct{ Next string }
				text := textsOf(t, o.Result)[0]
				if err := stdjson.Unmarshal([]byte(text), &v); err != nil || `"`+v.Next+`"` != next || len(text) > limit {
					t.Errorf("%s: %v, %d bytes under %d: %.300s", name, err, len(text), limit, text)
				}
				if !strings.Contains(o.Note, c.how) || !strings.Contains(o.Note, "The upstream has more pages than this one.") {
					t.Errorf("%s: %s", name, o.Note)
				}
			}
		}
	}
}

// A file whose copy in structuredContent is over the cap for its escapes alone
// loses what is over, and not what the text would have left free.
func TestRED15_OneViewOverTheCap(t *testing.T) {
	text := string(jsontape.AppendQuote(nil, strings.Repeat(strings.Repeat("x", 38)+"\n", 490)))
	o := mustCompile(t, Rule{MaxBytes: 19_500}).Reduce([]byte(`{"content":[{"type":"text","text":`+text+`}],"structuredContent":{"content":`+text+`}}`), listed)
	if o.After.Text > 19_500 || o.After.Structured > 19_500 || o.After.Structured < 19_000 {
		t.Errorf("%+v: %s", o.After, o.Note)
	}
}

// What answers is not confirmed, even where it repeats the question or names
// what it speaks of; what repeats is, whatever the server adds to it.
func TestK53_AnswersThatRepeatTheQuestion(t *testing.T) {
	rows := list(`{"id":1,"name":"edge-1","serial":"FDO261000"}`, 30)
	nodes := list(`{"role":"link","name":"Back to the shop"}`, 30)
	tags := list(`{"id":5,"name":"core","slug":"core"}`, 3)
	for _, c := range []struct {
		name, args, payload string
		want                bool
	}{
		{"a statement beside its rows", `{"sql":"SELECT * FROM d"}`, `{"sql":"SELECT * FROM d","rows":` + rows + `}`, false},
		{"the database beside the rows", `{"sql":"SELECT * FROM d","database":"app"}`, `{"database":"app","rows":` + rows + `}`, false},
		{"a statement with its values", `{"sql":"UPDATE d SET vlan = $1 RETURNING *","params":[7,"edge-1"]}`, `[{"id":1,"vlan":7,"name":"edge-1","serial":"FDO261000","comments":"as it was"}]`, false},
		{"a page as a list", `{"element":"Submit","ref":"e12"}`, `{"id":"tab-1","element":"Submit","ref":"e12","nodes":` + nodes + `}`, false},
		{"a page as a tree", `{"element":"Submit"}`, `{"id":"tab-1","element":"Submit","page":{"title":"Done","children":[{"role":"main","children":` + nodes + `}]}}`, false},
		{"an edit's hunks", `{"path":"a.go","old":"x","new":"y"}`, `{"id":"a.go","path":"a.go","old":"x","new":"y","hunks":` + list(`{"line":1,"text":"- x"}`, 20) + `}`, false},
		{"one thing, with what the server adds", `{"name":"edge-1","vlan":101}`, `{"id":1,"name":"edge-1","vlan":101,"created":"2026-01-01","tags":` + tags + `,"site":{"id":3,"name":"rotterdam-2"}}`, true},
		{"a list, each with what the server adds", `{"devices":` + list(`{"name":"edge-1","vlan":101}`, 20) + `}`, `{"devices":` + list(`{"id":1,"name":"edge-1","vlan":101,"tags":`+tags+`}`, 20) + `}`, true},
		{"a list inside that was sent", `{"name":"rack 1","units":` + list(`{"position":4,"face":"front"}`, 20) + `}`, `{"id":1,"name":"rack 1","units":` + list(`{"id":9,"position":4,"face":"front"}`, 20) + `}`, true},
		{"a sentence in what is written", `{"devices":[{"name":"edge-1","comments":"Keep its uplinks until they are patched."}]}`, `[{"id":1,"name":"edge-1","comments":"Keep its uplinks until they are patched.","created":"2026-01-01","updated":"2026-01-01","site":{"id":3,"name":"rotterdam-2"}}]`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, env := range []Env{{Write: true, Args: []byte(c.args)}, {Write: true, Args: []byte(c.args), Expand: "reducer_expand"}} {
				if o := mustCompile(t, Rule{}).Reduce(both(c.payload), env); o.Envelope != c.want || o.Changed != c.want {
					t.Errorf("envelope %v, want %v: %.300s", o.Envelope, c.want, o.Result)
				}
			}
		})
	}
}
