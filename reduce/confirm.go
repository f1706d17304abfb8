package reduce

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// Shape is the kind of write that an envelope confirms (RED-30).
type Shape string

// The shapes of an envelope. Create and Update differ in name only: both
// answer one written thing or a list of them. Delete answers one deleted
// thing; a list of them is confirmed like any list.
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
	// envelope they make items of ids (RED-31), which then grows with the
	// batch even where there is a token.
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

	usedToken bool // the envelope has it
}

// Confirm answers a write with a lean confirmation in place of payload, the
// JSON of what the server would have answered: its echo. For one written
// thing
//
//	{"id":7,"url":"https://…","name":"edge-7","status_code":201,"data_size":718,"continuation_token":"r_9f2c41d08a3b"}
//
// for a list of them
//
//	{"accepted":60,"status_code":201,"data_size":43190,"continuation_token":"r_9f2c41d08a3b"}
//
// or, without a token, {"accepted":60,"status_code":201,"data_size":43190,
// "ids":[…]}, and for a delete
//
//	{"id":7,"deleted":true,"status_code":204}
//
// It reports false, and the payload should be sent whole, where a
// confirmation would lose what the caller has to know (RED-34): without a
// token, if there is no identifier, or in a list not every one; with or
// without, if the payload says that the write failed or warns of something.
// Items of a list that failed stay in it whole, under failed. It does not
// compare sizes. The error says that the payload is not JSON, or that the
// shape is unknown.
func Confirm(payload []byte, c Confirmation) (envelope []byte, ok bool, err error) {
	switch c.Shape {
	case "", ShapeCreate, ShapeUpdate, ShapeDelete:
	default:
		return nil, false, fmt.Errorf("shape %q: allowed are create, update and delete", c.Shape)
	}
	if c.Shape == ShapeDelete && len(bytes.TrimSpace(payload)) == 0 {
		payload = []byte("null") // a delete may answer nothing
	}
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
	c.usedToken = false
	if c.status(payload) >= 400 || warns(v) || warns(payload) {
		return nil, false
	}
	if list, ok := writtenList(v); ok {
		return c.bulk(list, v, payload)
	}
	if failed(v) {
		return nil, false
	}
	if c.Shape == ShapeDelete {
		return c.deleted(v, payload)
	}
	if v.Kind() != jsontape.Object {
		return nil, false
	}
	return c.single(v, payload)
}

// writtenList is the list that a bulk write answers with: the payload, or the
// only array of an object that is no written thing itself. Arrays of failed
// items do not count.
func writtenList(v jsontape.Value) (jsontape.Value, bool) {
	if v.Kind() == jsontape.Array {
		return v, true
	}
	if v.Kind() != jsontape.Object || identifier(v).Exists() {
		return jsontape.Value{}, false
	}
	var list jsontape.Value
	for it := v.Iter(); it.Next(); {
		if it.Value().Kind() != jsontape.Array || isReport(it.Key()) || it.Key().Is("warnings") {
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
	if !identifier(v).Exists() && c.Token == "" {
		return nil, false
	}
	dst := c.appendLight(appendNames([]byte{'{'}, v), v)
	return c.finish(c.appendSize(dst, payload)), true
}

// appendNames writes id, url and name of a written thing, each followed by a
// comma; a missing one is skipped.
func appendNames(dst []byte, v jsontape.Value) []byte {
	dst = appendField(dst, "id", identifier(v))
	dst = appendField(dst, "url", firstString(v, urlNames))
	return appendField(dst, "name", firstString(v, nameNames))
}

func appendField(dst []byte, name string, v jsontape.Value) []byte {
	if !v.Exists() {
		return dst
	}
	dst = append(jsontape.AppendQuote(dst, name), ':')
	return append(v.AppendCompact(dst), ',')
}

// appendLight writes the light keys that v has, in the order given.
func (c *Confirmation) appendLight(dst []byte, v jsontape.Value) []byte {
	for i, key := range c.LightKey {
		if !reserved(key) && !slices.Contains(c.LightKey[:i], key) {
			dst = appendField(dst, key, v.Get(key))
		}
	}
	return dst
}

// reserved names the members that the envelope itself gives a meaning.
func reserved(key string) bool {
	switch key {
	case "id", "url", "name", "status_code", "data_size", "continuation_token",
		"accepted", "failed", "deleted", "ids", "items":
		return true
	}
	return false
}

func (c *Confirmation) bulk(list, v, payload jsontape.Value) ([]byte, bool) {
	var written, bad []jsontape.Value
	for it := list.Iter(); it.Next(); {
		switch item := it.Value(); {
		case failed(item):
			bad = append(bad, item)
		case warns(item):
			return nil, false
		default:
			written = append(written, item)
		}
	}
	if v.Kind() == jsontape.Object {
		for it := v.Iter(); it.Next(); {
			if isReport(it.Key()) && it.Value().Kind() == jsontape.Array {
				bad = it.Value().Elements(bad)
			}
		}
		if !settled(v, len(bad)) {
			return nil, false
		}
	}
	dst := append([]byte(`{"accepted":`), strconv.Itoa(len(written))...)
	dst = c.appendSize(append(dst, ','), payload)
	if len(bad) > 0 {
		dst = append(dst, `"failed":[`...)
		for _, item := range bad {
			dst = append(item.AppendCompact(dst), ',')
		}
		dst = append(closeContainer(dst, false), ',')
	}
	return c.appendItems(dst, written)
}

// appendItems writes what names the written things, and closes the envelope.
func (c *Confirmation) appendItems(dst []byte, written []jsontape.Value) ([]byte, bool) {
	light := len(c.LightKey) > 0
	if c.Token != "" && !light {
		return c.finish(dst), true
	}
	if light {
		dst = append(dst, `"items":[`...)
	} else {
		dst = append(dst, `"ids":[`...)
	}
	for _, item := range written {
		id := identifier(item)
		if !id.Exists() && c.Token == "" {
			return nil, false
		}
		if light {
			dst = c.appendLight(appendField(append(dst, '{'), "id", id), item)
			dst = append(closeContainer(dst, true), ',')
		} else {
			dst = append(id.AppendCompact(dst), ',')
		}
	}
	return c.finish(append(closeContainer(dst, false), ',')), true
}

func (c *Confirmation) deleted(v, payload jsontape.Value) ([]byte, bool) {
	if keptAfterAll(v) {
		return nil, false
	}
	dst := []byte(`{"id":`)
	if id := identifier(v); id.Exists() {
		dst = id.AppendCompact(dst)
	} else if id := c.argumentID(); id != nil {
		dst = append(dst, id...)
	} else {
		return nil, false
	}
	dst = append(c.appendLight(append(dst, ','), v), `"deleted":true,"status_code":`...)
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
	for _, suffix := range []string{"_id", "Id", "ID", "_uuid", "Uuid", "_pk"} {
		if len(name) > len(suffix) && strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// appendSize writes status_code and data_size, each followed by a comma.
func (c *Confirmation) appendSize(dst []byte, payload jsontape.Value) []byte {
	dst = append(dst, `"status_code":`...)
	dst = strconv.AppendInt(dst, int64(c.status(payload)), 10)
	dst = append(dst, `,"data_size":`...)
	dst = strconv.AppendInt(dst, int64(payload.CompactLen()), 10)
	return append(dst, ',')
}

// finish closes an envelope whose last member has a comma behind it.
func (c *Confirmation) finish(dst []byte) []byte {
	if c.Token == "" {
		return closeContainer(dst, true)
	}
	c.usedToken = true
	dst = append(dst, `"continuation_token":`...)
	return append(jsontape.AppendQuote(dst, c.Token), '}')
}

// status is the upstream's status code. A status string of the application's
// own never becomes it, nor a number that is no code (RED-32).
func (c *Confirmation) status(payload jsontape.Value) int {
	if c.StatusCode != 0 {
		return c.StatusCode
	}
	if code := statusOf(lookThrough(payload)); code != 0 {
		return code
	}
	return 200
}

// statusOf is the status code that an object tells; 0 where it tells none.
func statusOf(v jsontape.Value) int {
	for _, name := range []string{"status_code", "status"} {
		if s := v.Get(name); s.Kind() == jsontape.Number {
			if n, err := strconv.Atoi(string(s.Raw())); err == nil && 100 <= n && n <= 599 {
				return n
			}
		}
	}
	return 0
}

// identifier is the value that names a written thing (RED-31).
func identifier(v jsontape.Value) jsontape.Value {
	for _, name := range idNames {
		if id := v.Get(name); isIdentifier(id) {
			return id
		}
	}
	return jsontape.Value{}
}

// maxObjectID bounds an identifier that is an object, in bytes of compact JSON.
const maxObjectID = 256

// isIdentifier accepts a string that is not empty, a number, 0 too, and a small
// object of these, as {"$oid": "…"} or {"tenant": 3, "no": 7}.
func isIdentifier(v jsontape.Value) bool {
	switch v.Kind() {
	case jsontape.Number:
		return true
	case jsontape.String:
		return len(v.Raw()) > 2
	case jsontape.Object:
		if v.Len() == 0 || v.CompactLen() > maxObjectID {
			return false
		}
		for it := v.Iter(); it.Next(); {
			if k := it.Value().Kind(); k != jsontape.Number && (k != jsontape.String || len(it.Value().Raw()) <= 2) {
				return false
			}
		}
		return true
	}
	return false
}

func firstString(v jsontape.Value, names []string) jsontape.Value {
	for _, name := range names {
		if s := v.Get(name); s.Kind() == jsontape.String && len(s.Raw()) > 2 {
			return s
		}
	}
	return jsontape.Value{}
}
