package reduce

import (
	"bytes"
	stdjson "encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden runs testdata/*.txtar: a comment that names the rules it shows, a
// rule, a result (written out, or as a generator's call), and what a model and
// a program see of it. Where there is an expand section, its calls follow.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(a.Comment), "\n")
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+" "+first, func(t *testing.T) {
			got := runGolden(t, sections(a))
			want, at := "", -1
			for i := range a.Files {
				if a.Files[i].Name == "want" {
					want, at = string(a.Files[i].Data), i
				}
			}
			if got == want {
				return
			}
			if !*update {
				t.Fatalf("got:\n%s\nwant:\n%s", got, want)
			}
			if at < 0 {
				t.Fatal("the file has no want section")
			}
			a.Files[at].Data = []byte(got)
			if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func sections(a *txtar.Archive) map[string]string {
	m := make(map[string]string)
	for _, f := range a.Files {
		m[f.Name] = strings.TrimSpace(string(f.Data))
	}
	return m
}

func runGolden(t *testing.T, s map[string]string) string {
	t.Helper()
	var rule Rule
	if err := stdjson.Unmarshal([]byte(s["rule"]), &rule); err != nil {
		t.Fatalf("rule: %v", err)
	}
	r, err := Compile(rule)
	if err != nil {
		t.Fatal(err)
	}
	env := Env{Expand: "reducer_expand"}
	for _, word := range strings.Fields(s["env"]) {
		switch word {
		case "no-expand":
			env.Expand = ""
		case "schema":
			env.Schema = true
		case "ui":
			env.UI = true
		case "resource-link":
			env.ResourceLink = true
		case "write": // annotated readOnlyHint: false
			env.Write = true
		case "verify":
			env.Verify = true
		case "token-param":
			env.TokenParam = true
		default:
			t.Fatalf("env: %q", word)
		}
	}
	env.Args = []byte(s["args"])
	if s["args"] == "devices" {
		env.Args = fixture.DeviceRequest(60)
	}
	result := generated(t, s["result"])
	var b strings.Builder
	o := r.Reduce(result, env)
	show(t, &b, result, o)
	for _, call := range strings.Split(s["expand"], "\n") {
		if call == "" {
			continue
		}
		args := strings.ReplaceAll(call, "REF", o.Ref)
		fmt.Fprintf(&b, "\n>>> reducer_expand %s\n", args)
		q, err := ParseExpandRequest([]byte(args))
		if err == nil {
			var out []byte
			if out, err = r.Expand(result, q, 0); err == nil {
				showBlocks(t, &b, out)
			}
		}
		if err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
		}
	}
	return b.String()
}

// generated reads a result: JSON as it stands, or one of the generators.
func generated(t *testing.T, s string) []byte {
	t.Helper()
	word := strings.Fields(s)
	num := func(i int) int {
		n, err := strconv.Atoi(word[i])
		if err != nil {
			t.Fatalf("result: %q", s)
		}
		return n
	}
	block := func(text string) string {
		return `{"type":"text","text":` + string(jsontape.AppendQuote(nil, text)) + `}`
	}
	switch word[0] {
	case "codesearch":
		return fixture.Result(fixture.CodeSearch(num(1)), fixture.Options{})
	case "devices": // as a bulk write echoes them, in a member beside the text
		return fixture.Result(fixture.Devices(num(1)), fixture.Options{Wrap: "devices"})
	case "bigimage": // lines of text and an image of 90 kB
		return []byte(`{"content":[` + block(lines(20)) + `,{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("iVBORw0K", 15000) + `"}]}`)
	case "lines":
		return []byte(`{"content":[` + block(lines(num(1))) + `]}`)
	case "file": // as the filesystem server answers read_text_file
		return []byte(`{"content":[` + block(lines(num(1))) + `],"structuredContent":{"content":` + string(jsontape.AppendQuote(nil, lines(num(1)))) + `}}`)
	case "mirror": // a payload in both copies, the text indented
		payload := strings.TrimSpace(strings.TrimPrefix(s, "mirror"))
		var indented bytes.Buffer
		if err := stdjson.Indent(&indented, []byte(payload), "", "  "); err != nil {
			t.Fatal(err)
		}
		return []byte(`{"content":[` + block(indented.String()) + `],"structuredContent":` + payload + `}`)
	case "rows": // n rows with a text of m characters each
		return []byte(`{"content":[` + block(rowsOf(num(1), num(2))) + `],"structuredContent":` + rowsOf(num(1), num(2)) + `}`)
	}
	return []byte(s)
}

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d: the quick brown fox\n", i+1)
	}
	return b.String()
}

func rowsOf(n, m int) string {
	var b strings.Builder
	b.WriteString(`{"total_count":` + strconv.Itoa(n) + `,"items":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"status":"ok","body":"%s"}`, 9007199254740993+i, strings.Repeat("x", m))
	}
	b.WriteString(`]}`)
	return b.String()
}

// show writes what a model, a program and the ledger see.
func show(t *testing.T, b *strings.Builder, result []byte, o Outcome) {
	t.Helper()
	if o.Err != nil {
		fmt.Fprintf(b, "error: %v\n", o.Err)
	}
	for _, f := range o.Faults {
		fmt.Fprintf(b, "fault: %s\n", f)
	}
	for word, is := range map[string]bool{"an envelope": o.Envelope, "verified": o.Verified, "a probe": o.Probe} {
		if is {
			fmt.Fprintf(b, "%s, ref %q\n", word, o.Ref)
		}
	}
	if !o.Changed {
		if !bytes.Equal(o.Result, result) {
			t.Fatal("an unchanged result is not the bytes that came")
		}
		b.WriteString("passes as it came\n")
		return
	}
	fmt.Fprintf(b, "text %d -> %d, structured %d -> %d; cut rows %d, fields %d\n",
		o.Before.Text, o.After.Text, o.Before.Structured, o.After.Structured, o.Cut.Rows, o.Cut.Fields)
	showBlocks(t, b, o.Result)
}

func showBlocks(t *testing.T, b *strings.Builder, result []byte) {
	t.Helper()
	d, err := jsontape.Parse(result)
	if err != nil {
		t.Fatal(err)
	}
	for it := d.Root().Get("content").Iter(); it.Next(); {
		v := it.Value()
		if text := v.Get("text"); text.Exists() && v.Get("type").Is("text") {
			fmt.Fprintf(b, "[text] %s\n", shortened(text.Str()))
		} else {
			fmt.Fprintf(b, "[block] %s\n", shortened(string(v.Raw())))
		}
	}
	for it := d.Root().Iter(); it.Next(); {
		if !it.Key().Is("content") {
			fmt.Fprintf(b, "%s: %s\n", it.Key().Str(), shortened(string(it.Value().Raw())))
		}
	}
}

// shortened keeps golden files readable; lengths and counts in them tell of
// the middle.
func shortened(s string) string {
	if len(s) <= 1500 {
		return s
	}
	from, to := border([]byte(s), 900), borderAfter([]byte(s), len(s)-300)
	return fmt.Sprintf("%s\n   ~~~ %d bytes ~~~\n%s", s[:from], to-from, s[to:])
}
