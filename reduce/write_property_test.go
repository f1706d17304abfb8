package reduce

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

var genID = rapid.SampledFrom([]string{`1`, `0`, `"a"`, `9007199254740993`, `{"$oid":"65f1"}`, `null`, `""`, `{}`, `[1]`, `true`})

// genThing makes a written thing: with or without an identifier, and now and
// then with what upstreams say of failures.
var genThing = rapid.Custom(func(t *rapid.T) string {
	members := []string{}
	add := func(name, value string) { members = append(members, `"`+name+`":`+value) }
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(idNames), 0, 2, rapid.ID).Draw(t, "id names") {
		add(key, genID.Draw(t, "id"))
	}
	add("name", `"edge"`)
	add("comments", string(jsontape.AppendQuote(nil, strings.Repeat(rapid.SampledFrom([]string{"x", "é", `"`, "a\n"}).Draw(t, "unit"), rapid.IntRange(0, 60).Draw(t, "n")))))
	if rapid.IntRange(0, 9).Draw(t, "ill") == 0 {
		add(rapid.SampledFrom([]string{"error", "errors", "warning", "success", "status", "failed", "deleted", "count"}).Draw(t, "report"),
			rapid.SampledFrom([]string{`"no"`, `false`, `422`, `null`, `["no"]`, `0`, `{"a":1}`, `"failed"`, `1`}).Draw(t, "says"))
	}
	return "{" + strings.Join(members, ",") + "}"
})

var genWritten = rapid.Custom(func(t *rapid.T) string {
	list := func() string {
		things := rapid.SliceOfN(genThing, 0, 5).Draw(t, "things")
		return "[" + strings.Join(things, ",") + "]"
	}
	switch rapid.IntRange(0, 5).Draw(t, "form") {
	case 0:
		return genThing.Draw(t, "thing")
	case 1:
		return `{"data":` + list() + `}`
	case 2:
		return `{"items":` + list() + `,"failed":` + rapid.SampledFrom([]string{"0", "1", "[]", `[{"row":1}]`, `"no"`}).Draw(t, "failed") + `}`
	case 3:
		return `{"status":201,"device":` + genThing.Draw(t, "thing") + `}`
	case 4:
		return `{"result":` + list() + `}`
	default:
		return genValue(2).Draw(t, "value")
	}
})

// TestWriteProperties_RED30_RED34_RED05: whatever a write answers, an envelope
// is JSON, the same in both copies, smaller than the echo, loses nothing that
// cannot be fetched, and is the same every time.
func TestWriteProperties_RED30_RED34_RED05(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := genWritten.Draw(t, "payload")
		rule := Rule{
			Write:    rapid.SampledFrom([]string{"", "auto", "create", "update", "delete", "off"}).Draw(t, "write"),
			Heavy:    rapid.IntRange(0, 4).Draw(t, "heavy") == 0,
			MaxBytes: rapid.SampledFrom([]int{0, 600, 2_000}).Draw(t, "max_bytes"),
		}
		if rapid.IntRange(0, 3).Draw(t, "light") == 0 {
			rule.LightKey = []string{"comments", "status"}
		}
		env := Env{
			Expand:     rapid.SampledFrom([]string{"", "reducer_expand"}).Draw(t, "expand"),
			TokenParam: rapid.Bool().Draw(t, "token_param"), Schema: rapid.Bool().Draw(t, "schema"),
			Write: rapid.Bool().Draw(t, "annotated"), Verify: rapid.IntRange(0, 5).Draw(t, "verify") == 0,
			Args: []byte(rapid.SampledFrom([]string{"", `{"name":"edge"}`, `{"id":"7"}`, `{"name":"other","x":1}`}).Draw(t, "args")),
		}
		structured := payload
		if payload[0] != '{' {
			structured = `{"result":` + payload + `}`
		}
		result := `{"content":[{"type":"text","text":` + string(jsontape.AppendQuote(nil, structured)) + `}],"structuredContent":` + structured + `}`
		if rapid.Bool().Draw(t, "text only") {
			result = `{"content":[{"type":"text","text":` + string(jsontape.AppendQuote(nil, payload)) + `}]}`
		}
		r, err := Compile(rule)
		if err != nil {
			t.Fatal(err)
		}
		o := r.Reduce([]byte(result), env)
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		if o.Changed && o.After.Text+o.After.Structured >= o.Before.Text+o.Before.Structured {
			t.Fatalf("RED-05: %+v", o)
		}
		if again := r.Reduce([]byte(result), env); !bytes.Equal(again.Result, o.Result) {
			t.Fatal("RED-42: not the same bytes twice")
		}
		if o.Envelope && (env.Verify || !r.Writes(env.Write)) || o.Probe && !rule.Heavy || o.Probe && o.Envelope {
			t.Fatalf("not eligible: %s", o.Result)
		}
		if (o.Envelope || o.Probe) && o.Ref != "" && env.Expand == "" && !env.TokenParam {
			t.Fatalf("RED-34: a token without a slot: %s", o.Result)
		}
		if o.Envelope {
			checkEnvelope(t, payload, o)
		}
	})
}

func checkEnvelope(t *rapid.T, payload string, o Outcome) {
	d, err := jsontape.Parse(o.Result)
	if err != nil {
		t.Fatalf("%v: %s", err, o.Result)
	}
	text, err := jsontape.Parse([]byte(d.Root().Get("content").Index(0).Get("text").Str()))
	if err != nil {
		t.Fatalf("the text is not JSON: %v: %s", err, o.Result)
	}
	e := text.Root()
	if sc := d.Root().Get("structuredContent"); sc.Exists() && string(sc.Raw()) != string(e.Raw()) {
		t.Fatalf("two copies: %s", o.Result)
	}
	if o.Note != "" || e.Get(noteKey).Exists() || e.Get("status_code").Kind() != jsontape.Number {
		t.Fatalf("not an envelope: %s", e.Raw())
	}
	if code := string(e.Get("status_code").Raw()); code >= "400" {
		t.Fatalf("a failure is confirmed: %s", e.Raw())
	}
	if o.Ref != "" {
		if !e.Get("continuation_token").Is(o.Ref) {
			t.Fatalf("the token is not the ref: %s", e.Raw())
		}
		return
	}
	// Nothing can be fetched: everything is named.
	if e.Get("continuation_token").Exists() {
		t.Fatalf("a token that nothing is stashed for: %s", e.Raw())
	}
	if n := e.Get("accepted"); n.Exists() {
		named := e.Get("ids")
		if !named.Exists() {
			named = e.Get("items")
		}
		in, err := jsontape.Parse([]byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		list, _ := writtenList(lookThrough(in.Root()))
		if string(n.Raw()) != count(named.Len()) || named.Len()+e.Get("failed").Len() < list.Len() {
			t.Fatalf("%s of %s", e.Raw(), payload)
		}
		return
	}
	if !e.Get("id").Exists() {
		t.Fatalf("nothing names what was written: %s of %s", e.Raw(), payload)
	}
}
