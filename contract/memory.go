package contract

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// Memory is a Store that lives and dies with the process. It is for reads,
// tests and examples; it passes the suite of the durable ones.
type Memory struct {
	mu      sync.Mutex
	records map[string]*Record // by ID.Hash
	parcels map[string]Parcel
	start   time.Time
	floor   time.Time
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{records: map[string]*Record{}, parcels: map[string]Parcel{}, start: time.Now()}
}

// Hash returns the hex SHA-256 under which stores keep a record; it stays when
// the caller and the key go.
func (id ID) Hash() string {
	h := sha256.New()
	for _, s := range []string{id.Caller, id.Operation, id.Key} {
		var n [8]byte
		for i, l := 0, len(s); i < 8; i++ {
			n[i] = byte(l >> (8 * i))
		}
		h.Write(n[:])
		h.Write([]byte(s))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Now implements Store. A local time of time.Now has a monotonic reading, which
// is the clock that counts.
func (m *Memory) Now(_ context.Context, local time.Time) (Instant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := Instant{Stamp: Stamp{At: local}, Floor: m.floor}
	if local != local.Round(0) {
		n.Clock, n.Tick = "process", local.Sub(m.start)
	}
	return n, nil
}

// told keeps the largest time that was recorded.
func (m *Memory) told(t time.Time) {
	if t.After(m.floor) {
		m.floor = t
	}
}

// Claim implements Store.
func (m *Memory) Claim(_ context.Context, r *Record) (*Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	hash := r.Hash()
	if had := m.records[hash]; had != nil {
		return had.clone(r.ID), false, nil
	}
	r.Revision, r.IDHash = 1, hash
	m.records[hash] = r.clone(r.ID)
	m.told(r.UpdatedAt)
	return nil, true, nil
}

// Update implements Store.
func (m *Memory) Update(_ context.Context, r *Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	had := m.records[r.Hash()]
	switch {
	case had == nil:
		return ErrNoRecord
	case had.Revision != r.Revision || had.Tombstone:
		return ErrStaleRecord
	}
	r.Revision++
	m.records[r.Hash()] = r.clone(r.ID)
	m.told(r.UpdatedAt)
	return nil
}

// Heartbeat implements Store.
func (m *Memory) Heartbeat(_ context.Context, id ID, epoch int64, lease time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	had := m.records[id.Hash()]
	if had == nil || had.Epoch != epoch || had.State != StatePending {
		return ErrStaleRecord
	}
	had.Lease = lease
	return nil
}

// Get implements Store.
func (m *Memory) Get(_ context.Context, id ID) (*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	had := m.records[id.Hash()]
	if had == nil {
		return nil, ErrNoRecord
	}
	return had.clone(id), nil
}

// List implements Store.
func (m *Memory) List(_ context.Context, f Filter) ([]*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*Record
	for _, r := range m.records {
		if f.matches(r) {
			all = append(all, r.clone(r.ID))
		}
	}
	slices.SortFunc(all, func(a, b *Record) int {
		if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
			return c
		}
		return cmp.Compare(a.IDHash, b.IDHash)
	})
	if a := f.After; a != nil {
		all = slices.DeleteFunc(all, func(r *Record) bool {
			c := r.CreatedAt.Compare(a.CreatedAt)
			return c < 0 || c == 0 && r.IDHash <= a.IDHash
		})
	}
	if n := f.limit(); len(all) > n {
		all = all[:n]
	}
	return all, nil
}

func (f *Filter) limit() int {
	if f.Limit <= 0 {
		return 1000
	}
	return f.Limit
}

func (f *Filter) matches(r *Record) bool {
	if r.Tombstone && !f.Tombstones {
		return false
	}
	return (f.Caller == "" || f.Caller == r.Caller) && (f.Operation == "" || f.Operation == r.Operation) &&
		(f.Key == "" || f.Key == r.Key) && (len(f.States) == 0 || slices.Contains(f.States, r.State))
}

// Sweep implements Store.
func (m *Memory) Sweep(_ context.Context, now, tombstoneUntil time.Time) (Swept, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var n Swept
	for hash, r := range m.records {
		switch {
		case r.Expires.IsZero() || r.Expires.After(now):
		case r.Tombstone:
			delete(m.records, hash)
			n.Removed++
		default:
			r.Bury(tombstoneUntil)
			n.Tombstoned++
		}
	}
	for id, p := range m.parcels {
		if !p.Expires.After(now) {
			delete(m.parcels, id)
			n.Parcels++
		}
	}
	return n, nil
}

// PutParcel implements Store.
func (m *Memory) PutParcel(_ context.Context, p Parcel) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.Data = bytes.Clone(p.Data)
	m.parcels[p.ID] = p
	return nil
}

// GetParcel implements Store.
func (m *Memory) GetParcel(_ context.Context, id string) (Parcel, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.parcels[id]
	if !ok {
		return Parcel{}, ErrNoRecord
	}
	p.Data = bytes.Clone(p.Data)
	return p, nil
}

// Close implements Store; a Memory stays usable.
func (m *Memory) Close() error { return nil }

// Bury makes r a tombstone: what a retry must meet stays, the rest goes.
func (r *Record) Bury(until time.Time) {
	r.Tombstone, r.Expires = true, until
	r.Params, r.Steps, r.Result, r.Notes = nil, nil, nil, nil
	r.Message, r.Owner, r.Target = "", "", ""
	r.Caller, r.Key = "", ""
}

func (r *Record) clone(id ID) *Record {
	c := *r
	c.ID = id
	c.Params = bytes.Clone(r.Params)
	c.Result = json.RawMessage(bytes.Clone(r.Result))
	c.Steps = slices.Clone(r.Steps)
	c.Notes = slices.Clone(r.Notes)
	return &c
}
