package operation

import (
	"fmt"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// warn says what a definition's author may not have meant to leave open.
func (b *builder) warn(key *yamlpos.Node, def *contract.Definition) {
	spec := def.Spec()
	if spec.Mutation == nil {
		return
	}
	w := &b.set.Warnings
	if spec.Idempotent == contract.ByKey && spec.KeyRetention == 0 {
		w.At(key, "add key_retention: 24h, or what the upstream states",
			"%s: the upstream's key retention is unstated, so the key never allows a later submission", def.ID())
	}
	last := len(spec.Mutation.Steps) - 1
	for i, s := range spec.Mutation.Steps {
		at := b.places[fmt.Sprintf("Mutation.Steps[%d]", i)]
		if at == nil {
			at = key
		}
		if s.Classify == nil {
			w.At(at, "add classify", "the step %q of %s has no classification: by default an HTTP 4xx but 408, 409 and 425 means that nothing happened, and everything else, a tool's isError too, that the outcome is unknown", s.Name, def.ID())
		}
		if s.Reconcile == nil {
			byKey := s.Idempotent == contract.ByKey || s.Idempotent == "" && spec.Idempotent == contract.ByKey
			switch {
			case byKey && (s.Retention != 0 || spec.KeyRetention != 0):
				w.At(at, "add reconcile", "the step %q of %s has no reconcile: after a lost answer it is only settled by the same key, within the upstream's retention, or by a person (op resolve)", s.Name, def.ID())
			default:
				w.At(at, "add reconcile", "the step %q of %s has no reconcile and no key that protects it: a lost answer leaves it unknown until a person resolves it (op resolve); replay: unsafe", s.Name, def.ID())
			}
		}
		if s.Compensate != nil && i == last && s.Each == nil {
			w.At(at, "", "the compensate of the step %q of %s is never reached: no step comes after it that could be rejected", s.Name, def.ID())
		}
	}
}
