package upstream

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// Collection is a list of records in pages. The cursor of page n is "p" and n;
// the last page's next is null.
type Collection struct {
	Pages [][]json.RawMessage
	// Next overrides what follows page n, counted from 1: a JSON value.
	Next map[int]string
}

// Pages cuts records into pages of a size; no records make one empty page.
func Pages(size int, records ...json.RawMessage) [][]json.RawMessage {
	pages := [][]json.RawMessage{}
	for len(records) > size {
		pages, records = append(pages, records[:size]), records[size:]
	}
	return append(pages, records)
}

// PutCollection sets what GET /records/{name} pages through.
func (f *Fake) PutCollection(name string, c Collection) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.collections[name] = &c
}

func pageOf(cursor string) int {
	if cursor == "" {
		return 1
	}
	n, err := strconv.Atoi(strings.TrimPrefix(cursor, "p"))
	if err != nil {
		return 0
	}
	return n
}

func (f *Fake) page(a Arrival, name string) reply {
	c := f.collections[name]
	if c == nil {
		return problem(http.StatusNotFound, "no such collection")
	}
	n := pageOf(a.Cursor)
	if n < 1 || n > len(c.Pages) {
		return problem(http.StatusBadRequest, "no such cursor")
	}
	next := "null"
	if n < len(c.Pages) {
		next = `"p` + strconv.Itoa(n+1) + `"`
	}
	if over, ok := c.Next[n]; ok {
		next = over
	}
	items := c.Pages[n-1]
	if items == nil {
		items = []json.RawMessage{}
	}
	body, err := json.Marshal(map[string]any{"items": items, "next": json.RawMessage(next)})
	if err != nil {
		return problem(http.StatusInternalServerError, err.Error())
	}
	return reply{status: http.StatusOK, body: body}
}
