package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spillway-mcp/spillway/internal/fixture"
)

// PeakSize is the size of the document of which Peak shows the memory; its envelope holds it twice, once escaped.
const PeakSize = 50_000_000

// Memory is the most memory that a process held while it reduced one result, reading included.
type Memory struct {
	Envelope int   `json:"envelope_bytes"`
	Ours     int64 `json:"spillway_bytes"`
	Theirs   int64 `json:"other_bytes"`
}

// Peak reduces a result with a document of size bytes in a process of its own for each way. child is the command,
// with arguments, that calls PeakChild with the two arguments that are added to it. It returns false where this system
// does not tell how much memory a process took.
func Peak(ctx context.Context, size int, child ...string) (Memory, bool, error) {
	dir, err := os.MkdirTemp("", "spillway-bench-")
	if err != nil {
		return Memory{}, false, err
	}
	defer os.RemoveAll(dir)
	envelope := fixture.Result(fixture.Payload(size), fixture.Options{})
	file := filepath.Join(dir, "result.json")
	if err := os.WriteFile(file, envelope, 0o600); err != nil {
		return Memory{}, false, err
	}
	m := Memory{Envelope: len(envelope)}
	for side, into := range map[string]*int64{"ours": &m.Ours, "theirs": &m.Theirs} {
		cmd := exec.CommandContext(ctx, child[0], append(child[1:], side, file)...)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return Memory{}, false, fmt.Errorf("memory of %s: %w", side, err)
		}
		peak, ok := peakOf(cmd.ProcessState)
		if !ok {
			return Memory{}, false, nil
		}
		*into = peak
	}
	return m, true, nil
}

// PeakChild reads a result from a file and reduces it, "ours" or "theirs".
func PeakChild(side, file string) error {
	result, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if side == "theirs" {
		_, err = obvious(result)
		return err
	}
	r, err := reducer()
	if err != nil {
		return err
	}
	_, _, err = ours(r, result, nil)
	return err
}
