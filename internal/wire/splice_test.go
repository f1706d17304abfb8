package wire

import (
	"bytes"
	"strings"
	"testing"
)

func TestSplice(t *testing.T) {
	src := []byte(`{"a":1,"b":[2,3],"c":"x"}`)
	all := Span{0, len(src)}
	got := Splice(src, Edit{Member(src, all, "a"), []byte("10")}, Edit{Member(src, all, "c"), []byte(`""`)})
	if want := `{"a":10,"b":[2,3],"c":""}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("edits out of order were taken")
		}
	}()
	Splice(src, Edit{Member(src, all, "c"), nil}, Edit{Member(src, all, "a"), nil})
}

func TestSetMember(t *testing.T) {
	for _, tt := range [][2]string{
		{`{}`, `{"k":9}`},
		{`{ }`, `{"k":9 }`},
		{`{"a":1}`, `{"a":1,"k":9}`},
		{`{"k":1, "a":2}`, `{"k":9, "a":2}`},
		{`{"k":1,"k":2}`, `{"k":1,"k":9}`},
	} {
		src := []byte(tt[0])
		if got := Splice(src, SetMember(src, Span{0, len(src)}, "k", []byte("9"))); string(got) != tt[1] {
			t.Errorf("%s became %s, want %s", tt[0], got, tt[1])
		}
	}
}

func TestKeyOf(t *testing.T) {
	for _, same := range [][]string{
		{`1`, `1.0`, `1.00`, `10e-1`, `0.1E1`, `1e0`, `01`},
		{`"1"`, `"\u0031"`},
		{`0`, `-0`, `0.0`, `0e5`},
		{`9007199254740993`}, {`9007199254740992`, `9.007199254740992e15`}, {`123456789012345678901234567890`},
		{`-1`}, {`null`}, {`"null"`}, {`"\ud800"`}, {`"\ud801"`}, {`"n1"`}, {`10`, `1e1`}, {`1.5`},
		{`1e99999999999`},
	} {
		for _, raw := range same {
			if KeyOf([]byte(raw)) != KeyOf([]byte(same[0])) {
				t.Errorf("%s is %q, %s is %q: want one key", raw, KeyOf([]byte(raw)), same[0], KeyOf([]byte(same[0])))
			}
			for _, other := range []string{`"1e1"`, `2`, `"s"`, `7e7`} {
				if KeyOf([]byte(raw)) == KeyOf([]byte(other)) {
					t.Errorf("%s and %s have one key", raw, other)
				}
			}
		}
	}
	seen := map[IDKey]string{}
	for _, raw := range []string{`1`, `"1"`, `9007199254740993`, `9007199254740992`, `-1`, `null`, `"null"`, `"\ud800"`, `"\ud801"`, `"\ufffd"`} {
		if was, ok := seen[KeyOf([]byte(raw))]; ok {
			t.Errorf("%s and %s have one key", raw, was)
		}
		seen[KeyOf([]byte(raw))] = raw
	}
}

func TestStrings(t *testing.T) {
	if got := Text([]byte(`"a\n\u00e9\ud83d\ude00\/\\"`)); got != "a\né😀/\\" {
		t.Errorf("got %q", got)
	}
	for _, raw := range []string{`"tools\/call"`, `"\u0074ools/call"`, `"tools/call"`} {
		if !StringIs([]byte(raw), "tools/call") {
			t.Errorf("%s is not tools/call", raw)
		}
	}
	for _, raw := range []string{`"tools/cal"`, `"tools/call "`, `tools/call`, `""`, `"\u0074ools/cal"`} {
		if StringIs([]byte(raw), "tools/call") {
			t.Errorf("%s is tools/call", raw)
		}
	}
}

// counter counts writes.
type counter struct {
	bytes.Buffer
	writes int
}

func (c *counter) Write(p []byte) (int, error) {
	c.writes++
	return c.Buffer.Write(p)
}

func TestWriterFrames(t *testing.T) {
	big := strings.Repeat("b", joinLimit)
	var dst counter
	w := NewWriter(&dst)
	for _, tt := range []struct {
		parts  []string
		writes int
	}{
		{[]string{"one", "two"}, 1},
		{[]string{"head", big, "tail"}, 3},
		{[]string{big}, 2},
	} {
		dst.Reset()
		dst.writes = 0
		var parts [][]byte
		for _, p := range tt.parts {
			parts = append(parts, []byte(p))
		}
		if err := w.Frame(parts...); err != nil {
			t.Fatal(err)
		}
		if want := strings.Join(tt.parts, "") + "\n"; dst.String() != want || dst.writes != tt.writes {
			t.Errorf("%d bytes in %d writes, want %d in %d", dst.Len(), dst.writes, len(want), tt.writes)
		}
	}
	dst.Reset()
	dst.writes = 0
	if err := w.Forward(NewFrame([]byte(big))); err != nil || dst.writes != 1 || dst.String() != big+"\n" {
		t.Errorf("%d bytes in %d writes, %v", dst.Len(), dst.writes, err)
	}
}
