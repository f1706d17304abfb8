package contract

import (
	"encoding/json"
	"time"
)

// describe writes the definition as data. Functions show as whether they are
// there: their behaviour belongs to the major version.
func (d *Definition) describe() []byte {
	s := &d.spec
	type step struct {
		Name       string       `json:"name"`
		Title      string       `json:"title,omitempty"`
		Effect     Effects      `json:"effect"`
		Idempotent Idempotency  `json:"idempotent"`
		Retention  string       `json:"key_retention,omitempty"`
		Key        KeyPlacement `json:"key"`
		KeyName    string       `json:"key_name,omitempty"`
		Items      bool         `json:"items,omitempty"`
		Classify   bool         `json:"classify,omitempty"`
		Reconcile  string       `json:"reconcile"`
		Compensate string       `json:"compensate"`
	}
	type precondition struct {
		Text     string `json:"text,omitempty"`
		Checked  bool   `json:"checked"`
		Enforced bool   `json:"enforced"`
	}
	type read struct {
		Items           string            `json:"items"`
		Next            string            `json:"next,omitempty"`
		End             string            `json:"end,omitempty"`
		EmptyCursorEnds bool              `json:"empty_cursor_ends,omitempty"`
		Where           string            `json:"where,omitempty"`
		Aggregates      []Aggregate       `json:"aggregates"`
		Dedupe          string            `json:"dedupe,omitempty"`
		Invalid         InvalidPolicy     `json:"invalid"`
		Fields          map[string]string `json:"fields,omitempty"`
		Consistency     Consistency       `json:"consistency"`
		Concurrency     int               `json:"concurrency,omitempty"`
	}
	type mutation struct {
		Steps        []step        `json:"steps"`
		Precondition *precondition `json:"precondition,omitempty"`
		Preview      bool          `json:"preview"`
		Settle       string        `json:"settle"`
		Retention    string        `json:"retention"`
	}
	out := struct {
		Name       string          `json:"name"`
		Version    string          `json:"version"`
		Title      string          `json:"title,omitempty"`
		Scope      string          `json:"scope"`
		Upstream   string          `json:"upstream,omitempty"`
		Target     bool            `json:"target,omitempty"`
		Effects    Effects         `json:"effects"`
		Idempotent Idempotency     `json:"idempotent"`
		Retention  string          `json:"key_retention,omitempty"`
		Replay     string          `json:"replay"`
		Reconcile  string          `json:"reconcile"`
		Params     json.RawMessage `json:"params"`
		Result     json.RawMessage `json:"result,omitempty"`
		Bounds     struct {
			MaxPages       int    `json:"max_pages"`
			MaxRecords     int    `json:"max_records"`
			MaxResultBytes int    `json:"max_result_bytes"`
			Deadline       string `json:"deadline"`
		} `json:"bounds"`
		Retry struct {
			Max     int      `json:"max"`
			Backoff string   `json:"backoff,omitempty"`
			On      []string `json:"on,omitempty"`
		} `json:"retry"`
		Read     *read     `json:"read,omitempty"`
		Mutation *mutation `json:"mutation,omitempty"`
	}{
		Name: s.Name, Version: s.Version, Title: s.Title, Scope: s.Scope, Upstream: s.Upstream, Target: s.Target != nil,
		Effects: s.Effects, Idempotent: s.Idempotent, Retention: retentionText(s.KeyRetention),
		Replay: d.Replay(), Reconcile: d.Reconciles(), Params: s.Params, Result: s.Result,
	}
	out.Bounds.MaxPages, out.Bounds.MaxRecords = s.Bounds.MaxPages, s.Bounds.MaxRecords
	out.Bounds.MaxResultBytes, out.Bounds.Deadline = s.Bounds.MaxResultBytes, s.Bounds.Deadline.String()
	out.Retry.Max, out.Retry.On = s.Retry.Max, s.Retry.On
	if s.Retry.Max > 0 {
		out.Retry.Backoff = s.Retry.Backoff.String()
	}
	if r := s.Read; r != nil {
		out.Read = &read{r.Items, r.Next, r.End, r.EmptyCursorEnds, r.Where, r.Aggregates, r.Dedupe, r.Invalid, r.Fields, r.Consistency, r.Concurrency}
	}
	if m := s.Mutation; m != nil {
		out.Mutation = &mutation{Preview: m.Preview != nil, Settle: m.Settle.String(), Retention: m.Retention.String()}
		if p := m.Precondition; p != nil {
			out.Mutation.Precondition = &precondition{p.Text, p.Current != nil, p.Enforced}
		}
		for i := range m.Steps {
			st := &m.Steps[i]
			out.Mutation.Steps = append(out.Mutation.Steps, step{
				Name: st.Name, Title: st.Title, Effect: d.effect(st), Idempotent: d.idempotency(st),
				Retention: retentionText(st.Retention), Key: st.Key, KeyName: st.KeyName,
				Items: st.Each != nil, Classify: st.Classify != nil,
				Reconcile: declared(st.Reconcile != nil), Compensate: declared(st.Compensate != nil),
			})
		}
	}
	return encode(out)
}

func declared(ok bool) string {
	if ok {
		return "declared"
	}
	return "none"
}

func retentionText(t time.Duration) string {
	switch t {
	case 0:
		return ""
	case Forever:
		return "forever"
	}
	return t.String()
}
