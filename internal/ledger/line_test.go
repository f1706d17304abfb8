package ledger

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// full is a line with every key.
func full() Line {
	return Line{
		TS:    time.Date(2026, 11, 30, 9, 20, 1, 7_900_000, time.FixedZone("", 3600)),
		Event: EventCall, Server: "github", Tool: "search_code",
		BytesIn: 482_110, BytesOut: 7_023, TokensIn: 120_528, TokensOut: 1_756, Estimator: "bytes/4",
		StructuredIn: 402_110, StructuredOut: 7_001, StructuredTokensIn: 100_528, StructuredTokensOut: 1_751,
		Cut: Cut{Rows: 75, Fields: 43, Bytes: 475_087}, Overhead: 181, Stash: "r_9f2c41d08a3b",
		Outcome: OutcomeReduced, Session: "s1", Caller: "local:1000", Rule: "8c1f", Era: "legacy", MS: 12.34567,
		Args:   map[string]string{"q": "00ff00ff00ff00ff", "page": "1122334455667788"},
		Repeat: RepeatNarrower, Faults: []string{"paths missing"},
	}
}

func TestRED45_OneLine(t *testing.T) {
	l := full()
	const want = `{"ts":"2026-11-30T08:20:01.007Z","event":"call","server":"github","tool":"search_code",` +
		`"bytes_in":482110,"bytes_out":7023,"tokens_in":120528,"tokens_out":1756,"estimator":"bytes/4",` +
		`"structured_in":402110,"structured_out":7001,"structured_tokens_in":100528,"structured_tokens_out":1751,` +
		`"cut":{"rows":75,"fields":43,"bytes":475087},"overhead":181,"stash":"r_9f2c41d08a3b","outcome":"reduced",` +
		`"session":"s1","caller":"local:1000","rule":"8c1f","era":"legacy","ms":12.346,` +
		`"args":{"page":"1122334455667788","q":"00ff00ff00ff00ff"},"repeat":"narrower","faults":["paths missing"]}`
	if got := string(l.AppendJSON(nil)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for range 50 {
		if got := string(l.AppendJSON(nil)); got != want {
			t.Fatalf("another time %s", got)
		}
	}
}

func TestRED45_ReadsBackEqual(t *testing.T) {
	for _, l := range []Line{full(), {}} {
		data, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var back Line
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		l.TS, l.MS = l.TS.UTC().Truncate(time.Millisecond), math.Round(l.MS*1000)/1000
		if !reflect.DeepEqual(l, back) {
			t.Errorf("got %+v, want %+v", back, l)
		}
	}
}

func TestRED45_EveryKeyButTheOptionalThree(t *testing.T) {
	var keys map[string]any
	if err := json.Unmarshal(new(Line).AppendJSON(nil), &keys); err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Fields("ts server tool bytes_in bytes_out tokens_in tokens_out estimator cut stash structured_in structured_out session caller rule era ms event outcome") {
		if _, ok := keys[key]; !ok {
			t.Errorf("a line has no %s", key)
		}
	}
}

func TestRED45_HostileStringsStayOneSmallLine(t *testing.T) {
	l := Line{
		Tool: "a\n\"b\xff\x00" + strings.Repeat("é", 5000), Server: strings.Repeat("x", 1<<20), MS: math.NaN(),
		Args: map[string]string{}, Faults: make([]string, 5000),
	}
	for i := range 5000 {
		l.Args[strings.Repeat("k", i%400)+string(rune('a'+i%26))] = "0"
	}
	b := l.AppendJSON(nil)
	if !json.Valid(b) || strings.Contains(string(b), "\n") || len(b) > 64<<10 {
		t.Errorf("%d bytes, valid %t: %.300q", len(b), json.Valid(b), b)
	}
}

func TestRED45_ArgumentDigests(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	a := ArgDigests(key, []byte(`{"q":"secret words","n":9007199254740993,"o":{"b":1,"a":[true,null]}}`))
	if len(a) != 3 {
		t.Fatalf("got %v, want three digests", a)
	}
	for name, d := range a {
		if len(d) != 16 || strings.Trim(d, "0123456789abcdef") != "" {
			t.Errorf("%s: %q, want 16 hex digits", name, d)
		}
	}
	t.Run("key order and white space do not count", func(t *testing.T) {
		b := ArgDigests(key, []byte(` { "o" : { "a" : [ true , null ], "b" : 1 }, "n":9007199254740993, "q":"secret\u0020words" } `))
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%v and %v differ", a, b)
		}
	})
	t.Run("digits count", func(t *testing.T) {
		if b := ArgDigests(key, []byte(`{"n":9007199254740992}`)); b["n"] == a["n"] {
			t.Error("9007199254740992 and …93 have one digest")
		}
	})
	t.Run("the key and the name count", func(t *testing.T) {
		if b := ArgDigests(NewKey(), []byte(`{"q":"secret words"}`)); b["q"] == a["q"] {
			t.Error("two keys give one digest")
		}
		if b := ArgDigests(key, []byte(`{"p":"secret words"}`)); b["p"] == a["q"] {
			t.Error("two names give one digest")
		}
	})
	t.Run("no object, no digests", func(t *testing.T) {
		for _, src := range []string{"", "null", "[1]", `{"a":`, `"x"`} {
			if b := ArgDigests(key, []byte(src)); b != nil {
				t.Errorf("%q: %v, want nil", src, b)
			}
		}
	})
}

func TestRED45_Repeat(t *testing.T) {
	var r Repeats
	for i, c := range []struct {
		tool, want string
		args       map[string]string
	}{
		{"search", "", map[string]string{"q": "1"}},
		{"search", RepeatEqual, map[string]string{"q": "1"}},
		{"search", RepeatNarrower, map[string]string{"q": "1", "path": "2"}},
		{"search", "", map[string]string{"q": "2", "path": "2"}},
		{"other", "", map[string]string{"q": "1"}},
		{"list", "", nil},
		{"list", RepeatEqual, map[string]string{}},
		{"list", "", map[string]string{"page": "2"}},
		{"search", RepeatEqual, map[string]string{"q": "1", "path": "2"}},
	} {
		if got := r.Observe(c.tool, c.args); got != c.want {
			t.Errorf("call %d, %s %v: %q, want %q", i, c.tool, c.args, got, c.want)
		}
	}
	for i := range 10 * remembered {
		r.Observe("many", map[string]string{"i": string(rune('a' + i))})
	}
}
