package reduce

import (
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// Writes reports whether results of a tool can become envelopes under the
// rule (RED-29): its write key names a shape, or is auto (the default) and
// the tool's annotations say readOnlyHint: false explicitly. Such a tool lists
// the parameter verify (RED-33).
func (r *Reducer) Writes(annotatedWrite bool) bool {
	switch r.rule.Write {
	case "off":
		return false
	case "", "auto":
		return annotatedWrite && !r.rule.Pass
	}
	return !r.rule.Pass
}

// confirm turns the payload into an envelope where the rule and the evidence
// allow it.
func (j *job) confirm() {
	if !j.r.Writes(j.env.Write) {
		return
	}
	c := Confirmation{Shape: Shape(j.r.rule.Write), LightKey: j.r.rule.LightKey, Token: j.slotRef, Args: j.env.Args}
	auto := c.Shape == "" || c.Shape == "auto"
	if auto {
		c.Shape = ShapeUpdate
	}
	u := j.written(auto, c.Shape)
	if u == nil {
		return
	}
	v, inner := u.v, u.inner
	switch {
	case !u.json && u.inside: // a member of it is a text; it is confirmed whole
		v, inner = j.structured, lookThrough(j.structured)
	case !u.json:
		if readsAsFailure(u.text) {
			return
		}
		v, inner = jsontape.Value{}, jsontape.Value{}
	}
	if auto && (!hasIdentifier(inner) || !echoes(j.env.Args, inner)) {
		return
	}
	out, ok := c.envelope(inner, v)
	if !ok && j.slotRef == "" && v.Exists() {
		// Nothing could be fetched and not everything be named: the full result,
		// whatever the cap (RED-34).
		j.whole = true
		return
	}
	if !ok || !u.isSmaller(out) {
		return
	}
	// What can be got back obeys the cap like any other cut. Without a token
	// the ids are all that is left of what was written, and stay.
	if limit := j.r.rule.MaxBytes; c.usedToken && limit > 0 && len(out) > limit {
		return
	}
	u.out, u.fixed, u.changed = out, true, true
	j.envelope, j.tokenUsed = true, c.usedToken
}

// written is the payload that a write answered with: structuredContent, else
// the only JSON there is. Text is confirmed only for a rule that says delete;
// nil where there is nothing to confirm.
func (j *job) written(auto bool, shape Shape) *unit {
	if len(j.units) == 0 {
		return nil
	}
	if first := j.units[0]; first.inside {
		if auto && !first.json {
			return nil
		}
		return first
	}
	var found *unit
	for _, u := range j.units {
		if !u.json {
			continue
		}
		if found != nil {
			return nil
		}
		found = u
	}
	if found == nil && shape == ShapeDelete && len(j.units) == 1 {
		return j.units[0]
	}
	return found
}

// isSmaller reports whether out in place of u's copies is less than they are
// (RED-05).
func (u *unit) isSmaller(out []byte) bool {
	before, after := 0, 0
	for i, b := range u.blocks {
		before += len(u.j.blocks[b].text)
		if i == 0 {
			after += len(out)
		}
	}
	if u.inside {
		before += u.j.structured.CompactLen()
		after += len(out)
	}
	return after < before
}

// hasIdentifier reports an identifier in a written thing, or in one of a list.
func hasIdentifier(v jsontape.Value) bool {
	list, ok := writtenList(v)
	if !ok {
		return identifier(v).Exists()
	}
	for it := list.Iter(); it.Next(); {
		if identifier(it.Value()).Exists() {
			return true
		}
	}
	return false
}

// echoes reports evidence that a payload repeats what the caller sent: at
// least half of the scalar arguments stand in it, of a list in its elements.
// Truth values, nulls and empty strings are no evidence. Against it speaks what
// reads as an answer: a text or a list that the caller did not send, or a list
// in answer to a statement.
func echoes(args []byte, payload jsontape.Value) bool {
	d, err := jsontape.Parse(args)
	if err != nil {
		return false
	}
	things, isList := writtenList(payload)
	if !isList || things.Len() == 0 {
		things = payload
	}
	seen := make(map[string]bool)
	eachScalar(things, func(s string) { seen[s] = true })
	sent := make(map[string]bool)
	total, found := 0, 0
	longest, rest := "", 0
	eachScalar(d.Root(), func(s string) {
		sent[strings.TrimSpace(s)] = true
		total++
		if seen[s] {
			found++
		}
		if len(s) > len(longest) {
			longest, s = s, longest
		}
		rest += len(s)
	})
	if total == 0 || 2*found < total || isList && isStatement(longest, rest) && !seen[longest] {
		return false
	}
	answered := false
	eachScalar(payload, func(s string) {
		answered = answered || isAnswer(s) && !sent[strings.TrimSpace(s)]
	})
	if answered {
		return false
	}
	if !isList {
		_, unsent := unsentElements(payload, sent)
		return unsent <= maxUnsent
	}
	for it := things.Iter(); it.Next(); {
		if _, unsent := unsentElements(it.Value(), sent); unsent > maxUnsent {
			return false
		}
	}
	return true
}

// maxUnsent is how many objects and lists may stand in the lists of one written
// thing, holding nothing that the caller sent: more of them are a page, a tree
// or a table.
const maxUnsent = 8

// unsentElements counts those in v, and reports whether v holds anything that
// was sent.
func unsentElements(v jsontape.Value, sent map[string]bool) (holds bool, n int) {
	switch v.Kind() {
	case jsontape.String, jsontape.Number:
		eachScalar(v, func(s string) { holds = sent[strings.TrimSpace(s)] })
	case jsontape.Array, jsontape.Object:
		for it := v.Iter(); it.Next(); {
			e := it.Value()
			inside, more := unsentElements(e, sent)
			holds = holds || inside
			if n += more; !inside && v.Kind() == jsontape.Array && e.IsContainer() {
				n++
			}
		}
	}
	return holds, n
}

// maxEchoedText is how many bytes a string on one line may have that the caller
// did not send, in a payload that only repeats.
const maxEchoedText = 500

// isAnswer recognises a string that holds more than a field does: a diff, a
// page, a log.
func isAnswer(s string) bool {
	return len(s) > maxEchoedText || strings.ContainsAny(strings.TrimSpace(s), "\n")
}

// isStatement recognises an argument that says what to do in words, as SQL
// does, beside which the others, of rest bytes, are details.
func isStatement(s string, rest int) bool {
	return len(s) >= 12 && len(s) > rest && strings.ContainsAny(s, " \t\n")
}

// eachScalar calls f with every number and non-empty string in v, as text: an
// id is the same whether it is sent as a string and echoed as a number.
func eachScalar(v jsontape.Value, f func(string)) {
	switch v.Kind() {
	case jsontape.String:
		if s := v.Str(); s != "" {
			f(s)
		}
	case jsontape.Number:
		f(string(v.Raw()))
	case jsontape.Array, jsontape.Object:
		for it := v.Iter(); it.Next(); {
			eachScalar(it.Value(), f)
		}
	}
}
