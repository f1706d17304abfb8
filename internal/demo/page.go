package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spillway-mcp/spillway/internal/tokens"
)

const (
	estimator = "cl100k_base"
	width     = 80
	indent    = "     "
)

// page prints; the first failure to write is kept.
type page struct {
	w     io.Writer
	err   error
	items []string // node_id of every hit the server sent
}

func (p *page) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(p.w, format, args...); err != nil && p.err == nil {
		p.err = err
	}
}

func (p *page) title(s string)                  { p.printf("%s\n\n", s) }
func (p *page) text(s string)                   { p.printf("%s\n\n", s) }
func (p *page) textf(format string, arg ...any) { p.printf(format+"\n", arg...) }

// block prints lines of something that is read as it is.
func (p *page) block(s string) {
	for line := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		p.printf("%s%s\n", indent, line)
	}
	p.printf("\n")
}

// wrapped prints s in lines of the page's width, broken behind one of the characters of at; a piece that is longer
// than a line is cut.
func (p *page) wrapped(s, at string) {
	var lines strings.Builder
	room := width - len(indent)
	for len(s) > room {
		cut := strings.LastIndexAny(s[:room], at) + 1
		if cut == 0 {
			next := strings.IndexAny(s, at) + 1
			if next == 0 {
				next = len(s)
			}
			lines.WriteString(s[:room-1] + "…\n")
			s = s[next:]
			continue
		}
		lines.WriteString(strings.TrimRight(s[:cut], " ") + "\n")
		s = s[cut:]
	}
	p.block(lines.String() + s)
}

// compare calls a tool without and with Spillway, prints both sizes and the note, and returns the ref of the original.
func (p *page) compare(ctx context.Context, direct, through *process, number, tool string, args map[string]any, what string) (ref string, err error) {
	p.printf("%s. %s: %s\n\n", number, tool, what)
	whole, err := direct.Call(ctx, tool, args)
	if err != nil {
		return "", err
	}
	cut, err := through.Call(ctx, tool, args)
	if err != nil {
		return "", err
	}
	before, err := readResult(whole)
	if err != nil {
		return "", fmt.Errorf("%s: the server's result: %w", tool, err)
	}
	after, err := readResult(cut)
	if err != nil {
		return "", fmt.Errorf("%s: the reduced result: %w", tool, err)
	}
	if after.Ref == "" {
		return "", fmt.Errorf("%s: the result was not reduced", tool)
	}
	if p.items == nil {
		p.items = before.nodeIDs()
	}
	counter, err := tokens.ByName(estimator)
	if err != nil {
		return "", err
	}
	b, a := counter.Count([]byte(before.Text)), counter.Count([]byte(after.Text))
	p.printf("   %-18s %12s %12s\n", "", "bytes", "tokens")
	p.printf("   %-18s %12s %12s\n", "the server sends", grouped(len(before.Text)), grouped(b))
	p.printf("   %-18s %12s %12s   %s of the tokens are saved\n", "the model reads", grouped(len(after.Text)), grouped(a), percent(b-a, b))
	if len(before.Structured) > 0 {
		p.printf("\n   The copy in structuredContent: %s bytes before, %s after.\n", grouped(len(before.Structured)), grouped(len(after.Structured)))
	}
	p.printf("\n   The note, as the model reads it:\n\n")
	p.wrapped(after.note(), " ")
	if row := after.firstRow(); row != nil {
		p.printf("   The first row:\n\n")
		p.wrapped(string(row), ",")
	}
	return after.Ref, nil
}

// expand gets a dropped field of rows back that the model was not shown, and checks it against what the server sent.
func (p *page) expand(ctx context.Context, through *process, ref string) error {
	args := struct {
		Ref    string   `json:"ref"`
		Rows   string   `json:"rows"`
		Fields []string `json:"fields"`
	}{ref, "26-50", []string{"node_id"}}
	shown, err := json.Marshal(args)
	if err != nil {
		return err
	}
	answer, err := through.Call(ctx, "reducer_expand", args)
	if err != nil {
		return err
	}
	got, err := readResult(answer)
	if err != nil {
		return fmt.Errorf("reducer_expand: %w", err)
	}
	for i, id := range p.items[25:50] {
		if !strings.Contains(got.Text, `"`+id+`"`) {
			return fmt.Errorf("reducer_expand: row %d has node_id %s, which is not in the answer: %.200s", 26+i, id, got.Text)
		}
	}
	counter, err := tokens.ByName(estimator)
	if err != nil {
		return err
	}
	p.printf("3. What was cut is one call away:\n\n")
	p.block("reducer_expand " + string(shown))
	p.printf("   Its answer, %s bytes and %s tokens, with the 25 values that the server sent:\n\n",
		grouped(len(got.Text)), grouped(counter.Count([]byte(got.Text))))
	p.block(shorten(got.Text, 3*(width-len(indent))))
	return nil
}

// shorten keeps the head and the tail of s in lines of the page's width.
func shorten(s string, most int) string {
	if len(s) > most {
		head := strings.LastIndexByte(s[:most*2/3], ',') + 1
		tail := strings.IndexByte(s[len(s)-most/3:], ',') + len(s) - most/3
		s = s[:head] + " … " + s[tail+1:]
	}
	var b strings.Builder
	for room := width - len(indent); len(s) > room; {
		cut := strings.LastIndexByte(s[:room], ',') + 1
		if cut == 0 {
			break
		}
		b.WriteString(s[:cut] + "\n")
		s = s[cut:]
	}
	return b.String() + s
}

// ledger prints the line of the first call.
func (p *page) ledger(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(data) {
		var entry struct{ Event, Tool string }
		if json.Unmarshal(line, &entry) == nil && entry.Event == "call" {
			p.printf("4. The ledger has a line for each call; this is the first one's:\n\n")
			p.wrapped(string(bytes.TrimSpace(line)), ",")
			return nil
		}
	}
	return fmt.Errorf("the ledger has no line for the calls: %.200s", data)
}
