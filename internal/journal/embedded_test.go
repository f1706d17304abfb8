package journal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/journal"
	"github.com/spillway-mcp/spillway/internal/journal/journaltest"
)

func TestMemory(t *testing.T) {
	journaltest.Run(t, func(*testing.T) (a, b contract.Store) {
		m := contract.NewMemory()
		return m, m
	})
}

func TestEmbedded(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) (a, b contract.Store) {
		path := filepath.Join(t.TempDir(), "journal.db")
		return open(t, path), open(t, path)
	})
}

func open(t testing.TB, path string) *journal.Embedded {
	t.Helper()
	j, err := journal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func TestOwnerOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions come from the parent directory there")
	}
	dir := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(dir, "journal.db")
	j := open(t, path)
	claim(t, j, "k")
	if _, err := journal.Sealer(path + ".key"); err != nil {
		t.Fatal(err)
	}
	names, _ := os.ReadDir(dir)
	if len(names) < 3 {
		t.Errorf("only %d files", len(names))
	}
	for _, n := range names {
		if st, err := n.Info(); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %s, %v", n.Name(), st.Mode(), err)
		}
	}
	if st, _ := os.Stat(dir); st.Mode().Perm() != 0o700 {
		t.Errorf("directory has mode %s", st.Mode())
	}
	if err := os.Chmod(path+".key", 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Sealer(path + ".key"); err == nil || !strings.Contains(err.Error(), "open to others") {
		t.Errorf("a key that others can read: %v", err)
	}
}

func record(key string) *contract.Record {
	now := time.Now().UTC()
	return &contract.Record{ID: contract.ID{Caller: "alice", Operation: "create", Key: key}, Version: "1.0",
		State: contract.StatePending, Epoch: 1, CreatedAt: now, UpdatedAt: now, Lease: now.Add(time.Minute),
		Steps: []contract.StepRecord{{Step: "submit", Status: contract.StepSubmitted}}}
}

func claim(t testing.TB, s contract.Store, key string) *contract.Record {
	t.Helper()
	r := record(key)
	if _, ok, err := s.Claim(context.Background(), r); err != nil || !ok {
		t.Fatalf("claim of %s: %v, %v", key, ok, err)
	}
	return r
}

func TestSealerIsSharedByProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "seal.key")
	sealers := make([]*contract.Sealer, 8)
	var wg sync.WaitGroup
	for i := range sealers {
		wg.Go(func() {
			s, err := journal.Sealer(path)
			if err != nil {
				t.Error(err)
			}
			sealers[i] = s
		})
	}
	wg.Wait()
	token := sealers[0].Seal("x", []byte("data"))
	for _, s := range sealers {
		if got, err := s.Open("x", token); err != nil || string(got) != "data" {
			t.Errorf("%q, %v", got, err)
		}
		if _, err := s.Open("y", token); err == nil {
			t.Error("opened for another purpose")
		}
	}
}

// refused checks that a mutation over s is refused before it is submitted.
func refused(t *testing.T, s contract.Store) {
	t.Helper()
	submitted := false
	op := contract.Mutation[struct{}, struct{}]{Name: "create", Version: "1.0", Scope: "x", Effects: contract.Creates,
		Submit: func(context.Context, *contract.Invocation, struct{}) (struct{}, error) {
			submitted = true
			return struct{}{}, nil
		}}.MustDefine()
	c, err := contract.New(contract.Options{Store: s, Caller: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	_, r, err := op.Do(context.Background(), c, struct{}{}, contract.Call{Key: "refused"})
	if !errors.Is(err, contract.ErrJournal) || r.Effect != contract.EffectNone || submitted {
		t.Errorf("%v, submitted %v: %s", err, submitted, r.JSON())
	}
}

func TestM21_Refusals(t *testing.T) {
	ctx := context.Background()
	t.Run("locked", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "journal.db")
		j := open(t, path)
		unlock := journal.Lock(t, path)
		refused(t, j)
		unlock()
		claim(t, j, "k")
	})
	t.Run("full", func(t *testing.T) {
		j := open(t, filepath.Join(t.TempDir(), "journal.db"))
		journal.Fill(t, j)
		refused(t, j)
	})
	t.Run("read-only", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "journal.db")
		j := open(t, path)
		claim(t, j, "k")
		journal.MakeReadOnly(t, j)
		refused(t, j)
		if _, err := j.Get(ctx, contract.ID{Caller: "alice", Operation: "create", Key: "k"}); err != nil {
			t.Errorf("a status from a read-only journal: %v", err)
		}
	})
	t.Run("removed", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "journal.db")
		j := open(t, path)
		claim(t, j, "k")
		if err := os.Remove(path); err != nil {
			t.Skip("an open file cannot be removed here:", err)
		}
		refused(t, j)
	})
	t.Run("closed", func(t *testing.T) {
		j := open(t, filepath.Join(t.TempDir(), "journal.db"))
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		refused(t, j)
	})
}

func TestGroupCommitSharesCommits(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal.db"))
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for n := range 8 {
				r := record(fmt.Sprint("k", i, ".", n))
				if _, ok, err := j.Claim(context.Background(), r); err != nil || !ok {
					t.Error(ok, err)
				}
			}
		})
	}
	wg.Wait()
	if commits := j.Commits(); commits > 400 {
		t.Errorf("%d commits for 512 concurrent claims", commits)
	}
}

// What a mutation costs beside its upstream: the claim and what came of it, each
// durable before it is told (C-10).
func TestC10_AMutationIsTwoDurableCommits(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal.db"))
	op := contract.Mutation[struct{}, struct{}]{Name: "create", Version: "1.0", Scope: "x", Effects: contract.Creates,
		Submit: func(context.Context, *contract.Invocation, struct{}) (struct{}, error) { return struct{}{}, nil },
	}.MustDefine()
	c, err := contract.New(contract.Options{Store: j, Caller: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	const mutations = 10
	before := j.Commits()
	for range mutations {
		if _, _, err := op.Do(t.Context(), c, struct{}{}, contract.Call{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := j.Commits() - before; n != 2*mutations {
		t.Errorf("%d commits for %d mutations, want two for each", n, mutations)
	}
}
