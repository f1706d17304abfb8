package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/operation"
)

// counted is what a way to count says of itself.
type counted struct {
	Stable   int
	Examined int
	Seconds  float64
	Live     [2]int // bytes of the heap in use after a collection, at page 10, and at the last hundred
	Peak     int    // resident bytes at most; 0 where the system does not tell
}

// counter counts in one way and writes what it counted.
func counter(out io.Writer, way, url string) error {
	var c counted
	at := func(page int) {
		if page == 10 {
			c.Live[0] = live()
		}
		if page%100 == 0 {
			c.Live[1] = live()
		}
	}
	began := time.Now()
	var err error
	switch way {
	case "loop":
		c.Stable, c.Examined, err = loop(url, at)
	default:
		c.Stable, c.Examined, err = operate(url, way, at)
	}
	if err != nil {
		return err
	}
	c.Seconds = time.Since(began).Seconds()
	c.Peak = peak()
	return json.NewEncoder(out).Encode(c)
}

func loop(url string, at func(page int)) (stable, examined int, err error) {
	for n := 1; ; n++ {
		resp, err := http.Get(url + "/releases?page=" + strconv.Itoa(n))
		if err != nil {
			return 0, 0, err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return 0, 0, err
		}
		var page struct {
			Items []struct{ Draft, Prerelease bool }
			Last  bool
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return 0, 0, err
		}
		for _, r := range page.Items {
			if examined++; !r.Draft && !r.Prerelease {
				stable++
			}
		}
		if at(n); page.Last {
			return stable, examined, nil
		}
	}
}

const countYAML = `
operations:
  count_stable@1.0:
    scope: All releases that are neither drafts nor prereleases.
    effects: read
    bounds: {max_pages: 100000, max_records: 100000000, deadline: 1h}
    read:
      call: {http: {url: "URL/releases", query: {page: "cursor || '1'"}}}
      items: page.items
      end: page.last
      where: "!draft && !prerelease"
      concurrency: WAY
      aggregate: {stable: count}
`

// operate counts by an operation; way is how many pages are fetched side by
// side.
func operate(url, way string, at func(page int)) (stable, examined int, err error) {
	text := strings.NewReplacer("URL", url, "WAY", way).Replace(countYAML)
	set, err := operation.Parse("operations.yaml", []byte(text), operation.Options{})
	if err != nil {
		return 0, 0, err
	}
	c, err := contract.New(contract.Options{Caller: "counting", Definitions: set.Definitions})
	if err != nil {
		return 0, 0, err
	}
	r, err := c.Do(context.Background(), set.Definitions[0], contract.Call{Progress: func(p contract.Progress) { at(p.Pages) }})
	if err != nil {
		return 0, 0, err
	}
	var got struct{ Stable int }
	if err := json.Unmarshal(r.Result, &got); err != nil {
		return 0, 0, err
	}
	return got.Stable, r.RecordsExamined, nil
}

func live() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// peak reads the high-water mark of this process's resident memory, on Linux.
func peak() int {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(raw) {
		var kB int
		if n, _ := fmt.Sscanf(string(line), "VmHWM: %d kB", &kB); n == 1 {
			return kB << 10
		}
	}
	return 0
}
