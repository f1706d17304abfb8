package upstream

import (
	"fmt"
	"strings"
)

// batchLine is the command line with which cmd.exe runs a batch file: it parses
// its line itself, by rules of its own, and then the batch file expands it
// again. Each argument is quoted, quotes are doubled, and a percent sign is kept
// from naming a variable. A line end or NUL cannot be passed.
//
// It is the form that the Rust standard library settled on after arguments of
// batch files were found to run commands (CVE-2024-24576).
func batchLine(script string, args []string) (string, error) {
	if strings.ContainsAny(script, "\"%\r\n\x00") || strings.HasSuffix(script, `\`) {
		return "", fmt.Errorf("batch file %q: its path has a character that cmd.exe would take apart", script)
	}
	var b strings.Builder
	// Extensions on, delayed expansion off, no AutoRun; the outer quotes go.
	b.WriteString(`cmd.exe /e:ON /v:OFF /d /c ""`)
	b.WriteString(script)
	b.WriteByte('"')
	for _, a := range args {
		if strings.ContainsAny(a, "\r\n\x00") {
			return "", fmt.Errorf("argument %q: a batch file cannot be given a line end or NUL", a)
		}
		b.WriteByte(' ')
		appendBatchArg(&b, a)
	}
	b.WriteByte('"')
	return b.String(), nil
}

func appendBatchArg(b *strings.Builder, arg string) {
	b.WriteByte('"')
	slashes := 0
	for i := range len(arg) {
		switch c := arg[i]; c {
		case '\\':
			slashes++
			b.WriteByte(c)
			continue
		case '"':
			// Programs read \\" as a backslash and the end of a string.
			b.WriteString(strings.Repeat(`\`, slashes))
			b.WriteString(`""`)
		case '%':
			// %cd:~,% expands to nothing, and splits %NAME% into no variable.
			b.WriteString(`%%cd:~,%`)
		default:
			b.WriteByte(c)
		}
		slashes = 0
	}
	b.WriteString(strings.Repeat(`\`, slashes))
	b.WriteByte('"')
}
