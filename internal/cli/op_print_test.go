package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// A long read says on a terminal how far it has come, now and then and not at
// every page; a program that reads stderr is told nothing.
func TestProgressOfALongRead(t *testing.T) {
	var b strings.Builder
	if progressOn(&b) != nil {
		t.Error("what is no terminal is told of progress")
	}
	synctest.Test(t, func(t *testing.T) {
		tell := progressTo(&b)
		for page := 1; page <= 100; page++ {
			time.Sleep(50 * time.Millisecond)
			tell(contract.Progress{Pages: page, RecordsExamined: 100 * page})
		}
	})
	want := "spillway: 4,000 records on 40 pages so far\nspillway: 8,000 records on 80 pages so far\n"
	if b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}
}
