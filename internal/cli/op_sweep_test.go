package cli

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

// finished puts a record into a journal whose retention ends at a time.
func finished(t *testing.T, s contract.Store, key string, expires time.Time) contract.ID {
	t.Helper()
	id := contract.ID{Caller: localCaller(), Operation: "create", Key: key}
	now := time.Now().UTC()
	if _, ok, err := s.Claim(t.Context(), &contract.Record{ID: id, Version: "1.0", State: contract.StateCompleted, CreatedAt: now, UpdatedAt: now, Expires: expires}); err != nil || !ok {
		t.Fatal(ok, err)
	}
	return id
}

// What serves operations for long sweeps its journal by itself (C-20).
func TestC20_ServingSweeps(t *testing.T) {
	k := newOpKit(t)
	c, err := openConfig(opOptions{}.files)
	if err != nil {
		t.Fatal(err)
	}
	c.Operations = k.file
	store, err := journalStore(c.Journal)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	id := finished(t, store, "old", time.Now().Add(-time.Hour))
	face, err := openFace(c, streams{Err: io.Discard}, newLog(io.Discard, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer face.Close()
	for end := time.Now().Add(30 * time.Second); ; {
		r, err := store.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if r.Tombstone {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the record is still there")
		}
	}
}

func TestC20_SweepsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := contract.NewMemory()
		client, err := contract.New(contract.Options{Store: store, Caller: "alice"})
		if err != nil {
			t.Fatal(err)
		}
		id := finished(t, store, "k", time.Now().Add(90*time.Minute))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go (&operations{client: client}).sweep(ctx, sweepEvery, newLog(io.Discard, 0))
		for i, want := range []bool{false, false, true} {
			synctest.Wait()
			if r, err := store.Get(ctx, id); err != nil || r.Tombstone != want {
				t.Errorf("after %d hours: tombstone %t, %v", i, !want, err)
			}
			time.Sleep(sweepEvery)
		}
	})
}
