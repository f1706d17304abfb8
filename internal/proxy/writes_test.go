package proxy

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// A token is good for the caller, the server and the tool that it was given
// to, and for no other.
func TestRED35_TokenOfAnother(t *testing.T) {
	const ref = "r_9f2c41d08a3b"
	m := &memory{kept: map[string]kept{}}
	put := stash.Entry{Ref: ref, Caller: "local:1", Server: "inventory", Tool: "create"}
	if err := m.Put(t.Context(), put, []byte(`{"content":[]}`)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		caller, server, tool string
		want                 bool
	}{
		{"local:1", "inventory", "create", true},
		{"local:2", "inventory", "create", false},
		{"local:1", "billing", "create", false},
		{"local:1", "inventory", "update", false},
	} {
		up := newScripted()
		up.stdin.Close() // nothing is sent
		s := newSession(Options{Stash: m, Caller: c.caller, Server: c.server, Upstream: up})
		for range 2 { // as often as asked
			_, original, err := s.stashedFor(&call{toolCall: toolCall{name: c.tool}}, []byte(`"`+ref+`"`), []byte(`"full"`))
			if (err == nil) != c.want || (original != nil) != c.want {
				t.Errorf("%+v: %s, %v", c, original, err)
			}
			if err != nil && err.Error() != `unknown continuation_token "`+ref+`"` {
				t.Errorf("%+v: the error tells more than it may: %v", c, err)
			}
		}
	}
}

// Whatever the arguments, what is cut out of them is what was added, and
// nothing else.
func TestRED33_NothingElseIsCut(t *testing.T) {
	key := rapid.SampledFrom([]string{`"verify"`, `"_verify"`, `"continuation_token"`, `"mode"`, `"name"`, `"a"`, `"verif\u0079"`, `"ver"`})
	value := rapid.SampledFrom([]string{`true`, `false`, `"x,}"`, `{"verify":true}`, `[1, 2]`, `9007199254740993`, `null`})
	space := rapid.SampledFrom([]string{"", " ", "\n\t"})
	rapid.Check(t, func(t *rapid.T) {
		info := toolInfo{known: true, inputs: inputs{open: true, verify: rapid.Bool().Draw(t, "declares verify")}}
		a := added{verify: verifyName, token: rapid.Bool().Draw(t, "token")}
		a.mode = a.token
		if info.inputs.verify {
			a.verify = verifyOther
		}
		var all, kept []string
		for range rapid.IntRange(0, 6).Draw(t, "members") {
			k, v := key.Draw(t, "key"), value.Draw(t, "value")
			member := space.Draw(t, "space") + k + space.Draw(t, "space") + ":" + space.Draw(t, "space") + v + space.Draw(t, "space")
			all = append(all, member)
			name := strings.ReplaceAll(strings.Trim(k, `"`), `\u0079`, "y")
			if name != a.verify && (!a.token || name != tokenName && name != modeName) {
				kept = append(kept, member)
			}
		}
		body := []byte("{" + strings.Join(all, ",") + "}")
		sp := wire.Span{End: len(body)}
		_, edits := takeAdded(body, sp, info, a)
		got := cut(body, sp, slices.Clone(edits))
		want := "{" + strings.Join(kept, ",") + "}"
		var g, w map[string]json.RawMessage
		if err := json.Unmarshal(got, &g); err != nil {
			t.Fatalf("%s became %s: %v", body, got, err)
		}
		if err := json.Unmarshal([]byte(want), &w); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(g, w) {
			t.Fatalf("%s became %s, want %s", body, got, want)
		}
		if len(kept) == len(all) && string(got) != string(body) {
			t.Fatalf("%s became %s", body, got)
		}
	})
}
