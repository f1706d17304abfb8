package record

import (
	"bytes"
	"slices"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// walk goes through one document and collects what is replaced in it.
type walk struct {
	r     *redactor
	job   job
	src   []byte
	out   []byte
	done  int    // how much of src is in out
	forms []form // of credentials that may stand in src
}

// replace puts text in the place of a value. Places come in order.
func (w *walk) replace(v jsontape.Value, text []byte) {
	from, to := v.Span()
	w.out = append(append(w.out, w.src[w.done:from]...), text...)
	w.done = to
}

func (w *walk) finish() []byte {
	if w.done == 0 {
		return w.src
	}
	return append(w.out, w.src[w.done:]...)
}

// envelope walks a CallToolResult: its structuredContent and its texts are
// payloads, the rest is looked at for secrets alone.
func (w *walk) envelope(root jsontape.Value) {
	for it := root.Iter(); it.Next(); {
		v := it.Value()
		switch key := it.Key(); {
		case key.Is("structuredContent"):
			w.payload(v)
		case key.Is("content"):
			for blocks := v.Iter(); blocks.Next(); {
				for members := blocks.Value().Iter(); members.Next(); {
					switch m := members.Value(); {
					case members.Key().Is("text"):
						w.textPayload(m)
					case members.Key().Is("resource"):
						for inner := m.Iter(); inner.Next(); {
							if inner.Key().Is("text") {
								w.textPayload(inner.Value())
							} else {
								w.value(inner.Value(), nil, false)
							}
						}
					default:
						w.value(m, nil, false)
					}
				}
			}
		default:
			w.value(v, nil, false)
		}
	}
}

// payload walks a payload; the paths start at it, and at the sole member that
// it wraps its value in (RED-02).
func (w *walk) payload(v jsontape.Value) {
	paths := w.job.paths
	if v.Kind() == jsontape.Object && v.Len() == 1 {
		for _, wrapper := range []string{"result", "content", "data"} {
			if inner := v.Get(wrapper); inner.Exists() {
				for _, p := range w.job.paths {
					paths = append(paths[:len(paths):len(paths)], append(Path{{Name: wrapper}}, p...))
				}
				if inner.Kind() == jsontape.String && len(w.job.paths) > 0 {
					// The text that the paths are meant for stands in it.
					w.textPayload(inner)
					return
				}
			}
		}
	}
	w.value(v, paths, false)
}

// textPayload walks the text of a block. Text that is not JSON has no places:
// where there are paths, none of it stays.
func (w *walk) textPayload(v jsontape.Value) {
	if v.Kind() != jsontape.String {
		w.value(v, nil, false)
		return
	}
	text := v.StrBytes(nil)
	if out, ok := w.r.embedded(text, w.job, w.forms); ok {
		if !bytes.Equal(out, text) {
			w.replace(v, jsontape.AppendQuote(nil, out))
		}
		return
	}
	if len(w.job.paths) > 0 && len(bytes.TrimSpace(text)) > 0 {
		w.replace(v, jsontape.AppendQuote(nil, w.r.placeholder(text)))
		return
	}
	w.scalar(v, false)
}

// embedded redacts text that is JSON, or lines that each are.
func (r *redactor) embedded(text []byte, j job, of []form) ([]byte, bool) {
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) < 2 || trimmed[0] != '{' && trimmed[0] != '[' {
		return nil, false
	}
	if doc, err := jsontape.Parse(trimmed); err == nil {
		w := &walk{r: r, job: j, src: trimmed, forms: of}
		w.payload(doc.Root())
		return inPlaceOf(trimmed, text, w.finish()), true
	}
	lines := bytes.Split(text, []byte("\n"))
	for i, whole := range lines {
		line := bytes.TrimSpace(whole)
		if len(line) == 0 {
			continue
		}
		doc, err := jsontape.Parse(line)
		if err != nil || line[0] != '{' && line[0] != '[' {
			return nil, false
		}
		w := &walk{r: r, job: j, src: line, forms: of}
		for _, p := range j.paths {
			if p[0].Any && len(p) > 1 { // the lines are the rows
				w.job.paths = append(w.job.paths[:len(w.job.paths):len(w.job.paths)], p[1:])
			}
		}
		w.payload(doc.Root())
		lines[i] = inPlaceOf(line, whole, w.finish())
	}
	return bytes.Join(lines, []byte("\n")), true
}

// inPlaceOf puts out in the place of trimmed, which is text without the white space
// around it: what is not redacted keeps its bytes.
func inPlaceOf(trimmed, text, out []byte) []byte {
	from := bytes.Index(text, trimmed)
	return slices.Concat(text[:from], out, text[from+len(trimmed):])
}

// value walks v, from which paths go on; with all, every scalar in it is
// replaced.
func (w *walk) value(v jsontape.Value, paths []Path, all bool) {
	for i := 0; i < len(paths); i++ {
		for len(paths[i]) > 0 && paths[i][0].Self {
			paths = append(paths[:i:i], append([]Path{paths[i][1:]}, paths[i+1:]...)...)
		}
		all = all || len(paths[i]) == 0
	}
	switch v.Kind() {
	case jsontape.Object:
		for it := v.Iter(); it.Next(); {
			name := it.Key().StrBytes(nil)
			if out, changed := w.r.clean(name, w.forms); changed {
				w.replace(it.Key(), jsontape.AppendQuote(nil, out)) // the name is data
			}
			var on []Path
			for _, p := range paths {
				switch {
				case len(p) == 0:
				case p[0].Any && (len(p) == 1 || it.Value().IsContainer()), !p[0].Any && !p[0].At && string(name) == p[0].Name:
					on = append(on, p[1:])
				}
			}
			hide := all || w.job.names[string(name)] || !w.job.list && isSecretName(name) && secretKind(it.Value().Kind())
			w.value(it.Value(), on, hide)
		}
	case jsontape.Array:
		n, i := v.Len(), 0
		for it := v.Iter(); it.Next(); i++ {
			var on []Path
			for _, p := range paths {
				switch {
				case len(p) == 0:
				case p[0].Any, p[0].At && (p[0].Index == i || p[0].Index == i-n):
					on = append(on, p[1:])
				case !p[0].At:
					on = append(on, p)
				}
			}
			w.value(it.Value(), on, all)
		}
	default:
		// A path that leads on from here was meant for another shape. What it
		// was meant to hide may be in this.
		w.scalar(v, all || len(paths) > 0)
	}
}

// secretKind reports whether a value under a secret's name is taken for one, or
// for a holder of them: a flag is not.
func secretKind(k jsontape.Kind) bool {
	return k != jsontape.True && k != jsontape.False && k != jsontape.Null
}

// scalar replaces a scalar that is hidden, and in others what must not stay.
func (w *walk) scalar(v jsontape.Value, hide bool) {
	switch v.Kind() {
	case jsontape.String:
		text := v.StrBytes(nil)
		_, known := w.r.seen.ID(text)
		if hide && len(text) > 0 || known {
			w.replace(v, jsontape.AppendQuote(nil, w.r.placeholder(text)))
			return
		}
		if out, ok := w.r.embedded(text, job{names: w.job.names, list: w.job.list}, w.forms); ok {
			if !bytes.Equal(out, text) {
				w.replace(v, jsontape.AppendQuote(nil, out))
			}
			return
		}
		if out, changed := w.r.clean(text, w.forms); changed {
			w.replace(v, jsontape.AppendQuote(nil, out))
		}
	case jsontape.Number:
		if _, known := w.r.seen.ID(v.Raw()); hide || known && len(v.Raw()) >= minFollowed {
			w.replace(v, []byte(w.r.number(v.Raw())))
		}
	case jsontape.True:
		if hide {
			w.replace(v, []byte("false"))
		}
	}
}
