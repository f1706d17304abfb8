package contracttest

import (
	"context"
	"encoding/json"

	"github.com/spillway-mcp/spillway/contract"
)

// Bounds of the suite's reads.
const (
	CountMaxPages    = 5    // of count_records
	ValuesMaxRecords = 25   // of sum_records
	ListMaxBytes     = 2000 // of list_records
)

var recordParams = json.RawMessage(`{"type":"object","properties":{` +
	`"collection":{"type":"string"},"label":{"type":"string","default":""}},` +
	`"required":["collection"],"additionalProperties":false}`)

func (h *upstreamClient) fetch(ctx context.Context, at *contract.Invocation) ([]byte, error) {
	var p struct{ Collection string }
	if err := json.Unmarshal(at.Params, &p); err != nil {
		return nil, err
	}
	path := "/records/" + p.Collection
	if at.Cursor != nil {
		path += "?cursor=" + *at.Cursor
	}
	return h.send(ctx, "GET", path, nil)
}

// count counts stable records: those with draft and prerelease both false.
func (h *upstreamClient) count() contract.Spec {
	return contract.Spec{
		Name: OpCount, Version: "1.0", Title: "Count stable records", Scope: "Counts the records of one collection that are neither drafts nor prereleases.",
		Effects: contract.Reads, Upstream: h.host, Params: recordParams,
		Bounds: contract.Bounds{MaxPages: CountMaxPages},
		Read: &contract.ReadSpec{
			Fetch: h.fetch, Items: "page.items", Next: "page.next", Dedupe: "id",
			Where:       "!draft && !prerelease",
			Fields:      map[string]string{"draft": "boolean", "prerelease": "boolean"},
			Aggregates:  []contract.Aggregate{{Name: "stable", Op: contract.Count}},
			Consistency: contract.Live,
		},
	}
}

// values sums amounts and projects ids.
func (h *upstreamClient) values() contract.Spec {
	return contract.Spec{
		Name: OpValues, Version: "1.0", Title: "Sum records", Scope: "Adds up the amounts of the records of one collection.",
		Effects: contract.Reads, Upstream: h.host, Params: recordParams,
		Bounds: contract.Bounds{MaxRecords: ValuesMaxRecords, MaxPages: 1000},
		Read: &contract.ReadSpec{
			Fetch: h.fetch, Items: "page.items", Next: "page.next", Dedupe: "id",
			Aggregates: []contract.Aggregate{
				{Name: "count", Op: contract.Count},
				{Name: "total", Op: contract.Sum, Of: "amount"},
				{Name: "least", Op: contract.Min, Of: "amount"},
				{Name: "ids", Op: contract.Project, Of: "id"},
			},
			Consistency: contract.Snapshot,
		},
	}
}

func (h *upstreamClient) quick() contract.Spec {
	s := h.values()
	s.Name, s.Title, s.Scope = OpQuick, "Count records quickly", "Counts the records of one collection within half a second."
	s.Bounds = contract.Bounds{Deadline: SlowDeadline}
	s.Read.Aggregates = []contract.Aggregate{{Name: "count", Op: contract.Count}}
	return s
}

func (h *upstreamClient) list() contract.Spec {
	s := h.values()
	s.Name, s.Title, s.Scope = OpList, "List records", "Lists the records of one collection."
	s.Bounds = contract.Bounds{MaxResultBytes: ListMaxBytes}
	s.Read.Aggregates = []contract.Aggregate{{Name: "records", Op: contract.Project}}
	return s
}
