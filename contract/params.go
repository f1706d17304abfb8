package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// paramsError says which parameters are wrong: all of them (A04).
type paramsError struct {
	pointer string // of the first
	msg     string // of the first
	more    []fault
}

func (e *paramsError) Error() string {
	var b strings.Builder
	if e.pointer == "" {
		b.WriteString("parameters: " + e.msg)
	} else {
		b.WriteString("parameter " + strings.TrimPrefix(e.pointer, "/") + ": " + e.msg)
	}
	for i, f := range e.more {
		if i+1 == maxFaults {
			fmt.Fprintf(&b, "; and %d more", len(e.more)-i)
			break
		}
		fmt.Fprintf(&b, "; %s: %s", strings.TrimPrefix(f.pointer(), "/"), f.msg)
	}
	return b.String()
}

// canonicalParams validates raw against the definition, fills defaults in and
// returns the canonical form.
func (d *Definition) canonicalParams(raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	doc, err := jsontape.Parse(raw)
	if err != nil {
		return nil, &paramsError{msg: "not JSON: " + err.Error()}
	}
	if doc.Root().Kind() != jsontape.Object {
		return nil, &paramsError{msg: "not an object"}
	}
	if !doc.ValidUTF8() {
		return nil, &paramsError{msg: "not UTF-8"}
	}
	if at, twice := duplicate(doc.Root(), nil); twice {
		return nil, &paramsError{pointer: pointerOf(at), msg: "given twice"}
	}
	filled := fillDefaults(nil, doc.Root(), d.params.doc, d.params.doc, 0)
	all, err := d.params.faults(filled)
	if err == nil && len(all) > 0 {
		return nil, &paramsError{all[0].pointer(), all[0].msg, all[1:]}
	}
	if err == nil {
		err = doc.Reset(filled, jsontape.Limits{})
	}
	if err != nil {
		return nil, &paramsError{msg: err.Error()}
	}
	return doc.Root().AppendCanonical(nil), nil
}

// duplicate finds a member that an object has twice: readers disagree on which
// one counts, so neither may.
func duplicate(v jsontape.Value, path []string) ([]string, bool) {
	if !v.IsContainer() {
		return nil, false
	}
	seen := map[string]bool{}
	i := 0
	for it := v.Iter(); it.Next(); i++ {
		name := fmt.Sprint(i)
		if v.Kind() == jsontape.Object {
			name = it.Key().Str()
			if seen[name] {
				return append(path, name), true
			}
			seen[name] = true
		}
		if at, found := duplicate(it.Value(), append(path, name)); found {
			return at, true
		}
	}
	return nil, false
}

// fillDefaults appends v with the defaults of the properties that it lacks.
// Schemas are followed through properties, items, allOf and local references;
// alternatives (anyOf, oneOf, if) give no defaults, for they could disagree.
func fillDefaults(dst []byte, v, s, root jsontape.Value, depth int) []byte {
	if depth > 64 {
		return v.AppendCompact(dst)
	}
	switch v.Kind() {
	case jsontape.Object:
		props := propertiesOf(nil, s, root, 0)
		dst = append(dst, '{')
		n := 0
		comma := func() {
			if n > 0 {
				dst = append(dst, ',')
			}
			n++
		}
		for it := v.Iter(); it.Next(); {
			comma()
			dst = it.Key().AppendCompact(dst)
			dst = append(dst, ':')
			name := it.Key().Str()
			var sub jsontape.Value
			for _, p := range props {
				if p.name == name {
					sub = p.schema
				}
			}
			dst = fillDefaults(dst, it.Value(), sub, root, depth+1)
		}
		given := map[string]bool{}
		for _, p := range props {
			def := p.schema.Get("default")
			if !def.Exists() || given[p.name] || v.Get(p.name).Exists() {
				continue
			}
			given[p.name] = true
			comma()
			dst = jsontape.AppendQuote(dst, p.name)
			dst = append(dst, ':')
			dst = fillDefaults(dst, def, p.schema, root, depth+1)
		}
		return append(dst, '}')
	case jsontape.Array:
		items := deref(s, root).Get("items")
		dst = append(dst, '[')
		for it, n := v.Iter(), 0; it.Next(); n++ {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = fillDefaults(dst, it.Value(), items, root, depth+1)
		}
		return append(dst, ']')
	}
	return v.AppendCompact(dst)
}

type property struct {
	name   string
	schema jsontape.Value
}

func propertiesOf(all []property, s, root jsontape.Value, depth int) []property {
	if depth > 16 {
		return all
	}
	s = deref(s, root)
	if props := s.Get("properties"); props.Kind() == jsontape.Object {
		for it := props.Iter(); it.Next(); {
			all = append(all, property{it.Key().Str(), deref(it.Value(), root)})
		}
	}
	if of := s.Get("allOf"); of.Kind() == jsontape.Array {
		for it := of.Iter(); it.Next(); {
			all = propertiesOf(all, it.Value(), root, depth+1)
		}
	}
	return all
}

func deref(s, root jsontape.Value) jsontape.Value {
	for range 16 {
		ref := s.Get("$ref")
		if ref.Kind() != jsontape.String {
			return s
		}
		rest, local := strings.CutPrefix(ref.Str(), "#/")
		if !local {
			return s
		}
		path := strings.Split(rest, "/")
		for i, p := range path {
			path[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
		}
		s = root.Lookup(path...)
	}
	return s
}

// sum hashes parts so that no two lists of parts hash alike.
func sum(domain string, parts ...string) string {
	h := sha256.New()
	h.Write([]byte(domain))
	for _, p := range parts {
		fmt.Fprintf(h, "\x00%d\x00", len(p))
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fingerprint binds what a key stands for (section 3).
func fingerprint(paramsHash, target, precondition string) string {
	return sum("spillway fingerprint v1", paramsHash, target, precondition)
}

// StepKey returns the key that travels to the upstream for a step, and of a
// step with items for an item: a UUID of version 8 made of the operation's
// identity. It differs between callers and operations that happen to use the
// same operation key, since the upstream knows neither.
func StepKey(id ID, step, item string) string {
	h := sha256.Sum256([]byte(sum("spillway step key v1", id.Caller, id.Operation, id.Key, step, item)))
	b := h[:16]
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	s := hex.EncodeToString(b)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
