package reduce

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// Shape is the kind of write that an envelope confirms (RED-30).
type Shape string

// The shapes of an envelope. Create and Update differ in name only: both
// answer one written thing or a list of them.
const (
	ShapeCreate Shape = "create"
	ShapeUpdate Shape = "update"
	ShapeDelete Shape = "delete"
)

// Confirmation says how to confirm a write.
type Confirmation struct {
	// Shape is the kind of write; "" counts as ShapeUpdate.
	Shape Shape
	// LightKey names fields to add after id, url and name; in a bulk
	// envelope they make items of ids (RED-31).
	LightKey []string
	// StatusCode is the upstream's; 0 takes it from the payload's
	// status_code or integer status, else 200, which means only that the
	// call succeeded (RED-32).
	StatusCode int
	// Token, if not empty, is the continuation token, by which the caller
	// can get the whole payload; without it a bulk envelope lists its ids
	// (RED-34).
	Token string
	// Args is the JSON of the call's arguments, where a delete finds its id
	// if the payload has none.
	Args []byte
}

// Confirm answers a write with a lean confirmation in place of payload, the
// JSON of what the server would have answered: its echo. For one written
// thing
//
//	{"id":7,"url":"https://…","name":"edge-7","status_code":201,"data_size":718,"continuation_token":"r_9f2c41d08a3b"}
//
// and for a list of them
//
//	{"accepted":60,"status_code":201,"data_size":43190,"continuation_token":"r_9f2c41d08a3b"}
//
// It reports false, and the payload should be sent whole, where a
// confirmation would lose what was written: without a token, if there is no
// identifier, or in a list not every one (RED-34). It does not compare sizes.
func Confirm(payload []byte, c Confirmation) (envelope []byte, ok bool, err error) {
	d, err := jsontape.Parse(payload)
	if err != nil {
		return nil, false, fmt.Errorf("the payload cannot be confirmed: %w", err)
	}
	envelope, ok = c.envelope(lookThrough(d.Root()), d.Root())
	return envelope, ok, nil
}

// The members that an identifier, a URL and a name are taken from, the first
// that is there (RED-31).
var (
	idNames   = []string{"id", "pk", "uuid"}
	urlNames  = []string{"url", "html_url", "self"}
	nameNames = []string{"name", "display", "title"}
)

// envelope confirms v, which stands in payload.
func (c *Confirmation) envelope(v, payload jsontape.Value) ([]byte, bool) {
	if c.Shape == ShapeDelete {
		return c.deleted(v, payload)
	}
	if list, ok := writtenList(v); ok {
		return c.bulk(list, v, payload)
	}
	if v.Kind() != jsontape.Object {
		return nil, false
	}
	return c.single(v, payload)
}

// writtenList is the list that a bulk write answers with: the payload, or the
// only array of an object that is no written thing itself.
func writtenList(v jsontape.Value) (jsontape.Value, bool) {
	if v.Kind() == jsontape.Array {
		return v, true
	}
	if v.Kind() != jsontape.Object || identifier(v).Exists() {
		return jsontape.Value{}, false
	}
	var list jsontape.Value
	for it := v.Iter(); it.Next(); {
		if it.Value().Kind() != jsontape.Array || isFailures(it.Key()) {
			continue
		}
		if list.Exists() {
			return jsontape.Value{}, false
		}
		list = it.Value()
	}
	return list, list.Exists()
}

func (c *Confirmation) single(v, payload jsontape.Value) ([]byte, bool) {
	id := identifier(v)
	if !id.Exists() && c.Token == "" {
		return nil, false
	}
	dst := c.appendFields([]byte{'{'}, v)
	return c.finish(dst, payload), true
}

// appendFields writes id, url, name and the light keys of one written thing,
// each followed by a comma; a missing one is skipped.
func (c *Confirmation) appendFields(dst []byte, v jsontape.Value) []byte {
	written := make([]string, 0, 3+len(c.LightKey))
	add := func(name string, val jsontape.Value) {
		if val.Exists() && !slices.Contains(written, name) {
			written = append(written, name)
			dst = append(jsontape.AppendQuote(dst, name), ':')
			dst = append(val.AppendCompact(dst), ',')
		}
	}
	add("id", identifier(v))
	add("url", firstString(v, urlNames))
	add("name", firstString(v, nameNames))
	for _, key := range c.LightKey {
		if !reserved(key) {
			add(key, v.Get(key))
		}
	}
	return dst
}

// reserved names the members that the envelope itself gives a meaning.
func reserved(key string) bool {
	switch key {
	case "status_code", "data_size", "continuation_token", "accepted", "failed", "deleted", "ids", "items":
		return true
	}
	return false
}

func (c *Confirmation) bulk(list, v, payload jsontape.Value) ([]byte, bool) {
	var ok, failed []jsontape.Value
	for it := list.Iter(); it.Next(); {
		if reportsFailure(it.Value()) {
			failed = append(failed, it.Value())
		} else {
			ok = append(ok, it.Value())
		}
	}
	if v.Kind() == jsontape.Object {
		for it := v.Iter(); it.Next(); {
			if isFailures(it.Key()) && it.Value().Kind() == jsontape.Array {
				failed = it.Value().Elements(failed)
			}
		}
	}
	dst := append([]byte(`{"accepted":`), strconv.Itoa(len(ok))...)
	dst = append(dst, ',')
	if len(failed) > 0 {
		dst = append(dst, `"failed":[`...)
		for _, f := range failed {
			dst = append(f.AppendCompact(dst), ',')
		}
		dst = append(closeContainer(dst, false), ',')
	}
	switch {
	case len(c.LightKey) > 0:
		dst = append(dst, `"items":[`...)
		for _, item := range ok {
			if c.Token == "" && !identifier(item).Exists() {
				return nil, false
			}
			dst = append(closeContainer(c.appendFields(append(dst, '{'), item), true), ',')
		}
		dst = append(closeContainer(dst, false), ',')
	case c.Token == "":
		dst = append(dst, `"ids":[`...)
		for _, item := range ok {
			id := identifier(item)
			if !id.Exists() {
				return nil, false
			}
			dst = append(id.AppendCompact(dst), ',')
		}
		dst = append(closeContainer(dst, false), ',')
	}
	return c.finish(dst, payload), true
}

func (c *Confirmation) deleted(v, payload jsontape.Value) ([]byte, bool) {
	dst := []byte(`{"id":`)
	if id := identifier(v); id.Exists() {
		dst = id.AppendCompact(dst)
	} else if id := c.argumentID(); id != nil {
		dst = append(dst, id...)
	} else {
		return nil, false
	}
	dst = append(dst, `,"deleted":true,"status_code":`...)
	return append(strconv.AppendInt(dst, int64(c.status(payload)), 10), '}'), true
}

// argumentID is the id that a delete was called with: id, pk or uuid, or the
// only argument that ends in one of them.
func (c *Confirmation) argumentID() []byte {
	d, err := jsontape.Parse(c.Args)
	if err != nil {
		return nil
	}
	args := d.Root()
	if id := identifier(args); id.Exists() {
		return id.AppendCompact(nil)
	}
	var found jsontape.Value
	for it := args.Iter(); it.Next(); {
		if !endsInID(it.Key().Str()) || !isIdentifier(it.Value()) {
			continue
		}
		if found.Exists() {
			return nil
		}
		found = it.Value()
	}
	if !found.Exists() {
		return nil
	}
	return found.AppendCompact(nil)
}

func endsInID(name string) bool {
	for _, suffix := range []string{"_id", "Id", "ID", "_uuid", "_pk"} {
		if len(name) > len(suffix) && name[len(name)-len(suffix):] == suffix {
			return true
		}
	}
	return false
}

func (c *Confirmation) finish(dst []byte, payload jsontape.Value) []byte {
	dst = append(dst, `"status_code":`...)
	dst = strconv.AppendInt(dst, int64(c.status(payload)), 10)
	dst = append(dst, `,"data_size":`...)
	dst = strconv.AppendInt(dst, int64(payload.CompactLen()), 10)
	if c.Token != "" {
		dst = append(dst, `,"continuation_token":`...)
		dst = jsontape.AppendQuote(dst, c.Token)
	}
	return append(dst, '}')
}

// status is the upstream's status code. A status string of the application's
// own never becomes it (RED-32).
func (c *Confirmation) status(payload jsontape.Value) int {
	if c.StatusCode != 0 {
		return c.StatusCode
	}
	v := lookThrough(payload)
	for _, name := range []string{"status_code", "status"} {
		if s := v.Get(name); s.Kind() == jsontape.Number {
			if n, err := strconv.Atoi(string(s.Raw())); err == nil && 100 <= n && n <= 599 {
				return n
			}
		}
	}
	return 200
}

// identifier is the value that names a written thing: a string that is not
// empty, or a number; 0 is one.
func identifier(v jsontape.Value) jsontape.Value {
	for _, name := range idNames {
		if id := v.Get(name); isIdentifier(id) {
			return id
		}
	}
	return jsontape.Value{}
}

func isIdentifier(v jsontape.Value) bool {
	return v.Kind() == jsontape.Number || v.Kind() == jsontape.String && len(v.Raw()) > 2
}

func firstString(v jsontape.Value, names []string) jsontape.Value {
	for _, name := range names {
		if s := v.Get(name); s.Kind() == jsontape.String && len(s.Raw()) > 2 {
			return s
		}
	}
	return jsontape.Value{}
}

// isFailures names a member beside the written list that reports items which
// were not written.
func isFailures(key jsontape.Value) bool {
	return key.Is("failed") || key.Is("failures") || key.Is("errors") || key.Is("rejected")
}

// reportsFailure recognises an item of a bulk answer that the upstream itself
// reports as failed. Such an item stays whole.
func reportsFailure(v jsontape.Value) bool {
	if v.Kind() != jsontape.Object {
		return false
	}
	for _, name := range []string{"error", "errors"} {
		switch e := v.Get(name); e.Kind() {
		case jsontape.String:
			if len(e.Raw()) > 2 {
				return true
			}
		case jsontape.Object, jsontape.Array:
			if e.Len() > 0 {
				return true
			}
		case jsontape.Number, jsontape.True:
			return true
		}
	}
	for _, name := range []string{"success", "ok", "accepted"} {
		if v.Get(name).Kind() == jsontape.False {
			return true
		}
	}
	for _, name := range []string{"status", "state", "result"} {
		s := v.Get(name)
		if s.Is("failed") || s.Is("error") || s.Is("rejected") {
			return true
		}
	}
	for _, name := range []string{"status_code", "status"} {
		if s := v.Get(name); s.Kind() == jsontape.Number {
			if n, err := strconv.Atoi(string(s.Raw())); err == nil && 400 <= n && n <= 599 {
				return true
			}
		}
	}
	return false
}
