package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"github.com/spillway-mcp/spillway/internal/fixture"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// A set is a collection of releases in pages of ten.
type set struct {
	name string // of a generated one: "stable", "mixed" or "empty"
	dir  string // of pages in files
}

func generated() []set { return []set{{name: "stable"}, {name: "mixed"}, {name: "empty"}} }

// pages returns the pages, each a JSON array.
func (s set) pages() ([][]byte, error) {
	if s.dir != "" {
		return readPages(s.dir)
	}
	if s.name == "empty" {
		return nil, nil
	}
	var all [][]byte
	for n := range 5 {
		page := fixture.Releases(10, uint64(n+1))
		if s.name == "stable" {
			page = bytes.ReplaceAll(page, []byte(`"prerelease":true`), []byte(`"prerelease":false`))
		} else if n%2 == 0 { // and a draft here and there
			page = bytes.Replace(page, []byte(`"draft":false`), []byte(`"draft":true`), 1)
		}
		all = append(all, page)
	}
	return all, nil
}

func readPages(dir string) ([][]byte, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no pages in %s: want *.json, each an array of releases", dir)
	}
	sort.Strings(files)
	var all [][]byte
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		doc, err := jsontape.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		if doc.Root().Kind() != jsontape.Array {
			return nil, fmt.Errorf("%s: %s; want an array of releases", f, doc.Root().Kind())
		}
		all = append(all, doc.Root().AppendCompact(nil))
	}
	return all, nil
}
