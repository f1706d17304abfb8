package doctest

import "strings"

// part is a run of prose, or a fence.
type part struct {
	fence bool
	line  int    // of the fence, from 1
	info  string // behind the opening marks
	body  string
	text  string // all of it, marks included
}

// with is the fence with another body.
func (p part) with(body string) string { return "```" + p.info + "\n" + body + "```\n" }

// split cuts a page into prose and fences.
func split(page string) []part {
	var parts []part
	var now part
	n := 0
	for line := range strings.Lines(page) {
		n++
		mark := strings.HasPrefix(line, "```")
		switch {
		case mark && !now.fence:
			parts = append(parts, now)
			now = part{fence: true, line: n, info: strings.TrimSpace(strings.TrimPrefix(line, "```")), text: line}
		case mark:
			now.text += line
			parts = append(parts, now)
			now = part{}
		default:
			now.text += line
			if now.fence {
				now.body += line
			}
		}
	}
	return append(parts, now)
}
