package doctest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/spillway-mcp/spillway/internal/cli"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

var update = flag.Bool("update", false, "rewrite the outputs in docs/")

// The command spillway is this test binary.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"spillway": func() { os.Exit(cli.Main()) }})
}

const docs = "../../docs"

// pages are those with examples.
var pages = []string{"rules.md", "writes.md"}

func TestExamples(t *testing.T) {
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			file := filepath.Join(docs, page)
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			e := newExamples(t)
			var got bytes.Buffer
			for _, part := range split(string(data)) {
				got.WriteString(e.run(part))
			}
			if e.outputs == 0 {
				t.Fatal("the page has no examples")
			}
			if got.String() == string(data) {
				return
			}
			if !*update {
				t.Errorf("%s is not what comes out (rewrite it with -update):\n%s", page, firstDifference(string(data), got.String()))
				return
			}
			if err := os.WriteFile(file, got.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// examples is the state while a page is read from its top.
type examples struct {
	t       *testing.T
	dir     string // working directory of the commands
	env     []string
	rules   bool
	result  []byte   // the CallToolResult that was sent last
	refs    []string // that were printed
	outputs int
}

func newExamples(t *testing.T) *examples {
	e := &examples{t: t, dir: t.TempDir()}
	home := t.TempDir()
	e.env = append(os.Environ(), "LC_ALL=C")
	for _, name := range []string{"HOME", "LOCALAPPDATA", "APPDATA", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		e.env = append(e.env, name+"="+home)
	}
	return e
}

// run returns a part of the page with its output as it is.
func (e *examples) run(p part) string {
	words := strings.Fields(p.info)
	if !p.fence || len(words) == 0 {
		return p.text
	}
	if words[0] == "console" {
		return p.with(e.console(p.body))
	}
	if len(words) < 2 {
		return p.text
	}
	switch words[1] {
	case "rules":
		e.write("rules.yaml", p.body)
		e.rules = true
	case "sends":
		e.sends(p.info, p.body)
	case "reads":
		return p.with(e.reads(p))
	case "lists":
		return p.with(e.lists(words[2]))
	case "calls":
		head, args, _ := strings.Cut(p.info, " args ")
		args = e.current(args)
		p.info = head + " args " + args
		return p.with(e.calls(words[2], words[3], args))
	default:
		e.t.Errorf("line %d: %q is no kind of example", p.line, p.info)
	}
	return p.text
}

func (e *examples) write(name, text string) {
	if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o666); err != nil {
		e.t.Fatal(err)
	}
}

// sends makes a CallToolResult of what a page says that the server sends.
func (e *examples) sends(info, body string) {
	has := func(word string) bool { return strings.Contains(" "+info+" ", " "+word+" ") }
	block := func(text string) string {
		return `{"content":[{"type":"text","text":` + string(jsontape.AppendQuote(nil, text)) + `}]`
	}
	switch {
	case has("result"):
		e.result = []byte(expandJSON(e.t, body))
	case strings.HasPrefix(info, "text"):
		text := expandText(body)
		e.result = []byte(block(text))
		if has("mirrored") {
			e.result = append(e.result, `,"structuredContent":{"content":`+string(jsontape.AppendQuote(nil, text))+`}`...)
		}
		e.result = append(e.result, '}')
	default:
		payload := expandJSON(e.t, body)
		e.result = []byte(block(payload))
		if !has("text") {
			e.result = append(e.result, `,"structuredContent":`+payload...)
		}
		e.result = append(e.result, '}')
	}
	e.write("result.json", string(e.result))
}

// reads runs spillway reduce on what was sent and returns what the model reads.
func (e *examples) reads(p part) string {
	head, args, _ := strings.Cut(p.info, " args ")
	words := strings.Fields(head)
	if len(words) < 4 || e.result == nil || !e.rules {
		e.t.Errorf("line %d: reads needs rules, something sent, a server and a tool", p.line)
		return p.body
	}
	call := []string{"reduce", "--rules", "rules.yaml", "--server", words[2], "--tool", words[3]}
	if args != "" {
		call = append(call, "--args", args)
	}
	if len(words) > 4 && words[4] == "schema" {
		call = append(call, "--output-schema")
	}
	out, errs, err := e.spillway(append(call, "result.json")...)
	if err != nil {
		e.t.Errorf("line %d: %v: %v\n%s", p.line, call, err, errs)
		return p.body
	}
	e.outputs++
	if ref := aRef.Find(out); ref != nil {
		e.refs = append(e.refs, string(ref))
	}
	if bytes.Equal(bytes.TrimSpace(out), e.result) {
		return "(the result as it came)\n"
	}
	return legible(e.t, bytes.TrimSpace(out))
}

func (e *examples) spillway(args ...string) (stdout, stderr []byte, err error) {
	return e.spillwayWith("", args...)
}

func (e *examples) spillwayWith(stdin string, args ...string) (stdout, stderr []byte, err error) {
	cmd := exec.Command("spillway", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = e.dir, e.env, strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.Bytes(), errs.Bytes(), err
}

// console runs the commands of a transcript, those of spillway alone, and
// returns it with what they print: stdout, then stderr.
func (e *examples) console(body string) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		command = e.current(command)
		b.WriteString("$ " + command)
		words := fields(strings.TrimSpace(command))
		var into string
		if n := len(words); n > 2 && words[n-2] == ">" {
			into, words = words[n-1], words[:n-2]
		}
		if words[0] != "spillway" {
			e.t.Errorf("no such command in an example: %s", line)
			continue
		}
		out, errs, _ := e.spillway(words[1:]...)
		e.outputs++
		if into != "" {
			e.write(into, string(out))
			out = nil
		}
		for _, s := range [][]byte{out, errs} {
			b.WriteString(wrap(string(s)))
			if len(s) > 0 && s[len(s)-1] != '\n' {
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

var aRef = regexp.MustCompile(`\br_[0-9a-f]{12}\b`)

// current replaces a ref that no example has printed by the last one that was:
// the page's inputs have changed.
func (e *examples) current(s string) string {
	return aRef.ReplaceAllStringFunc(s, func(ref string) string {
		if n := len(e.refs); n > 0 && !slices.Contains(e.refs, ref) {
			return e.refs[n-1]
		}
		return ref
	})
}

// fields splits a command line at spaces outside single quotes.
func fields(s string) []string {
	var words []string
	for i, piece := range strings.Split(s, "'") {
		if i%2 == 1 {
			words = append(words, piece)
		} else {
			words = append(words, strings.Fields(piece)...)
		}
	}
	return words
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range w {
		if i >= len(g) || w[i] != g[i] {
			return fmt.Sprintf("line %d\npage: %s\nis:   %s", i+1, w[i], strings.Join(g[min(i, len(g)):min(i+12, len(g))], "\n      "))
		}
	}
	return "the page ends early"
}

// Rules are for size, not for secrecy: that stands wherever keep is explained.
func TestRED50_SaidNextToKeep(t *testing.T) {
	for file, heading := range map[string]string{
		"rules.md":                       "## keep",
		"../internal/cli/help/rules.txt": "  keep ",
		"../README.md":                   "## Write a rule",
	} {
		data, err := os.ReadFile(filepath.Join(docs, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		_, after, ok := strings.Cut(string(data), heading)
		if words := strings.Join(strings.Fields(after), " "); !ok || !strings.Contains(words[:min(len(words), 1600)], "size, not for secrecy") {
			t.Errorf("%s does not say under %q that rules are for size, not for secrecy", file, heading)
		}
	}
}
