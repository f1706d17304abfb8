package proxy

import (
	"context"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/operation/mcpface"
)

// rows are real operations, of a table whose server answers when the
// transcript says so.
type rows struct {
	*mcpface.Face
	answer  chan error
	changed chan struct{}
}

type row struct {
	Name string `json:"name"`
}

type madeRow struct {
	ID string `json:"id"`
}

func newRows(t *testing.T) *rows {
	r := &rows{answer: make(chan error), changed: make(chan struct{})}
	op, err := contract.Mutation[row, madeRow]{
		Name: "create_row", Version: "1.0", Scope: "One row.", Effects: contract.Creates,
		Submit: func(ctx context.Context, _ *contract.Invocation, p row) (madeRow, error) {
			select {
			case err := <-r.answer:
				return madeRow{"r-" + p.Name}, err
			case <-ctx.Done():
				return madeRow{}, ctx.Err()
			}
		},
		Reconcile: func(context.Context, *contract.Invocation, row) (contract.FindingState, madeRow, error) {
			return contract.Present, madeRow{"r-found"}, nil
		},
	}.Define()
	if err != nil {
		t.Fatal(err)
	}
	key, err := contract.NewSealer()
	if err != nil {
		t.Fatal(err)
	}
	store, n := contract.NewMemory(), 0
	c, err := contract.New(contract.Options{
		Store: store, Sealer: key, Definitions: []*contract.Definition{op.Definition},
		NewKey: func() string { n++; return "key-" + strings.Repeat("i", n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Face, err = mcpface.New(mcpface.Options{Client: c, Sealer: key, Store: store, Name: ToolName}); err != nil {
		t.Fatal(err)
	}
	return r
}

// do lets the table's server answer.
func (r *rows) do(what string) bool {
	switch what {
	case "the row is made":
		r.answer <- nil
	case "the row is refused":
		r.answer <- &contract.Failure{Rejected: true, Reason: "name_taken", Message: "the name is taken"}
	case "the operations change":
		r.changed <- struct{}{}
	case "the answer is lost":
		r.answer <- &contract.Failure{Message: "connection reset"}
	default:
		return false
	}
	return true
}
