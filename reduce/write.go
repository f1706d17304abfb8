package reduce

import (
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// Writes reports whether results of a tool can become envelopes under the
// rule (RED-29): its write key names a shape, or is auto (the default) and
// the tool's annotations say readOnlyHint: false explicitly.
func (r *Reducer) Writes(annotatedWrite bool) bool {
	switch r.rule.Write {
	case "off":
		return false
	case "", "auto":
		return annotatedWrite
	}
	return true
}

// confirm turns the payload into an envelope where the rule and the evidence
// allow it.
func (j *job) confirm() {
	if !j.r.Writes(j.env.Write) || len(j.units) == 0 {
		return
	}
	u := j.units[0]
	auto := j.r.rule.Write == "" || j.r.rule.Write == "auto"
	c := Confirmation{Shape: Shape(j.r.rule.Write), LightKey: j.r.rule.LightKey, Token: j.slotRef, Args: j.env.Args}
	if auto {
		c.Shape = ShapeUpdate
	}
	if !u.json && (auto || c.Shape != ShapeDelete || len(j.units) > 1) {
		return
	}
	if auto && (!hasIdentifier(u.inner) || !echoes(j.env.Args, u.inner)) {
		return
	}
	payload := u.v
	if !u.json {
		payload = jsontape.Value{}
	}
	out, ok := c.envelope(u.inner, payload)
	if !ok {
		return
	}
	u.out, u.fixed, u.changed = out, true, true
	j.envelope, j.tokenUsed = true, c.Token != "" && c.Shape != ShapeDelete
}

// hasIdentifier reports an identifier in a written thing, or in every one of
// a list that is not empty.
func hasIdentifier(v jsontape.Value) bool {
	list, ok := writtenList(v)
	if !ok {
		return identifier(v).Exists()
	}
	for it := list.Iter(); it.Next(); {
		if !identifier(it.Value()).Exists() && !reportsFailure(it.Value()) {
			return false
		}
	}
	return list.Len() > 0
}

// echoes reports evidence that a payload repeats what the caller sent: at
// least half of the scalar arguments, booleans and nulls left out, stand in it.
func echoes(args []byte, payload jsontape.Value) bool {
	d, err := jsontape.Parse(args)
	if err != nil {
		return false
	}
	seen := make(map[string]bool)
	eachScalar(payload, func(s string) { seen[s] = true })
	total, found := 0, 0
	eachScalar(d.Root(), func(s string) {
		total++
		if seen[s] {
			found++
		}
	})
	return total > 0 && 2*found >= total
}

// eachScalar calls f with a text for every string and number in v; equal
// texts are equal values, as they were written.
func eachScalar(v jsontape.Value, f func(string)) {
	switch v.Kind() {
	case jsontape.String:
		f("s" + v.Str())
	case jsontape.Number:
		f("n" + string(v.Raw()))
	case jsontape.Array, jsontape.Object:
		for it := v.Iter(); it.Next(); {
			eachScalar(it.Value(), f)
		}
	}
}
