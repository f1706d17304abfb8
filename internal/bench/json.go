package bench

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// Canonical is the canonical form of a payload of size bytes, from its text to its text.
func Canonical(size int) Work {
	payload := fixture.Payload(size)
	var doc jsontape.Doc
	var out []byte
	var copied jsontext.Value
	return Work{
		Name: "canonical form of " + megabytes(size), Size: len(payload), Against: "jsontext's Canonicalize",
		Ours: func() error {
			if err := doc.Reset(payload, jsontape.Limits{}); err != nil {
				return err
			}
			out = doc.Root().AppendCanonical(out[:0])
			return nil
		},
		Theirs: func() error {
			copied = append(copied[:0], payload...) // it works in place
			return copied.Canonicalize()
		},
	}
}

// Brackets is parsing 200 kB of arrays within arrays, 990 deep, against encoding/json, which keeps the arrays, or with
// valid against its validator, which keeps nothing.
func Brackets(valid bool) Work {
	const depth, size = 990, 200_000
	nest := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	source := []byte("[" + strings.TrimSuffix(strings.Repeat(nest+",", size/len(nest)), ",") + "]")
	var doc jsontape.Doc
	w := Work{
		Name: "200 kB of brackets, 990 deep", Size: len(source), Against: "encoding/json to any",
		Ours: func() error { return doc.Reset(source, jsontape.Limits{}) },
		Theirs: func() error {
			var data any
			return json.Unmarshal(source, &data)
		},
	}
	if valid {
		w.Name, w.Against = "the same brackets", "encoding/json's Valid, which keeps nothing"
		w.Theirs = func() error {
			if !json.Valid(source) {
				return errors.New("refused")
			}
			return nil
		}
	}
	return w
}
