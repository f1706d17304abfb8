package rules

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawFile draws a valid rules file in some layout: block or flow, quoted or
// not, indented by two or more, with comments and blank lines.
func drawFile(t *rapid.T) string {
	var b strings.Builder
	step := strings.Repeat(" ", rapid.IntRange(1, 5).Draw(t, "step"))
	gap := func(indent string) {
		switch rapid.IntRange(0, 5).Draw(t, "gap") {
		case 0:
			b.WriteString("\n\n")
		case 1:
			b.WriteString(indent + "# a comment: {here}\n")
		case 2:
			b.WriteString("# at the margin\n")
		}
	}
	end := func() string {
		return rapid.SampledFrom([]string{"\n", "   # said: \"why\"\n", "  \n"}).Draw(t, "end")
	}
	value := map[string][]string{
		"keep":      {"items[*].a", `"items[*].{a: a, b: b}"`, `'items[?a == ''x'']'`, "\"a.\\\"b c\\\"\"", "|\n" + step + step + step + step + "items[*].{\n" + step + step + step + step + " a: a}"},
		"always":    {"[a, \"!b\", 'c.d']", "[a]", "[]"},
		"max_rows":  {"0", "25"},
		"max_bytes": {"20k", "'1MB'", "600", `"2 KiB"`},
		"text":      {"head", `"tail"`, "'ends'"},
		"strip":     {"[image, 'blob']", "[base64,audio]"},
		"write":     {"off", `"off"`, "auto"},
		"pass":      {"true", "false"},
		"heavy":     {"True", "false"},
	}
	names := []string{"keep", "always", "max_rows", "max_bytes", "text", "strip", "write", "pass", "heavy"}
	rule := func(indent string) {
		keys := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 4, rapid.ID).Draw(t, "keys")
		pick := func(k string) string { return rapid.SampledFrom(value[k]).Draw(t, k) }
		if rapid.Bool().Draw(t, "flow") {
			var parts []string
			for _, k := range keys {
				if k != "keep" {
					parts = append(parts, k+": "+pick(k))
				}
			}
			sep := rapid.SampledFrom([]string{", ", " ,", ",\n" + indent + " "}).Draw(t, "separator")
			b.WriteString(" {" + strings.Join(parts, sep) + "}" + end())
			return
		}
		b.WriteString(end())
		for _, k := range keys {
			gap(indent)
			v := pick(k)
			b.WriteString(indent + k + ": " + v)
			if strings.HasPrefix(v, "|") {
				b.WriteString("\n")
			} else {
				b.WriteString(end())
			}
		}
	}
	if rapid.Bool().Draw(t, "default") {
		gap("")
		b.WriteString("default:")
		rule(step)
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "servers") {
		gap("")
		fmt.Fprintf(&b, "s%d:%s", i, end())
		for j, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"default", "tool", `"list_*"`, "'get x'", "other-tool"}), 1, 4, rapid.ID).Draw(t, "tools") {
			gap(step)
			b.WriteString(step + name + ":")
			if j%2 == 1 && name != "default" && rapid.Bool().Draw(t, "list") {
				b.WriteString(end())
				for k := range 2 {
					gap(step + step)
					fmt.Fprintf(&b, "%s- when: a%d%s%s%smax_rows: %d%s", step+step, k, end(), step+step, "  ", k, end())
				}
				continue
			}
			rule(step + step)
		}
	}
	gap("")
	return b.String()
}

// TestFormatChangesNoMeaning formats drawn files: the same rules, the same
// comments in the same order, and nothing left to format.
func TestFormatChangesNoMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawFile(t)
		before, err := Parse("rules.yaml", []byte(in))
		if err != nil {
			t.Fatalf("the drawn file is bad: %v\n%s", err, in)
		}
		out, err := Format("rules.yaml", []byte(in))
		if err != nil {
			t.Fatalf("%v\n%s", err, in)
		}
		after, err := Parse("rules.yaml", out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if before.Digest() != after.Digest() {
			t.Fatalf("the rules have changed:\n%s\nbecame:\n%s", in, out)
		}
		for _, comment := range []string{"# a comment: {here}", "# at the margin", `# said: "why"`} {
			if a, b := strings.Count(in, comment), bytes.Count(out, []byte(comment)); a != b {
				t.Fatalf("%d of %q became %d:\n%s\nbecame:\n%s", a, comment, b, in, out)
			}
		}
		if again, err := Format("rules.yaml", out); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("a second time (%v):\n%s\nfirst:\n%s", err, again, out)
		}
	})
}

// FuzzParse holds the reader of rules files to no panic, ordered errors with
// positions in the file, and formatting without a change of meaning.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/golden/*")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		in, _, _ := bytes.Cut(data, []byte("-- want --\n"))
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Parse("rules.yaml", data)
		if err != nil {
			errs, ok := err.(Errors)
			if !ok || len(errs) == 0 {
				t.Fatalf("%T: %v", err, err)
			}
			for i, e := range errs {
				if e.File != "rules.yaml" || e.Msg == "" || e.Line > 0 && e.Col < 1 {
					t.Fatalf("%+v", e)
				}
				if i > 0 && (e.Line < errs[i-1].Line || e.Line == errs[i-1].Line && e.Col < errs[i-1].Col) {
					t.Fatalf("not in order: %v", err)
				}
			}
			return
		}
		out, err := Format("rules.yaml", data)
		if err != nil {
			t.Fatal(err)
		}
		after, err := Parse("rules.yaml", out)
		if err != nil || after.Digest() != set.Digest() {
			t.Fatalf("after formatting (%v):\n%s", err, out)
		}
	})
}
