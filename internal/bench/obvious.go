package bench

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	gojmespath "github.com/jmespath/go-jmespath"
	"github.com/klauspost/compress/zstd"
)

const obviousParts = "encoding/json to maps, go-jmespath, jsontext's RFC 8785, zstd"

var (
	obviousKeep    = sync.OnceValues(func() (*gojmespath.JMESPath, error) { return gojmespath.Compile(keep) })
	obviousEncoder = sync.OnceValues(func() (*zstd.Encoder, error) { return zstd.NewWriter(nil) })
)

// obvious is what one would write first: decode to maps, compare, search, cut, encode, hash, compress. It is held to
// what a correct answer needs and no more: it has no note of its own, no rule but this one, and it rounds integers.
func obvious(result []byte) ([]byte, error) {
	var whole map[string]any
	if err := json.Unmarshal(result, &whole); err != nil {
		return nil, err
	}
	block := whole["content"].([]any)[0].(map[string]any)
	var mirror any
	if err := json.Unmarshal([]byte(block["text"].(string)), &mirror); err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(mirror, whole["structuredContent"]) {
		return nil, fmt.Errorf("the copies differ")
	}

	expr, err := obviousKeep()
	if err != nil {
		return nil, err
	}
	found, err := expr.Search(mirror)
	if err != nil {
		return nil, err
	}
	rows := found.([]any)
	total := len(rows)
	rows = rows[:min(total, maxRows)]

	canonical, err := json.Marshal(map[string]any{"content": whole["content"], "structuredContent": whole["structuredContent"]})
	if err != nil {
		return nil, err
	}
	if err := (*jsontext.Value)(&canonical).Canonicalize(); err != nil {
		return nil, err
	}
	hash := sha256.Sum256(canonical)

	payload := mirror.(map[string]any)
	for {
		kept := map[string]any{
			"_spillway":          fmt.Sprintf("Showing %d of %d rows. Full result stored as r_%x.", len(rows), total, hash[:6]),
			"total_count":        payload["total_count"],
			"incomplete_results": payload["incomplete_results"],
			"rows":               rows,
		}
		text, err := json.Marshal(kept)
		if err != nil {
			return nil, err
		}
		if len(text) > maxBytes && len(rows) > 1 {
			rows = rows[:len(rows)/2]
			continue
		}
		block["text"], whole["structuredContent"] = string(text), kept
		break
	}
	reduced, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	enc, err := obviousEncoder()
	if err != nil {
		return nil, err
	}
	if len(enc.EncodeAll(result, nil)) == 0 {
		return nil, fmt.Errorf("nothing was compressed")
	}
	return reduced, nil
}

func obviousProject(payload []byte) error {
	var data any
	if err := json.Unmarshal(payload, &data); err != nil {
		return err
	}
	expr, err := obviousKeep()
	if err != nil {
		return err
	}
	found, err := expr.Search(data)
	if err != nil {
		return err
	}
	_, err = json.Marshal(found)
	return err
}
