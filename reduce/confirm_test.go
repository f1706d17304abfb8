package reduce

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

// confirmCase is a payload and what Confirm makes of it, "" if it is to be sent
// whole.
type confirmCase struct {
	name    string
	payload string
	c       Confirmation
	want    string
}

const token = "r_9f2c41d08a3b"

func runConfirm(t *testing.T, cases []confirmCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, ok, err := Confirm([]byte(c.payload), c.c)
			if err != nil {
				t.Fatal(err)
			}
			if ok != (c.want != "") || string(got) != c.want {
				t.Errorf("%s: got  %s (%v)\nwant %s", c.payload, got, ok, c.want)
			}
		})
	}
}

func TestRED30_Shapes(t *testing.T) {
	runConfirm(t, []confirmCase{
		{"single", `{"id":7,"name":"edge-7","url":"https://x/7","vlan":95}`, Confirmation{Token: token},
			`{"id":7,"url":"https://x/7","name":"edge-7","status_code":200,"data_size":54,"continuation_token":"r_9f2c41d08a3b"}`},
		{"single without a token", `{"id":7,"name":"edge-7"}`, Confirmation{}, `{"id":7,"name":"edge-7","status_code":200,"data_size":24}`},
		{"single in a wrapper", `{"data":{"id":7}}`, Confirmation{StatusCode: 201}, `{"id":7,"status_code":201,"data_size":17}`},
		{"an array", `[{"id":1},{"id":2}]`, Confirmation{Token: token},
			`{"accepted":2,"status_code":200,"data_size":19,"continuation_token":"r_9f2c41d08a3b"}`},
		{"the only array", `{"count":2,"devices":[{"id":1},{"id":2}]}`, Confirmation{},
			`{"accepted":2,"status_code":200,"data_size":41,"ids":[1,2]}`},
		{"two arrays are no list", `{"a":[{"id":1}],"b":[{"id":2}]}`, Confirmation{}, ""},
		{"an object with an id is no list", `{"id":9,"tags":["a","b"]}`, Confirmation{}, `{"id":9,"status_code":200,"data_size":25}`},
		{"delete", `{"id":7,"name":"edge-7"}`, Confirmation{Shape: ShapeDelete, Token: token}, `{"id":7,"deleted":true,"status_code":200}`},
		{"delete, id from the arguments", `{"success":true}`, Confirmation{Shape: ShapeDelete, Args: []byte(`{"id":"a"}`)}, `{"id":"a","deleted":true,"status_code":200}`},
		{"delete, the only id of the arguments", `null`, Confirmation{Shape: ShapeDelete, Args: []byte(`{"device_id":7,"force":true}`)}, `{"id":7,"deleted":true,"status_code":200}`},
		{"delete, nothing answered", ``, Confirmation{Shape: ShapeDelete, StatusCode: 204, Args: []byte(`{"id":0}`)}, `{"id":0,"deleted":true,"status_code":204}`},
		{"delete, two ids in the arguments", `{}`, Confirmation{Shape: ShapeDelete, Args: []byte(`{"device_id":7,"site_id":3}`)}, ""},
		{"delete, no id", `{"success":true}`, Confirmation{Shape: ShapeDelete, Token: token}, ""},
		{"delete of a list", `[{"id":1},{"id":2}]`, Confirmation{Shape: ShapeDelete}, `{"accepted":2,"status_code":200,"data_size":19,"ids":[1,2]}`},
	})
}

func TestRED30_FailuresStayWhole(t *testing.T) {
	runConfirm(t, []confirmCase{
		{"an item with an error", `[{"id":1},{"id":2,"error":"taken","name":"b"}]`, Confirmation{Token: token},
			`{"accepted":1,"status_code":200,"data_size":46,"failed":[{"id":2,"error":"taken","name":"b"}],"continuation_token":"r_9f2c41d08a3b"}`},
		{"a failed item needs no id", `[{"id":1},{"success":false,"name":"b"}]`, Confirmation{},
			`{"accepted":1,"status_code":200,"data_size":39,"failed":[{"success":false,"name":"b"}],"ids":[1]}`},
		{"failures beside the list", `{"items":[{"id":1}],"failed":[{"row":2}]}`, Confirmation{},
			`{"accepted":1,"status_code":200,"data_size":41,"failed":[{"row":2}],"ids":[1]}`},
		{"a count that the items account for", `{"items":[{"id":1},{"status":422,"name":"b"}],"failed":1}`, Confirmation{},
			`{"accepted":1,"status_code":200,"data_size":57,"failed":[{"status":422,"name":"b"}],"ids":[1]}`},
		{"a count that they do not", `{"items":[{"id":1}],"failed":1}`, Confirmation{Token: token}, ""},
		{"a text beside the list", `{"items":[{"id":1}],"error":"one was skipped"}`, Confirmation{Token: token}, ""},
		{"a failed single", `{"id":1,"error":{"code":"taken"}}`, Confirmation{Token: token}, ""},
		{"a refused single", `{"id":1,"ok":false}`, Confirmation{Token: token}, ""},
		{"a status code of failure", `{"id":1,"status":409}`, Confirmation{Token: token}, ""},
		{"a status code of ours", `{"id":1}`, Confirmation{Token: token, StatusCode: 500}, ""},
		{"a warning", `{"id":1,"warnings":["low on power"]}`, Confirmation{Token: token}, ""},
		{"a warning of an item", `[{"id":1,"warning":"low on power"}]`, Confirmation{Token: token}, ""},
		{"no failures to speak of", `{"items":[{"id":1,"error":null,"errors":[]}],"failed":0,"errors":[],"warnings":[]}`, Confirmation{},
			`{"accepted":1,"status_code":200,"data_size":82,"ids":[1]}`},
		{"a delete that deleted nothing", `{"id":1,"deleted":false}`, Confirmation{Shape: ShapeDelete}, ""},
		{"a delete of no rows", `{"deleted_count":0}`, Confirmation{Shape: ShapeDelete, Args: []byte(`{"id":1}`)}, ""},
	})
}

func TestRED31_FieldsAndTheirOrder(t *testing.T) {
	light := Confirmation{LightKey: []string{"vlan", "missing", "state", "vlan", "status_code"}}
	withToken := light
	withToken.Token = token
	deleted := light
	deleted.Shape = ShapeDelete
	runConfirm(t, []confirmCase{
		{"pk, html_url, display", `{"display":"d","html_url":"h","pk":1}`, Confirmation{}, `{"id":1,"url":"h","name":"d","status_code":200,"data_size":37}`},
		{"uuid, self, title", `{"title":"t","self":"s","uuid":"u"}`, Confirmation{}, `{"id":"u","url":"s","name":"t","status_code":200,"data_size":35}`},
		{"the first that is there", `{"title":"t","name":"n","uuid":"u","pk":2,"id":null,"url":"","self":"s"}`, Confirmation{}, `{"id":2,"url":"s","name":"n","status_code":200,"data_size":72}`},
		{"light keys in the order given", `{"id":1,"state":null,"vlan":[7]}`, light, `{"id":1,"vlan":[7],"state":null,"status_code":200,"data_size":32}`},
		{"light keys of a list", `[{"id":1,"name":"a","vlan":7},{"id":2,"state":"up"}]`, light,
			`{"accepted":2,"status_code":200,"data_size":52,"items":[{"id":1,"vlan":7},{"id":2,"state":"up"}]}`},
		{"light keys of a list, and a token", `[{"id":1,"vlan":7},{"vlan":8}]`, withToken,
			`{"accepted":2,"status_code":200,"data_size":30,"items":[{"id":1,"vlan":7},{"vlan":8}],"continuation_token":"r_9f2c41d08a3b"}`},
		{"light keys of a list, one without an id", `[{"id":1,"vlan":7},{"vlan":8}]`, light, ""},
		{"light keys of a delete", `{"id":1,"vlan":7}`, deleted, `{"id":1,"vlan":7,"deleted":true,"status_code":200}`},
	})
}

func TestRED32_StatusCodeAndDataSize(t *testing.T) {
	runConfirm(t, []confirmCase{
		{"status_code", `{"id":1,"status_code":201}`, Confirmation{}, `{"id":1,"status_code":201,"data_size":26}`},
		{"an integer status", `{"id":1,"status":202}`, Confirmation{}, `{"id":1,"status_code":202,"data_size":21}`},
		{"the application's own status", `{"id":1,"status":"201"}`, Confirmation{}, `{"id":1,"status_code":200,"data_size":23}`},
		{"a number that is no code", `{"id":1,"status":3}`, Confirmation{}, `{"id":1,"status_code":200,"data_size":19}`},
		{"the adapter's", `{"id":1,"status":202}`, Confirmation{StatusCode: 201}, `{"id":1,"status_code":201,"data_size":21}`},
		{"compact JSON is measured", "{\n  \"id\": 1,\n  \"name\": \"\u00e9\"\n}", Confirmation{}, `{"id":1,"name":"é","status_code":200,"data_size":20}`},
	})
}

func TestRED34_Identifiers(t *testing.T) {
	runConfirm(t, []confirmCase{
		{"0", `{"id":0}`, Confirmation{}, `{"id":0,"status_code":200,"data_size":8}`},
		{"digits are kept", `{"id":9007199254740993}`, Confirmation{}, `{"id":9007199254740993,"status_code":200,"data_size":23}`},
		{"an object", `{"id":{"$oid":"65f1"}}`, Confirmation{}, `{"id":{"$oid":"65f1"},"status_code":200,"data_size":22}`},
		{"an object of two", `[{"id":{"tenant":3,"no":7}}]`, Confirmation{}, `{"accepted":1,"status_code":200,"data_size":28,"ids":[{"tenant":3,"no":7}]}`},
		{"an empty object", `{"id":{}}`, Confirmation{}, ""},
		{"an object that holds more", `{"id":{"value":7,"links":[]}}`, Confirmation{}, ""},
		{"null", `{"id":null}`, Confirmation{}, ""},
		{"empty", `{"id":""}`, Confirmation{}, ""},
		{"a truth value", `{"id":true}`, Confirmation{}, ""},
		{"none, with a token", `{"ok":true}`, Confirmation{Token: token}, `{"status_code":200,"data_size":11,"continuation_token":"r_9f2c41d08a3b"}`},
		{"one of the list is missing", `[{"id":1},{"name":"b"}]`, Confirmation{}, ""},
		{"one of the list is missing, with a token", `[{"id":1},{"name":"b"}]`, Confirmation{Token: token}, `{"accepted":2,"status_code":200,"data_size":23,"continuation_token":"r_9f2c41d08a3b"}`},
	})
}

func TestRED34_PayloadsOfOtherKinds(t *testing.T) {
	runConfirm(t, []confirmCase{
		{"null", `null`, Confirmation{Token: token}, ""},
		{"a number", `5`, Confirmation{Token: token}, ""},
		{"a string", `"done"`, Confirmation{Token: token}, ""},
		{"a truth value, deleted", `true`, Confirmation{Shape: ShapeDelete, Args: []byte(`{"id":1}`)}, `{"id":1,"deleted":true,"status_code":200}`},
		{"a truth value, not deleted", `false`, Confirmation{Shape: ShapeDelete, Args: []byte(`{"id":1}`)}, ""},
		{"an empty list", `[]`, Confirmation{}, `{"accepted":0,"status_code":200,"data_size":2,"ids":[]}`},
		{"an empty list, with a token", `{"items":[]}`, Confirmation{Token: token}, `{"accepted":0,"status_code":200,"data_size":12,"continuation_token":"r_9f2c41d08a3b"}`},
		{"an empty object", `{}`, Confirmation{}, ""},
		{"nested lists", `[[{"id":1}],[{"id":2}]]`, Confirmation{}, ""},
		{"nested lists, with a token", `[[{"id":1}],[{"id":2}]]`, Confirmation{Token: token}, `{"accepted":2,"status_code":200,"data_size":23,"continuation_token":"r_9f2c41d08a3b"}`},
		{"a list of scalars", `[1,2]`, Confirmation{}, ""},
	})
}

func TestConfirmRefusesWhatItDoesNotKnow(t *testing.T) {
	if _, _, err := Confirm([]byte(`{"id":`), Confirmation{}); err == nil {
		t.Error("half a payload was confirmed")
	}
	if _, _, err := Confirm([]byte(`{"id":1}`), Confirmation{Shape: "upsert"}); err == nil || !strings.Contains(err.Error(), "upsert") {
		t.Errorf("an unknown shape: %v", err)
	}
}

// The figures of RED-37, on the devices that docs/writes.md speaks of.
func TestRED37_Figures(t *testing.T) {
	counter, err := tokens.ByName("cl100k_base")
	if err != nil {
		t.Fatal(err)
	}
	outcome := func(n int, env Env, rule Rule) []byte {
		t.Helper()
		env.Args, env.Write = fixture.DeviceRequest(n), true
		o := mustCompile(t, rule).Reduce(fixture.Result(fixture.Devices(n), fixture.Options{NoData: true}), env)
		if o.Err != nil || !o.Envelope {
			t.Fatalf("%d devices: no envelope: %+v", n, o)
		}
		return []byte(firstText(t, o.Result))
	}
	digits := func(envelope []byte) string {
		return strings.Map(func(r rune) rune {
			if '0' <= r && r <= '9' {
				return -1
			}
			return r
		}, string(bytes.Split(envelope, []byte(`,"continuation_token"`))[0]))
	}
	full := counter.Count(fixture.Devices(60))
	if full < 10_700 || full > 10_900 {
		t.Errorf("the full echo of 60 devices has %d tokens, want about 10,800", full)
	}
	first := ""
	for _, n := range []int{60, 200, 2_000} {
		envelope := outcome(n, Env{Expand: "reducer_expand"}, Rule{MaxBytes: 20_000})
		if got := counter.Count(envelope); got > 40 {
			t.Errorf("outcome 1 of %d devices has %d tokens, more than 40: %s", n, got, envelope)
		}
		if first == "" {
			first = digits(envelope)
		}
		if digits(envelope) != first {
			t.Errorf("outcome 1 of %d devices is %s, of 60 devices %s", n, digits(envelope), first)
		}
		echo := fixture.Devices(n)
		ids := outcome(n, Env{}, Rule{MaxBytes: 20_000})
		if 100*counter.Count(ids) > 15*counter.Count(echo) || 100*len(ids) > 15*len(echo) {
			t.Errorf("outcome 2 of %d devices has %d bytes of %d, %d tokens of %d: over 15 %%", n,
				len(ids), len(echo), counter.Count(ids), counter.Count(echo))
		}
		var e struct {
			Accepted int
			IDs      []string
		}
		if err := stdjson.Unmarshal(ids, &e); err != nil || e.Accepted != n || len(e.IDs) != n {
			t.Errorf("outcome 2 of %d devices has %d ids: %v", n, len(e.IDs), err)
		}
	}
	// The token is a hash: whatever it is, 40 are enough.
	for i := range 2_000 {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		c := Confirmation{Token: RefPrefix + hex.EncodeToString(sum[:6]), StatusCode: 201}
		envelope := c.finish([]byte(`{"accepted":200000,"status_code":201,"data_size":144107900,`))
		if got := counter.Count(envelope); got > 40 {
			t.Errorf("%d tokens: %s", got, envelope)
		}
	}
	// Outcome 3: one identifier is missing, and nothing can be fetched.
	devices := bytes.Replace(fixture.Devices(60), []byte(`{"id":"`), []byte(`{"serial":"`), 1)
	result := fixture.Result(devices, fixture.Options{Wrap: "devices"})
	for _, rule := range []Rule{{}, {Write: "create"}, {MaxBytes: 20_000}} {
		o := mustCompile(t, rule).Reduce(result, Env{Write: true, Args: fixture.DeviceRequest(60)})
		if o.Changed || o.Envelope || o.Ref != "" || !bytes.Equal(o.Result, result) {
			t.Errorf("outcome 3 is not the whole: %+v", rule)
		}
	}
}

// Everything that decides whether an echo is confirmed under write: auto.
func TestRED29_Eligible(t *testing.T) {
	comment := strings.Repeat("a comment. ", 20)
	echo := `{"id":7,"name":"edge-7","vlan":95,"comments":"` + comment + `"}`
	args := `{"name":"edge-7","vlan":95,"comments":"` + comment + `"}`
	result := func(payload string) []byte {
		return fixture.Result([]byte(payload), fixture.Options{})
	}
	for _, c := range []struct {
		name   string
		rule   Rule
		env    Env
		result []byte
		want   bool
	}{
		{"annotated, an id, an echo", Rule{}, Env{Write: true, Args: []byte(args)}, result(echo), true},
		{"write: auto says the same", Rule{Write: "auto"}, Env{Write: true, Args: []byte(args)}, result(echo), true},
		{"not annotated", Rule{}, Env{Args: []byte(args)}, result(echo), false},
		{"write: off", Rule{Write: "off"}, Env{Write: true, Args: []byte(args)}, result(echo), false},
		{"pass", Rule{Pass: true, Write: "create"}, Env{Write: true, Args: []byte(args)}, result(echo), false},
		{"a rule needs no annotation", Rule{Write: "create"}, Env{}, result(echo), true},
		{"an App", Rule{Write: "create"}, Env{UI: true}, result(echo), false},
		{"no arguments", Rule{}, Env{Write: true}, result(echo), false},
		{"half of the arguments", Rule{}, Env{Write: true, Args: []byte(`{"name":"edge-7","site":"rotterdam-2"}`)}, result(echo), true},
		{"less than half", Rule{}, Env{Write: true, Args: []byte(`{"name":"edge-7","site":"rotterdam-2","role":"x"}`)}, result(echo), false},
		{"an id sent as a string", Rule{}, Env{Write: true, Args: []byte(`{"id":"7","note":"x"}`)}, result(echo), true},
		{"no id", Rule{}, Env{Write: true, Args: []byte(args)}, result(strings.Replace(echo, `"id":7,`, "", 1)), false},
		{"text", Rule{}, Env{Write: true, Args: []byte(args)}, textResult("Created edge-7 with vlan 95 and id 7.\n" + comment), false},
		{"text beside a string member", Rule{}, Env{Write: true, Args: []byte(args)},
			[]byte(`{"content":[{"type":"text","text":"` + comment + `"}],"structuredContent":` + echo + `}`), false},
		{"the same under a rule", Rule{Write: "create"}, Env{},
			[]byte(`{"content":[{"type":"text","text":"` + comment + `"}],"structuredContent":` + echo + `}`), true},
		{"an error", Rule{Write: "create"}, Env{}, []byte(strings.TrimSuffix(string(result(echo)), "}") + `,"isError":true}`), false},
		{"RED-05 an echo smaller than its confirmation", Rule{Write: "create"}, Env{Expand: "reducer_expand"}, result(`{"id":7,"name":"a"}`), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := mustCompile(t, c.rule).Reduce(c.result, c.env)
			if o.Err != nil || o.Envelope != c.want || o.Changed != c.want {
				t.Errorf("envelope %v, want %v: %s", o.Envelope, c.want, o.Result)
			}
		})
	}
}

// write: auto takes no answer for a delete, whatever it looks like.
func TestRED29_AutoNeverDeletes(t *testing.T) {
	payload := `{"id":7,"name":"edge-7","deleted":true,"comments":"` + strings.Repeat("gone. ", 40) + `"}`
	o := mustCompile(t, Rule{}).Reduce(fixture.Result([]byte(payload), fixture.Options{}), Env{Write: true, Args: []byte(`{"id":7}`)})
	if !o.Envelope || strings.Contains(firstText(t, o.Result), "deleted") {
		t.Errorf("got %s", o.Result)
	}
}

// Failed items count as much as the cap allows where the rest can be fetched.
func TestRED30_EnvelopeOverTheCap(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `,{"name":"n%d","error":"%s"}`, i, strings.Repeat("no ", 10))
	}
	payload := `{"devices":[{"id":1,"comments":"` + strings.Repeat("x", 4000) + `"}` + b.String() + `]}`
	r := mustCompile(t, Rule{Write: "create", MaxBytes: 2_000})
	o := r.Reduce(fixture.Result([]byte(payload), fixture.Options{}), Env{Expand: "reducer_expand"})
	if o.Envelope || o.Ref == "" || len(firstText(t, o.Result)) > 2_000 {
		t.Errorf("%d bytes, envelope %v", len(firstText(t, o.Result)), o.Envelope)
	}
}

func TestRED33_Verify(t *testing.T) {
	result := fixture.Result(fixture.Devices(60), fixture.Options{Wrap: "devices"})
	env := Env{Expand: "reducer_expand", Write: true, Verify: true, Args: fixture.DeviceRequest(60)}
	o := mustCompile(t, Rule{MaxBytes: 1_000}).Reduce(result, env)
	if !o.Verified || o.Changed || o.Ref != "" || !bytes.Equal(o.Result, result) {
		t.Errorf("verified: %v, changed %v", o.Verified, o.Changed)
	}
	env.Write = false // a read: no effect
	if o := mustCompile(t, Rule{MaxBytes: 1_000}).Reduce(result, env); o.Verified || !o.Changed {
		t.Errorf("on a read: verified %v, changed %v", o.Verified, o.Changed)
	}
}

func TestRED27_RED36_Probe(t *testing.T) {
	result := fixture.Result(fixture.Devices(60), fixture.Options{Wrap: "devices"})
	for _, c := range []struct {
		name  string
		env   Env
		fetch string
	}{
		{"expand", Env{Expand: "reducer_expand"}, "call reducer_expand with"},
		{"token_param", Env{TokenParam: true}, "call this tool with continuation_token"},
		{"both", Env{Expand: "reducer_expand", TokenParam: true}, "or this tool with continuation_token"},
	} {
		o := mustCompile(t, Rule{Heavy: true, Write: "create"}).Reduce(result, c.env)
		if !o.Probe || o.Envelope || o.Ref == "" {
			t.Fatalf("%s: %+v", c.name, o)
		}
		d, err := jsontape.Parse([]byte(firstText(t, o.Result)))
		if err != nil {
			t.Fatal(err)
		}
		p := d.Root()
		if string(p.Get("count").Raw()) != "60" || string(p.Get("data_size").Raw()) != "43202" || p.Get("fields").Len() != 11 ||
			!p.Get("continuation_token").Is(o.Ref) || !strings.Contains(p.Get("fetch").Str(), c.fetch) || !p.Get("preview").Exists() {
			t.Errorf("%s: %s", c.name, p.Raw())
		}
	}
	image := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 600) + `"},{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("QUJD", 900) + `"}]}`)
	if o := mustCompile(t, Rule{Heavy: true}).Reduce(image, listed); !o.Probe || bytes.Contains(o.Result, []byte("QUJD")) {
		t.Errorf("the image is still there: %.300s", o.Result)
	}
}

// The token of one written thing gets its own fields, though it has a list.
func TestRED35_FieldsOfAThingWithAList(t *testing.T) {
	for _, tags := range []string{`["campus","poe"]`, `[{"name":"campus"}]`, `[]`} {
		result := fixture.Result([]byte(`{"id":7,"tags":`+tags+`,"comments":"`+strings.Repeat("x", 200)+`"}`), fixture.Options{})
		r := mustCompile(t, Rule{Write: "create"})
		o := r.Reduce(result, listed)
		back, err := r.Expand(result, ExpandRequest{Ref: o.Ref, Fields: []string{"comments"}}, 0)
		if !o.Envelope || err != nil || !strings.Contains(string(back), "xxx") {
			t.Errorf("%s: %s, %v", tags, back, err)
		}
	}
}
