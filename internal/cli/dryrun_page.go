package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// write prints the page for people.
func (d *dryRun) write(w io.Writer, lines int) error {
	var b strings.Builder
	name := d.Server + "/" + d.Tool
	width := max(len("structured, tokens"), len(name))
	fmt.Fprintf(&b, "%-*s %12s %12s\n", width, name, "before", "after")
	row := func(name string, before, after int) {
		fmt.Fprintf(&b, "%-*s %12s %12s   %s\n", width, name, grouped(before), grouped(after), percentLess(before, after))
	}
	if d.Before.Bytes > 0 || d.After.Bytes > 0 || d.Before.StructuredBytes == 0 {
		row("text, bytes", d.Before.Bytes, d.After.Bytes)
		row("text, tokens", d.Before.Tokens, d.After.Tokens)
	}
	if d.Before.StructuredBytes > 0 {
		row("structured, bytes", d.Before.StructuredBytes, d.After.StructuredBytes)
		row("structured, tokens", d.Before.StructuredTokens, d.After.StructuredTokens)
	}
	fmt.Fprintf(&b, "\ntokens  %s\n", d.Estimator)
	if d.Rule == "" {
		b.WriteString("rule    none applies\n")
	} else {
		fmt.Fprintf(&b, "rule    %s; spillway explain says where its keys come from\n", d.Rule)
	}
	if !d.Changed {
		fmt.Fprintf(&b, "cut     nothing; %s\n", d.passes())
	} else {
		fmt.Fprintf(&b, "cut     %s\n", d.Cut)
	}
	if told := d.confirmed(); told != "" {
		fmt.Fprintf(&b, "write   %s\n", told)
	}
	for _, fault := range d.Faults {
		fmt.Fprintf(&b, "fault   %s\n", fault)
	}
	if d.Note != "" {
		fmt.Fprintf(&b, "note    %s\n", wrap(d.Note, 80, "        "))
	}
	if d.Changed {
		shown, err := renderResult(d.Result)
		if err != nil {
			return err
		}
		b.WriteString("\nWhat the model reads:\n\n")
		b.WriteString(head(shown, lines))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// confirmed says what became of a write, or of a heavy result; "" where it is neither.
func (d *dryRun) confirmed() string {
	how := ", with no way to the full result but verify"
	if d.Ref != "" {
		how = ", with a token for the full result"
	}
	switch {
	case d.Probe:
		return "described, not shown: heavy" + how
	case d.Envelope:
		return "confirmed" + how
	case d.Verified:
		return "full result, as the caller asked"
	case d.writes:
		return "not confirmed: no identifier, no echo of the arguments, a failure, or nothing to gain"
	}
	return ""
}

// passes says why a result that was not changed passes, where that can be told from the result (RED-01).
func (d *dryRun) passes() string {
	if doc, err := jsontape.Parse(d.Result); err == nil {
		if doc.Root().Get("isError").Kind() == jsontape.True {
			return "errors pass whole, whatever their size"
		}
		if kind := doc.Root().Get("resultType"); kind.Exists() && !kind.Is("complete") {
			return "only complete results are cut, and this one is " + string(kind.Raw())
		}
	}
	return "the result passes as it came"
}

func (c dryRunCut) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{c.Rows, "row"}, {c.Fields, "field"}, {c.Bytes, "byte"}} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 "+p.what)
		case p.n > 1:
			parts = append(parts, grouped(p.n)+" "+p.what+"s")
		}
	}
	if len(parts) == 0 {
		return "nothing that is counted"
	}
	return strings.Join(parts, ", ")
}

// head returns the first lines of text, and says how many follow.
func head(text string, lines int) string {
	all := strings.SplitAfter(strings.TrimRight(text, "\n")+"\n", "\n")
	all = all[:len(all)-1]
	if lines <= 0 || len(all) <= lines {
		return strings.Join(all, "")
	}
	return strings.Join(all[:lines], "") + fmt.Sprintf("… %s more lines; --lines 0 shows all\n", grouped(len(all)-lines))
}

// wrap breaks text into lines of at most width characters; all but the first start with indent, which is as wide as
// what stands before the first.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	column := len(indent)
	for i, word := range strings.Fields(text) {
		if i > 0 && column+1+len(word) > width {
			b.WriteString("\n" + indent)
			column = len(indent)
		} else if i > 0 {
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
