package reduce

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// The sum of what is kept is that of all records, not of those that are shown.
func TestK08_ASumOverTheOriginal(t *testing.T) {
	var b strings.Builder
	sum := new(big.Rat)
	b.WriteString(`{"records":[`)
	for i := range 276 {
		if i > 0 {
			b.WriteByte(',')
		}
		amount := fmt.Sprintf("%d.%02d", 1_000_000_007*i, i%100)
		r, _ := new(big.Rat).SetString(amount)
		sum.Add(sum, r)
		fmt.Fprintf(&b, `{"id":%d,"amount":%s,"memo":"%s"}`, i, amount, strings.Repeat("m", 40))
	}
	b.WriteString(`]}`)
	result := []byte(`{"content":[],"structuredContent":` + b.String() + `}`)
	r := mustCompile(t, Rule{MaxRows: intp(164)})
	o := r.Reduce(result, listed)
	if !strings.HasPrefix(o.Note, "Showing 164 of 276 rows") || o.Cut.Rows != 276-164 {
		t.Errorf("cut %+v: %s", o.Cut, o.Note)
	}
	back, err := r.Expand(result, ExpandRequest{Ref: o.Ref, Query: "sum(records[*].amount)"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := new(big.Rat).SetString(firstText(t, back))
	if !ok || got.Cmp(sum) != 0 {
		t.Errorf("sum %s, want %s", firstText(t, back), sum.FloatString(2))
	}
}

// Our own tool is bounded like any other, whatever it is asked for.
func TestK37_EveryAnswerOfExpandIsBounded(t *testing.T) {
	rows := []byte(`{"content":[],"structuredContent":` + rowsOf(500, 900) + `}`)
	text := textResult(lines(20_000))
	blocks := []byte(`{"content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"`+strings.Repeat("z", 3000)+`"},`, 100), ",") + `]}`)
	r := mustCompile(t, Rule{Keep: "items[*].{id: id}", MaxRows: intp(3)})
	const budget = 5_000
	for _, c := range []struct {
		original []byte
		args     string
	}{
		{rows, `{"ref":"r_000000000000"}`},
		{rows, `{"ref":"r_000000000000","rows":"1-"}`},
		{rows, `{"ref":"r_000000000000","fields":["body"]}`},
		{rows, `{"ref":"r_000000000000","query":"items[*].body"}`},
		{text, `{"ref":"r_000000000000"}`},
		{text, `{"ref":"r_000000000000","lines":"1-"}`},
		{text, `{"ref":"r_000000000000","block":1,"offset":100}`},
		{blocks, `{"ref":"r_000000000000"}`},
	} {
		q, err := ParseExpandRequest([]byte(c.args))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := r.Expand(c.original, q, budget)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		d, err := jsontape.Parse(answer)
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		for it := d.Root().Get("content").Iter(); it.Next(); {
			shown += len(it.Value().Get("text").Str())
		}
		if shown > budget || shown < budget/2 || !strings.Contains(string(answer), "next") {
			t.Errorf("%s: %d bytes under a budget of %d: %.300s", c.args, shown, budget, answer)
		}
	}
}

// What keep drops is out of sight, not out of reach.
func TestRED50_ExpandGivesBackWhatKeepDrops(t *testing.T) {
	result := []byte(`{"content":[],"structuredContent":{"users":[{"name":"ada","password":"swordfish","bio":"` + strings.Repeat("b", 600) + `"}]}}`)
	r := mustCompile(t, Rule{Keep: "users[*].{name: name}"})
	o := r.Reduce(result, listed)
	if !o.Changed || strings.Contains(string(o.Result), "swordfish") {
		t.Fatalf("%s", o.Result)
	}
	back, err := r.Expand(result, ExpandRequest{Ref: o.Ref, Fields: []string{"password"}}, 0)
	if err != nil || !strings.Contains(firstText(t, back), "swordfish") {
		t.Errorf("%s, %v", back, err)
	}
}

func firstText(t *testing.T, result []byte) string {
	t.Helper()
	d, err := jsontape.Parse(result)
	if err != nil {
		t.Fatal(err)
	}
	return d.Root().Get("content").Index(0).Get("text").Str()
}

// An element that fits in no answer comes in parts, by the calls that the
// answers name, and the last one says so. Nothing of it is cut or noted.
func TestK31_AnElementLargerThanEveryCap(t *testing.T) {
	row := `{"id":1,"body":"` + strings.Repeat("åβ\\n", 40_000) + `"}`
	result := []byte(`{"content":[],"structuredContent":{"items":[` + row + `,{"id":2,"body":"short"}]}}`)
	r := mustCompile(t, Rule{MaxBytes: 2_000})
	o := r.Reduce(result, listed)
	if o.Ref == "" {
		t.Fatal("nothing was cut")
	}
	call, whole, parts := `{"ref":"`+o.Ref+`","rows":"1"}`, "", 0
	for call != "" {
		if parts++; parts > 20 {
			t.Fatal("no end")
		}
		q, err := ParseExpandRequest([]byte(call))
		if err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		answer, err := r.Expand(result, q, 0)
		if err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		if strings.Contains(string(answer), "_spillway") || strings.Contains(string(answer), "Showing") {
			t.Errorf("an answer is noted: %.200s", answer)
		}
		d, err := jsontape.Parse(answer)
		if err != nil {
			t.Fatal(err)
		}
		content := d.Root().Get("content")
		whole += content.Index(0).Get("text").Str()
		last := content.Index(content.Len() - 1).Get("text").Str()
		_, next, more := strings.Cut(last, "call with ")
		if call = next; !more && !strings.HasSuffix(last, "done") {
			t.Errorf("the last part does not say so: %s", last)
		}
	}
	if whole != row || parts < 3 {
		t.Errorf("%d parts give %d bytes of %d", parts, len(whole), len(row))
	}
}
