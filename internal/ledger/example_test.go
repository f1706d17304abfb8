package ledger_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spillway-mcp/spillway/internal/ledger"
)

// A call is written as it ends; the statistics are read from the file.
func Example() {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ledger.jsonl")

	w, err := ledger.Open(path, nil)
	if err != nil {
		panic(err)
	}
	w.Write(&ledger.Line{
		Event: ledger.EventCall, Server: "github", Tool: "search_code", Session: "s1",
		BytesIn: 482110, BytesOut: 7023, Outcome: ledger.OutcomeReduced,
	})
	w.Write(&ledger.Line{
		Event: ledger.EventExpand, Server: "github", Tool: "search_code", Session: "s1", BytesOut: 2000,
	})
	w.Close()

	report, err := ledger.Stats(path)
	if err != nil {
		panic(err)
	}
	fmt.Println(report.All.Calls, report.All.Text.NetSaved, *report.All.Text.NetFraction, *report.All.ExpandRate)
	// Output: 1 473087 0.981284 1
}
