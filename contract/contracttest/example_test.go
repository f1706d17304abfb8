package contracttest_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest"
)

// queue is a face of our own: callers put their calls into a queue, and one
// worker makes them. It has no way to preview.
type queue struct {
	journal contract.Store
}

func (queue) Name() string { return "queue" }

func (queue) Lacks(f contracttest.Feature) string {
	switch f {
	case contracttest.HasPreview, contracttest.HasPrepare:
		return "nobody waits for a preview at a queue"
	}
	return ""
}

func (q queue) Open(w *contracttest.World, caller string) (contracttest.Process, error) {
	// A face in Go builds on a client; one in another process starts that, and
	// gives it OperationsYAML and the world's URL.
	client, err := contracttest.NewGoProcess(w, caller, q.journal, http.DefaultTransport)
	if err != nil {
		return nil, err
	}
	w1 := &worker{client: client, jobs: make(chan job)}
	go w1.work()
	return w1, nil
}

type job struct {
	ctx    context.Context
	call   contracttest.Call
	answer chan contracttest.Answer
}

type worker struct {
	client *contracttest.GoProcess
	jobs   chan job
}

func (w *worker) work() {
	for j := range w.jobs {
		j.answer <- w.client.Do(j.ctx, j.call)
	}
}

func (w *worker) Do(ctx context.Context, call contracttest.Call) contracttest.Answer {
	j := job{ctx, call, make(chan contracttest.Answer, 1)}
	w.jobs <- j
	return <-j.answer
}

func (w *worker) Kill()  {}
func (w *worker) Close() { close(w.jobs) }

// In a test it is contracttest.Run(t, queue{journal}); a single case can be
// asked for, too. A face that breaks a rule is told which.
func ExampleRun() {
	good := queue{contract.NewMemory()}
	for _, c := range contracttest.Cases() {
		if c.ID != "M08" && c.ID != "M12" {
			continue
		}
		switch r := c.Check(good); {
		case r.Skipped != "":
			fmt.Println(r.ID, "skipped:", r.Skipped)
		default:
			fmt.Println(r.ID, "failures:", len(r.Failures))
		}
	}

	for _, b := range contracttest.Broken() {
		if b.Rule == "C-14" {
			fmt.Println("a face that", b.Name, "fails", b.Fails)
		}
	}
	// Output:
	// M08 failures: 0
	// M12 skipped: queue has no prepare: nobody waits for a preview at a queue
	// a face that derives the key from the parameters fails [M08 K52]
}
