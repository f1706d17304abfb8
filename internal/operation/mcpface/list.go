package mcpface

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

const (
	evidenceArg    = "evidence"
	operationIDArg = "operationId"
	reconcileArg   = "reconcile"
)

// entryOf is a tool as tools/list shows it.
func entryOf(t *tool) []byte {
	spec := t.def.Spec()
	title := spec.Title
	if title == "" {
		title = t.def.ID()
	}
	b := jsontape.AppendQuote([]byte(`{"name":`), t.name)
	b = jsontape.AppendQuote(append(b, `,"title":`...), titleOf(t, title))
	b = jsontape.AppendQuote(append(b, `,"description":`...), describe(t))
	b = append(append(b, `,"inputSchema":`...), inputSchema(t)...)
	b = append(append(b, `,"outputSchema":`...), outputSchema(t)...)
	b = append(append(b, `,"annotations":`...), annotations(t)...)
	return append(b, '}')
}

// statusEntry is the tool that tells of every mutation.
func statusEntry(name string) []byte {
	b := jsontape.AppendQuote([]byte(`{"name":`), name)
	b = append(b, `,"title":"Operation status","description":"How a mutation of yours stands, by its operationId; nothing is submitted. With reconcile: true the upstream is asked whether an unknown one happened, and the answer is recorded.",`...)
	b = append(b, `"inputSchema":{"type":"object","properties":{"operationId":{"type":"string"},"reconcile":{"type":"boolean"}},"required":["operationId"],"additionalProperties":false},`...)
	b = append(append(b, `"outputSchema":`...), mutationSchema...)
	return append(b, `,"annotations":{"readOnlyHint":true,"openWorldHint":true}}`...)
}

func titleOf(t *tool, title string) string {
	switch t.kind {
	case prepareTool:
		return title + ": prepare"
	case commitTool:
		return title + ": commit"
	}
	return title
}

// describe says scope, bounds and what a repetition meets (C-17).
func describe(t *tool) string {
	spec := t.def.Spec()
	var b strings.Builder
	if t.kind == commitTool {
		fmt.Fprintf(&b, "Do what %s's prepare checked, once: the same operationId again is answered from the journal. ", t.def.Name())
	} else if t.kind == prepareTool {
		fmt.Fprintf(&b, "Check and preview, without doing it; then call the commit tool with the operationId. ")
	}
	if spec.Title != "" {
		b.WriteString(strings.TrimSuffix(spec.Title, ".") + ". ")
	}
	scope := strings.Join(strings.Fields(spec.Scope), " ")
	b.WriteString("Scope: " + scope)
	if !strings.HasSuffix(scope, ".") {
		b.WriteByte('.')
	}
	bounds := spec.Bounds
	if t.def.IsRead() {
		fmt.Fprintf(&b, " Bounds of a call: %d pages, %d records, %s. The answer says complete true or false; if false, call again with its continuation.",
			bounds.MaxPages, bounds.MaxRecords, bounds.Deadline)
		fmt.Fprintf(&b, " replay: %s.", t.def.Replay())
		return b.String()
	}
	fmt.Fprintf(&b, " Effects: %s. Bounds: %s. replay: %s, reconcile: %s.", spec.Effects, bounds.Deadline, t.def.Replay(), t.def.Reconciles())
	return b.String()
}

// annotations say what is true of the tool: a commit that is repeated under
// its operationId has no further effect, and a prepare changes nothing
// upstream.
func annotations(t *tool) string {
	effects := t.def.Spec().Effects
	destructive := effects == contract.Deletes || effects == contract.Updates
	for _, s := range mutationSteps(t.def) {
		destructive = destructive || s.Effect == contract.Deletes || s.Effect == contract.Updates
	}
	switch t.kind {
	case readTool, prepareTool:
		return `{"readOnlyHint":true,"openWorldHint":true}`
	case commitTool:
		return fmt.Sprintf(`{"readOnlyHint":false,"destructiveHint":%t,"idempotentHint":true,"openWorldHint":true}`, destructive)
	}
	natural := t.def.Spec().Idempotent == contract.Natural
	return fmt.Sprintf(`{"readOnlyHint":false,"destructiveHint":%t,"idempotentHint":%t,"openWorldHint":true}`, destructive, natural)
}

func mutationSteps(def *contract.Definition) []contract.Step {
	if m := def.Spec().Mutation; m != nil {
		return m.Steps
	}
	return nil
}

// inputSchema is the schema of the parameters; a read's has two more.
func inputSchema(t *tool) []byte {
	if t.kind == commitTool {
		return []byte(`{"type":"object","properties":{"operationId":{"type":"string","description":"as prepare returned it"}},"required":["operationId"],"additionalProperties":false}`)
	}
	schema := t.def.Spec().Params
	if t.kind != readTool {
		return schema
	}
	return withProperties(schema, // an operation's own parameters of these names stay its own
		property{continuationArg, `{"type":"string","description":"of an incomplete answer, to go on with it"}`},
		property{evidenceArg, `{"type":"boolean","description":"keep the pages for reducer_expand"}`})
}

type property struct{ name, schema string }

// withProperties adds properties to an object's schema, but those it has.
func withProperties(schema []byte, add ...property) []byte {
	doc, err := jsontape.Parse(schema)
	if err != nil {
		return schema
	}
	props := doc.Root().Get("properties")
	var more []byte
	for _, p := range add {
		if props.Get(p.name).Exists() {
			continue
		}
		if len(more) > 0 || props.Len() > 0 {
			more = append(more, ',')
		}
		more = jsontape.AppendQuote(more, p.name)
		more = append(append(more, ':'), p.schema...)
	}
	b := []byte{'{'}
	seen := false
	for it := doc.Root().Iter(); it.Next(); {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(it.Key().AppendCompact(b), ':')
		value := it.Value().AppendCompact(nil)
		if it.Key().Is("properties") && len(value) > 0 && value[len(value)-1] == '}' {
			seen = true
			value = append(value[:len(value)-1:len(value)-1], more...)
			value = append(value, '}')
		}
		b = append(b, value...)
	}
	if !seen {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, `"properties":{`...), more...), '}')
	}
	return append(b, '}')
}

// outputSchema is the schema of what the tool answers: a receipt, whose result
// is of the operation's schema, or a preview. An error is exempt.
func outputSchema(t *tool) []byte {
	if t.kind == prepareTool {
		return []byte(previewSchema)
	}
	schema := []byte(mutationSchema)
	if t.kind == readTool {
		schema = []byte(readSchema)
	}
	declared := t.def.Spec().Result
	if declared == nil || refers(declared) {
		return schema
	}
	// What happened stays completed also where its result is not what was
	// declared: such a receipt says invalid_result.
	b := append([]byte(nil), schema[:len(schema)-1]...)
	b = append(b, `,"anyOf":[{"required":["result"],"properties":{"result":`...)
	b = append(b, declared...)
	b = append(b, `}},{"not":{"required":["result"]}},{"required":["reason"],"properties":{"reason":{"const":"invalid_result"}}}]}`...)
	if !json.Valid(b) {
		return schema
	}
	return b
}

// refers reports whether a schema points into itself, which it could not do
// from within another.
func refers(schema []byte) bool {
	for _, word := range []string{`"$ref"`, `"$dynamicRef"`, `"$id"`, `"$schema"`} {
		if strings.Contains(string(schema), word) {
			return true
		}
	}
	return false
}
