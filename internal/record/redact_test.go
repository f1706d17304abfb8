package record

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

func compile(t *testing.T, all ...Redaction) *Redactions {
	t.Helper()
	r, err := Compile(all)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// recorded writes events and returns what stands in the file.
func recorded(t *testing.T, rules *Redactions, events ...Event) (string, *Session) {
	t.Helper()
	r, _ := open(t, Options{Redact: rules})
	w := r.Start(Header{Server: "s", Session: "x", Started: start})
	for i := range events {
		w.Write(&events[i])
	}
	w.Close()
	s, err := Load(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	return onDisk(t, w.Path()), s
}

// What redaction names never reaches the disk, in whichever copy it stands; and
// what only looks like it stays.
func TestRedactedPathsNeverReachTheDisk(t *testing.T) {
	both := json.RawMessage(`{"content":[{"type":"text","text":"{\"items\":[{\"email\":\"ann@example.com\",\"id\":7,\"n\":12345678}]}"}],` +
		`"structuredContent":{"items":[{"email":"ann@example.com","id":7,"n":12345678}]}}`)
	for name, x := range map[string]struct {
		rules  Redaction
		event  Event
		gone   []string
		stays  []string
		absent bool // result and arguments were dropped
	}{
		"both copies":   {Redaction{Paths: []string{"items[*].email"}}, Event{Result: both}, []string{"ann@"}, []string{`"id":7`, "12345678"}, false},
		"numbers":       {Redaction{Paths: []string{"items[].n"}}, Event{Result: both}, []string{"12345678"}, []string{"ann@example.com"}, false},
		"a name anyhow": {Redaction{Names: []string{"email"}}, Event{Result: both}, []string{"ann@"}, []string{`"id":7`}, false},
		"members":       {Redaction{Paths: []string{"*[0].*"}}, Event{Result: both}, []string{"ann@", "12345678"}, nil, false},
		"all of it":     {Redaction{Paths: []string{"@"}}, Event{Result: both}, []string{"ann@", "12345678"}, nil, false},
		"wrapped":       {Redaction{Paths: []string{"a"}}, Event{Result: json.RawMessage(`{"content":[],"structuredContent":{"result":{"a":"hidden","b":"seen"}}}`)}, []string{"hidden"}, []string{"seen"}, false},
		"text within":   {Redaction{Paths: []string{"a"}}, Event{Result: json.RawMessage(`{"content":[],"structuredContent":{"content":"{\"a\":\"hidden\",\"b\":\"seen\"}"}}`)}, []string{"hidden"}, []string{"seen"}, false},
		"lines":         {Redaction{Paths: []string{"[*].a"}}, Event{Result: result("{\"a\":\"hidden\"}\n{\"a\":\"hidden2\",\"b\":\"seen\"}\n")}, []string{"hidden"}, []string{"seen"}, false},
		"array":         {Redaction{Paths: []string{"[*].a"}}, Event{Result: result(`[{"a":"hidden","b":"seen"}]`)}, []string{"hidden"}, []string{"seen"}, false},
		"no places":     {Redaction{Paths: []string{"a"}}, Event{Result: result("name: hidden")}, []string{"hidden"}, nil, false},
		"arguments":     {Redaction{Args: []string{"to[*]"}}, Event{Args: json.RawMessage(`{"to":["hidden@x.org"],"subject":"seen"}`)}, []string{"hidden"}, []string{"seen"}, false},
		"one for many":  {Redaction{Args: []string{"to[*]"}}, Event{Args: json.RawMessage(`{"to":"hidden@x.org","subject":"seen"}`)}, []string{"hidden"}, []string{"seen"}, false},
		"another shape": {Redaction{Paths: []string{"items[*].author.email"}}, Event{Result: result(`{"items":[{"author":"hidden <h@x.org>","n":1},"hidden",{"author":{"email":{"mail":"hidden"},"name":"seen"}}]}`)}, []string{"hidden"}, []string{"seen"}, false},
		"other members": {Redaction{Paths: []string{"*.email"}}, Event{Result: result(`{"total":"seen","ann":{"email":"hidden"}}`)}, []string{"hidden"}, []string{"seen"}, false},
		"unlike copies": {Redaction{Paths: []string{"items[*].email"}}, Event{Result: json.RawMessage(`{"content":[{"type":"text","text":"[{\"mail\":\"ann@example.com\",\"n\":\"seen\"}]"}],"structuredContent":{"items":[{"email":"ann@example.com"}]}}`)}, []string{"ann@"}, []string{"seen"}, false},
		"dropped":       {Redaction{Tool: "s/*", Drop: true}, Event{Server: "s", Tool: "t", Result: both, Args: json.RawMessage(`{"q":"hidden"}`)}, []string{"ann@", "hidden"}, []string{`"dropped":true`}, true},
		"another tool":  {Redaction{Tool: "s/u", Drop: true}, Event{Server: "s", Tool: "t", Result: both}, nil, []string{"ann@"}, false},
		"another":       {Redaction{Tool: "other", Names: []string{"email"}}, Event{Server: "s", Tool: "t", Result: both}, nil, []string{"ann@"}, false},
		"shown":         {Redaction{Paths: []string{"items[*].email"}}, Event{Result: both, Shown: result("ann@example.com")}, []string{"ann@"}, []string{`"dropped":true`}, false},
		"an error":      {Redaction{Names: []string{"email"}}, Event{Error: json.RawMessage(`{"data":{"email":"ann@example.com"}}`)}, []string{"ann@"}, nil, false},
	} {
		x.event.Kind = KindCall
		text, s := recorded(t, compile(t, x.rules), x.event)
		for _, secret := range x.gone {
			if strings.Contains(text, secret) {
				t.Errorf("%s: %q is on the disk: %s", name, secret, text)
			}
		}
		for _, kept := range x.stays {
			if !strings.Contains(strings.ReplaceAll(text, `\"`, `"`), kept) {
				t.Errorf("%s: %q is not on the disk: %s", name, kept, text)
			}
		}
		if (s.Events[0].Result == nil && s.Events[0].Args == nil && s.Events[0].Error == nil) != x.absent {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// Credentials are never recorded, whatever the configuration says.
func TestSecretsNeverReachTheDisk(t *testing.T) {
	for _, secret := range []string{
		"Bearer abcdefghijklmnop1234", "ghp_0123456789abcdefghij0123", "github_pat_0123456789abcdefghij", "sk-ant-0123456789abcdefghij",
		"AKIA0123456789ABCDEF", "xoxb-0123456789-abc", "eyJhbGciOiJI.eyJzdWIiOiIx.sig", "AIza0123456789abcdefghij0123456789abcde",
		"https://raw.example.com/a/b?token=ABCDEFGHIJKLMNOP2345", "https://bucket/x?X-Amz-Signature=0123456789abcdef0123&y=1",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
	} {
		quoted, _ := json.Marshal("it is " + secret + " here")
		text, _ := recorded(t, nil, Event{Kind: KindCall, Args: json.RawMessage(`{"q":` + string(quoted) + `}`), Result: result("x " + secret + " y"), Note: secret,
			Shown: json.RawMessage(`{"content":[],"structuredContent":{"s":` + string(quoted) + `}}`)})
		for _, part := range []string{secret, secret[len(secret)-16:]} {
			if strings.Contains(text, strings.ReplaceAll(part, "\n", `\n`)) {
				t.Errorf("%q is on the disk: %s", secret, text)
			}
		}
	}
	text, _ := recorded(t, nil, Event{Kind: KindCall, Args: json.RawMessage(`{"password":"hunter2","api-Key":"k1","nextPageToken":"seen","url":"postgres://me:pass99@db/x"}`),
		Result: result(`{"client_secret":"hush","note":"the password was hunter2","passphrase":77001234,"cookies":"stay","cookie":["c1crumb"],"credentials":{"user":"u1ann","key":{"part":"p1half"}},"secret":true}`)},
		Event{Kind: KindList, Result: json.RawMessage(`[{"name":"login","description":"as hunter2 or ghp_0123456789abcdefghij0123","inputSchema":{"properties":{"password":{"type":"string","default":"seen too"}}}}]`)})
	if !strings.Contains(text, `"seen too"`) || !strings.Contains(text, "cookies") {
		t.Errorf("a schema is no secret: %s", text)
	}
	for _, secret := range []string{"77001234", "c1crumb", "u1ann", "p1half", "as hunter2", "0123456789abcdefghij", `"hunter2"`, `"k1"`, "pass99", "hush", "was hunter2"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is on the disk: %s", secret, text)
		}
	}
	if !strings.Contains(text, `"seen"`) {
		t.Errorf("a cursor is no secret: %s", text)
	}
}

// A value keeps its placeholder for the session, so that a later call that uses
// it can still be told, and cannot give it away.
func TestRedactedValuesAreFollowed(t *testing.T) {
	text, s := recorded(t, compile(t, Redaction{Paths: []string{"id"}}),
		Event{Kind: KindCall, Tool: "list", Result: result(`{"id":"cust-88121","n":1}`)},
		Event{Kind: KindCall, Tool: "get", Args: json.RawMessage(`{"id":"cust-88121","sql":"select 'cust-88121'"}`), Error: json.RawMessage(`{"message":"no cust-88121","data":{"cust-88121":1}}`)})
	if strings.Contains(text, "88121") {
		t.Errorf("it is on the disk: %s", text)
	}
	doc, err := jsontape.Parse(s.Events[1].Args)
	if err != nil {
		t.Fatal(err)
	}
	placeholder := doc.Root().Get("id").Str()
	if !strings.HasPrefix(placeholder, "[redacted-0") || !strings.Contains(string(s.Events[0].Result), placeholder) || len(placeholder) != 16 {
		t.Errorf("placeholder %q in %s", placeholder, text)
	}
}

// Whatever is redacted, what stays is JSON of the same shape.
func TestRedactionKeepsTheShape(t *testing.T) {
	rules := compile(t, Redaction{Paths: []string{"a[*].b", "c.*", "d[0]", `"e f"`}, Names: []string{"n"}})
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) any
		value = func(depth int) any {
			switch k := rapid.IntRange(0, 6).Draw(t, "kind"); {
			case k == 0 || depth == 0 && k > 3:
				return rapid.StringN(0, 8, -1).Draw(t, "s")
			case k == 1:
				return rapid.IntRange(-1000, 1000).Draw(t, "i")
			case k == 2:
				return rapid.Bool().Draw(t, "b")
			case k == 3:
				return nil
			case k < 5:
				list := []any{}
				for range rapid.IntRange(0, 3).Draw(t, "n") {
					list = append(list, value(depth-1))
				}
				return list
			}
			m := map[string]any{}
			for range rapid.IntRange(0, 4).Draw(t, "m") {
				m[rapid.SampledFrom([]string{"a", "b", "c", "d", "e f", "n", "x"}).Draw(t, "key")] = value(depth - 1)
			}
			return m
		}
		src, err := json.Marshal(map[string]any{"content": []any{}, "structuredContent": value(4)})
		if err != nil {
			t.Fatal(err)
		}
		e := Event{Kind: KindCall, Result: src}
		r := redactor{rules: rules}
		r.event(&e)
		before, _ := jsontape.Parse(src)
		after, err := jsontape.Parse(e.Result)
		if err != nil {
			t.Fatalf("%s of %s: %v", e.Result, src, err)
		}
		if a, b := shape(before.Root()), shape(after.Root()); a != b {
			t.Fatalf("%s became %s", src, e.Result)
		}
	})
}

func shape(v jsontape.Value) string {
	var b strings.Builder
	switch v.Kind() {
	case jsontape.Object, jsontape.Array:
		b.WriteString("(")
		for it := v.Iter(); it.Next(); {
			b.WriteString(it.Key().Str() + ":" + shape(it.Value()) + " ")
		}
		b.WriteString(")")
	case jsontape.True, jsontape.False:
		b.WriteString("bool")
	default:
		b.WriteString(v.Kind().String())
	}
	return b.String()
}

func TestParsePath(t *testing.T) {
	for text, want := range map[string]string{
		"a.b[*].c": "", "[].x": "", "*": "", "a[0]": "", "a[-1]": "", `"x y".z`: "", "@": "",
		"a[?b]": "only names", "keys(@)": "only names", "{a: b}": "only names", "a | b": "only names", "a[": "path", "": "path", "a[1:2]": "only names",
	} {
		_, err := ParsePath(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestDeclared(t *testing.T) {
	d, err := ParseDeclared("x.expect.yaml", []byte(`task: find it
final_answer: [one, 2]
expect:
  - {tool: list, call: 2, query: "items[*].id"}
  - {name: said, answer: "contains(@, 'one')"}
expect_state:
  - {name: graph, query: "entities[0]", equals: {name: x, n: 1.50}}
`))
	if err != nil || d.Task != "find it" || len(d.FinalAnswer) != 2 || !d.Listed || d.Expect[0].Call != 2 || d.Expect[0].Name != "items[*].id" ||
		d.Expect[1].Name != "said" || d.ExpectState[0].Equals != `{"n":1.50,"name":"x"}` {
		t.Errorf("%+v, %v", d, err)
	}
	for text, want := range map[string]string{
		"finl_answer: x":                         `did you mean "final_answer"?`,
		"expect: [{tool: x}]":                    "needs tool and query, or answer",
		"expect: [{tool: x, query: \"a[\"}]":     "1:",
		"expect: [{tool: x, query: a, call: 0}]": "from 1",
		"expect_state: [{query: a}]":             "needs the name",
		"expect: {tool: x}":                      "needs a list",
	} {
		if _, err := ParseDeclared("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
