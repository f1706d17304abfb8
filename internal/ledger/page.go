package ledger

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A page is text under way.
type page struct{ strings.Builder }

func (p *page) say(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...)
}

// table writes rows with the first column to the left and the others to the right.
func (p *page) table(rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString(cell + pad)
			} else {
				line.WriteString("  " + pad + cell)
			}
		}
		p.say("%s", strings.TrimRight(line.String(), " "))
	}
}

// percent is a/b in per cent to one digit, cut downwards; of nothing it is "–".
func percent(a, b int64) string {
	if b <= 0 {
		return "–"
	}
	return tenths(ratio(a, b, 1000))
}

func tenths(n int64) string {
	sign := ""
	m := uint64(n)
	if n < 0 {
		sign, m = "-", -m
	}
	return fmt.Sprintf("%s%d.%d %%", sign, m/10, m%10)
}

// share is a fraction of the report in per cent, cut downwards.
func share(f *float64) string {
	if f == nil {
		return "–"
	}
	return tenths(ratio(int64(math.Round(*f*micro)), micro, 1000))
}

func optional(n *int64) string {
	if n == nil {
		return "–"
	}
	return group3(*n)
}

// bar shows a fraction with ten places.
func bar(f *float64) string {
	if f == nil {
		return ""
	}
	n := int(max(0, min(1, *f)) * 10)
	return strings.Repeat("#", n) + strings.Repeat(".", 10-n)
}

// group3 writes a number with commas between thousands.
func group3(n int64) string {
	s := strconv.FormatInt(n, 10)
	from := 0
	if n < 0 {
		from = 1
	}
	for i := len(s) - 3; i > from; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func count(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return group3(n) + " " + thing
}

// name makes a name of the ledger fit for a terminal and a column.
func name(s string) string {
	if s == "" {
		return "(no name)"
	}
	s = clean(s)
	if r := []rune(s); len(r) > 40 {
		s = string(r[:39]) + "…"
	}
	return s
}

// clean puts ? for what a terminal would act on.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}
