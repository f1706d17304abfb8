package upstream

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// log appends an effect; the lock is held.
func (f *Fake) log(a Arrival, action string, result []byte) {
	key := a.Key
	if key == "" {
		key = a.XRef
	}
	var body struct {
		Account string `json:"account"`
	}
	_ = json.Unmarshal(a.Body, &body) // a body that is no object names no account
	f.effects = append(f.effects, Effect{
		Seq: len(f.effects) + 1, At: f.now(), Action: action, Path: a.Path, Key: key,
		Body: a.Body, Result: result, Account: body.Account,
	})
}

func (f *Fake) create(a Arrival) reply {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(a.Body, &doc); err != nil || doc["name"] == nil {
		return problem(http.StatusBadRequest, "an item needs a name")
	}
	id := "item-" + strconv.Itoa(len(f.order)+1)
	it := &item{doc: doc, revision: 1, ref: a.XRef}
	f.items[id] = it
	f.order = append(f.order, id)
	body := it.json(id)
	f.log(a, "create", body)
	return reply{status: http.StatusCreated, body: body}
}

func (f *Fake) update(a Arrival, id string) reply {
	it := f.items[id]
	if it == nil {
		return problem(http.StatusNotFound, "no such item")
	}
	if a.Match != "" && a.Match != strconv.Itoa(it.revision) {
		return problem(http.StatusPreconditionFailed, "stale revision")
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(a.Body, &doc); err != nil {
		return problem(http.StatusBadRequest, "not an object")
	}
	for k, v := range doc {
		it.doc[k] = v
	}
	it.revision++
	body := it.json(id)
	f.log(a, "update", body)
	return reply{status: http.StatusOK, body: body}
}

func (f *Fake) remove(a Arrival, id string) reply {
	if f.items[id] == nil {
		return problem(http.StatusNotFound, "no such item")
	}
	delete(f.items, id)
	body := fmt.Appendf(nil, `{"id":%q,"deleted":true}`, id)
	f.log(a, "delete", body)
	return reply{status: http.StatusOK, body: body}
}

func (f *Fake) find(a Arrival) reply {
	found := []json.RawMessage{}
	for _, id := range f.order {
		if it := f.items[id]; it != nil && (a.Ref == "" || it.ref == a.Ref) {
			found = append(found, it.json(id))
		}
	}
	return list(found)
}

func (f *Fake) add(a Arrival, team string) reply {
	var doc struct {
		Member string `json:"member"`
	}
	if err := json.Unmarshal(a.Body, &doc); err != nil || doc.Member == "" {
		return problem(http.StatusBadRequest, "a member needs a name")
	}
	m := member{team, a.XRef, doc.Member}
	f.members = append(f.members, m)
	body := m.json()
	f.log(a, "add", body)
	return reply{status: http.StatusCreated, body: body}
}

func (f *Fake) findMembers(a Arrival, team string) reply {
	found := []json.RawMessage{}
	for _, m := range f.members {
		if m.team == team && (a.Ref == "" || m.ref == a.Ref) {
			found = append(found, m.json())
		}
	}
	return list(found)
}

func list(found []json.RawMessage) reply {
	body, err := json.Marshal(map[string]any{"items": found})
	if err != nil {
		return problem(http.StatusInternalServerError, err.Error())
	}
	return reply{status: http.StatusOK, body: body}
}

func (m member) json() []byte {
	return fmt.Appendf(nil, `{"member":%q,"team":%q}`, m.member, m.team)
}

// json writes the item with its members sorted, as encoding/json does.
func (it *item) json(id string) []byte {
	doc := map[string]any{}
	for k, v := range it.doc {
		doc[k] = v
	}
	doc["id"], doc["revision"] = id, strconv.Itoa(it.revision)
	body, err := json.Marshal(doc)
	if err != nil {
		panic(err) // members came from a JSON document
	}
	return body
}

// PutItem makes an item without an effect: what was there before.
func (f *Fake) PutItem(id string, doc map[string]json.RawMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.items[id] = &item{doc: doc, revision: 1}
	f.order = append(f.order, id)
}

// Touch moves an item's revision, as somebody else's change does.
func (f *Fake) Touch(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.items[id].revision++
}
