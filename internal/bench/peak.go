package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/reduce"
)

// PeakSize is the size of the document of which Peak shows the memory; its envelope holds it twice, once escaped.
const PeakSize = 50_000_000

// Memory is the most memory that a process held while it reduced one result, reading included.
type Memory struct {
	Envelope int   `json:"envelope_bytes"`
	Ours     int64 `json:"spillway_bytes"`
	Theirs   int64 `json:"other_bytes"`
}

// ErrNoPeak says that this system is not one on which the memory of a process is measured.
var ErrNoPeak = errors.New("the memory of a process is measured on Linux only")

// Peak reduces a result with a document of size bytes in a process of its own for each way. child is the command,
// with arguments, that calls PeakChild with the two arguments that are added to it and prints what it returns.
func Peak(ctx context.Context, size int, child ...string) (Memory, error) {
	if _, err := ownPeak(); err != nil {
		return Memory{}, err
	}
	dir, err := os.MkdirTemp("", "spillway-bench-")
	if err != nil {
		return Memory{}, err
	}
	defer os.RemoveAll(dir)
	envelope := fixture.Result(fixture.Payload(size), fixture.Options{})
	file := filepath.Join(dir, "result.json")
	if err := os.WriteFile(file, envelope, 0o600); err != nil {
		return Memory{}, err
	}
	m := Memory{Envelope: len(envelope)}
	for side, into := range map[string]*int64{"ours": &m.Ours, "theirs": &m.Theirs} {
		cmd := exec.CommandContext(ctx, child[0], append(child[1:], side, file)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err == nil {
			*into, err = strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
		}
		if err != nil {
			return Memory{}, fmt.Errorf("memory of %s: %w", side, err)
		}
	}
	return m, nil
}

// PeakChild reads a result from a file, reduces it, "ours" or "theirs", and returns the most bytes of memory that this
// process ever held.
func PeakChild(side, file string) (int64, error) {
	result, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	if side == "theirs" {
		_, err = obvious(result)
	} else {
		var r *reduce.Reducer
		if r, err = reducer(); err == nil {
			_, _, err = ours(r, result, nil)
		}
	}
	if err != nil {
		return 0, err
	}
	return ownPeak()
}
