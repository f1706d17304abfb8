package bench

import (
	"fmt"

	"github.com/klauspost/compress/s2"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/reduce"
)

// The rule of the benchmarks: a projection, a row cap and a byte cap.
const (
	keep     = "items[*].{repo: repository.full_name, path: path, url: html_url}"
	maxRows  = 25
	maxBytes = 20_000
)

func reducer() (*reduce.Reducer, error) {
	rows := maxRows
	return reduce.Compile(reduce.Rule{Keep: keep, MaxRows: &rows, MaxBytes: maxBytes})
}

// ours reduces a result as the proxy does and compresses the original for the stash; compressed is memory to reuse.
func ours(r *reduce.Reducer, result, compressed []byte) (reduce.Outcome, []byte, error) {
	out := r.Reduce(result, reduce.Env{Expand: "reducer_expand"})
	if out.Err != nil {
		return out, nil, out.Err
	}
	if out.Ref == "" {
		return out, nil, fmt.Errorf("the result was not reduced: %q", out.Faults)
	}
	return out, s2.Encode(compressed[:cap(compressed)], result), nil
}

// Reduce is the whole work on a result of about size bytes, text and structured copies together: unescape, parse,
// mirror check, project, cap, canonical hash, and compression of the original for the stash.
func Reduce(size int) (Work, error) {
	result := fixture.Sized(size, fixture.Options{})
	r, err := reducer()
	if err != nil {
		return Work{}, err
	}
	var compressed []byte
	return Work{
		Name: "reduce a result of " + megabytes(size), Size: len(result), Against: obviousParts,
		Ours: func() (err error) {
			_, compressed, err = ours(r, result, compressed)
			return err
		},
		Theirs: func() error { _, err := obvious(result); return err },
	}, nil
}

// Project is parsing a payload of size bytes and projecting it, no more.
func Project(size int) (Work, error) {
	payload := fixture.Payload(size)
	expr, err := jmespath.Compile(keep)
	if err != nil {
		return Work{}, err
	}
	var doc jsontape.Doc
	var out []byte
	return Work{
		Name: "parse and project " + megabytes(size), Size: len(payload), Against: "encoding/json, go-jmespath",
		Ours: func() error {
			if err := doc.Reset(payload, jsontape.Limits{}); err != nil {
				return err
			}
			out, err = expr.AppendJSON(out[:0], doc.Root())
			return err
		},
		Theirs: func() error { return obviousProject(payload) },
	}, nil
}

func megabytes(size int) string {
	if size%1_000_000 != 0 {
		return fmt.Sprintf("%d kB", size/1000)
	}
	return fmt.Sprintf("%d MB", size/1_000_000)
}
