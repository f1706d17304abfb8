package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/needle"
)

// Redaction is one entry of record.redact.
type Redaction struct {
	// Tool is SERVER/TOOL, where * stands for any run of characters; a part
	// alone, as "github", is a server, and "" is every tool of every server.
	Tool  string
	Paths []string // places in results, see [ParsePath]
	Args  []string // places in arguments
	Names []string // members of objects at any depth, of results and arguments
	Drop  bool     // keeps no result and no argument
}

// Redactions are the compiled entries of record.redact. The zero Redactions
// remove secrets alone.
type Redactions struct {
	entries []compiled
	digest  string
}

type compiled struct {
	server, tool string
	paths, args  []Path
	names        map[string]bool
	drop         bool
}

// Compile checks and compiles redactions. The error is of the first path that
// cannot be used, and says which.
func Compile(all []Redaction) (*Redactions, error) {
	r := &Redactions{}
	if len(all) > 0 {
		text, err := json.Marshal(all)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		r.digest = hex.EncodeToString(sum[:8])
	}
	for _, x := range all {
		c := compiled{server: "*", tool: "*", drop: x.Drop, names: map[string]bool{}}
		if x.Tool != "" {
			var split bool
			if c.server, c.tool, split = strings.Cut(x.Tool, "/"); !split {
				c.tool = "*"
			}
		}
		for _, from := range []struct {
			texts []string
			to    *[]Path
		}{{x.Paths, &c.paths}, {x.Args, &c.args}} {
			for _, text := range from.texts {
				p, err := ParsePath(text)
				if err != nil {
					return nil, err
				}
				*from.to = append(*from.to, p)
			}
		}
		for _, name := range x.Names {
			c.names[name] = true
		}
		r.entries = append(r.entries, c)
	}
	return r, nil
}

// of returns what is redacted of one tool.
func (r *Redactions) of(server, tool string) (paths, args []Path, names map[string]bool, drop bool) {
	names = map[string]bool{}
	if r == nil {
		return nil, nil, names, false
	}
	for _, c := range r.entries {
		if !glob(c.server, server) || !glob(c.tool, tool) {
			continue
		}
		paths, args, drop = append(paths, c.paths...), append(args, c.args...), drop || c.drop
		for name := range c.names {
			names[name] = true
		}
	}
	return paths, args, names, drop
}

// glob matches a name with a pattern in which * stands for any run.
func glob(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	for name = name[len(first):]; ; name = name[1:] {
		if glob(rest, name) {
			return true
		}
		if name == "" {
			return false
		}
	}
}

// maxRemembered bounds the redacted values that a session looks for in what
// comes later. Beyond it the recording ends: it could not keep its promise.
const maxRemembered = 100_000

// minFollowed is the length in bytes from which a redacted value is looked for
// inside longer strings; shorter ones are replaced where they are the whole.
const minFollowed = 6

// redactor is the redaction of one session. A value that was replaced once is
// replaced wherever it stands in the rest of the session, by the same
// placeholder, so that what depends on it can still be told.
type redactor struct {
	rules *Redactions
	seen  needle.Set
}

func (r *redactor) full() bool { return r.seen.Len() > maxRemembered }

// event redacts an event in place.
func (r *redactor) event(e *Event) {
	paths, args, names, drop := r.rules.of(e.Server, e.Tool)
	if drop {
		e.Args, e.Result, e.Shown, e.Error, e.Note, e.Dropped = nil, nil, nil, nil, "", true
		return
	}
	known := r.seen.Len()
	r.places(e, paths, args, names)
	if r.seen.Len() > known && e.Kind != KindList {
		// The other copy of a result may have the value at a place that no
		// path names, before the one that does.
		r.places(e, nil, nil, names)
	}
}

// places redacts what stands where the configuration says, what is under a
// secret's name, and what was redacted before.
func (r *redactor) places(e *Event, paths, args []Path, names map[string]bool) {
	switch e.Kind {
	case KindList:
		// A schema has what its tool calls a password, and no password.
		e.Result, e.Shown = r.json(e.Result, job{list: true}), r.json(e.Shown, job{list: true})
		return
	case KindExpand:
		// A part of an original has no shape of its own that paths could
		// find their way in.
		if len(paths)+len(names) > 0 {
			e.Result, e.Shown, e.Dropped = nil, nil, true
		}
	}
	e.Args = r.json(e.Args, job{paths: args, names: names})
	e.Error = r.json(e.Error, job{names: names})
	if e.Result != nil {
		j := job{paths: paths, names: names, result: true}
		e.Result = r.json(e.Result, j)
	}
	switch {
	case e.Shown == nil:
	case len(paths) > 0:
		// Rows have other names in it and may stand elsewhere.
		e.Shown, e.Note, e.Dropped = nil, "", true
	default:
		e.Shown = r.json(e.Shown, job{names: names, result: true})
	}
	e.Note = string(r.text([]byte(e.Note)))
}

// job is one JSON document to be redacted.
type job struct {
	paths  []Path
	names  map[string]bool
	result bool // a CallToolResult: the paths start at its payloads
	list   bool // a list of tools: members' names say nothing
}

// json returns the document without what is to be redacted; src itself where
// that is nothing, and null for what is not JSON.
func (r *redactor) json(src []byte, j job) []byte {
	if len(src) == 0 {
		return nil
	}
	doc, err := jsontape.Parse(src)
	if err != nil {
		return []byte("null")
	}
	w := &walk{r: r, job: j, src: src, forms: within(src)}
	root := doc.Root()
	if !j.result {
		w.value(root, j.paths, false)
		return w.finish()
	}
	w.envelope(root)
	return w.finish()
}

// text redacts a text that stands alone: credentials, and what was redacted
// before.
func (r *redactor) text(src []byte) []byte {
	out, _ := r.clean(src, forms)
	return out
}

// clean returns the text with what must not stay in it replaced, and whether
// that was anything.
func (r *redactor) clean(src []byte, of []form) ([]byte, bool) {
	type hit struct{ from, to int }
	var hits []hit
	secrets(src, of, func(from, to int) { hits = append(hits, hit{from, to}) })
	r.seen.Scan(src, func(id, start int) {
		if n := len(r.seen.Text(id)); n >= minFollowed {
			hits = append(hits, hit{start, start + n})
		}
	})
	if len(hits) == 0 {
		return src, false
	}
	out, at := make([]byte, 0, len(src)), 0
	for at < len(src) {
		best := hit{len(src), len(src)}
		for _, h := range hits {
			if h.from >= at && (h.from < best.from || h.from == best.from && h.to > best.to) {
				best = h
			}
		}
		out = append(out, src[at:best.from]...)
		if best.from < best.to {
			out = append(out, r.placeholder(src[best.from:best.to])...)
		}
		at = best.to
	}
	return out, true
}

// placeholder stands for a string: it says what it is, the same for the same
// string within a session, and is as long as the string, rounded up to a multiple
// of 8 bytes, but for the shortest.
func (r *redactor) placeholder(s []byte) string {
	id := r.remember(s)
	p := fmt.Sprintf("[redacted-%d", id)
	size := (len(s) + 7) / 8 * 8
	if room := size - len(p) - 2; room >= 0 {
		p += "-" + strings.Repeat("x", room)
	}
	return p + "]"
}

func (r *redactor) remember(s []byte) int {
	if id, ok := r.seen.ID(s); ok {
		return id
	}
	return r.seen.Add(string(s))
}

// number stands for a number: as many digits, the last of which tell numbers of
// a session apart.
func (r *redactor) number(raw []byte) string {
	id := strconv.Itoa(r.remember(raw))
	digits := 0
	for _, c := range raw {
		if '0' <= c && c <= '9' {
			digits++
		}
	}
	if len(id) >= digits {
		return "9" + id
	}
	return "9" + strings.Repeat("0", digits-len(id)-1) + id
}
