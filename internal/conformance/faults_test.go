package conformance

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // to lock the journal from outside

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest"
)

func createCall(key string) contracttest.Call {
	return contracttest.Call{Verb: contracttest.VerbDo, Operation: contracttest.OpCreate, Key: key, Params: json.RawMessage(`{"name":"` + key + `"}`)}
}

// refusedWithoutJournal wants a refusal, nothing submitted, and a completed
// call under the same key once the journal is back.
func refusedWithoutJournal(t *testing.T, w *contracttest.World, p contracttest.Process, repair func()) {
	t.Helper()
	before := w.Upstream.Submissions()
	a := p.Do(t.Context(), createCall("k"))
	if a.Outcome() != contract.Rejected || a.Reason() != contract.ReasonJournal || a.Receipt.Effect != contract.EffectNone {
		t.Fatalf("want the reason %s, have %s %s %s", contract.ReasonJournal, a.Raw, a.Text, a.Error)
	}
	if n := w.Upstream.Submissions(); n != before {
		t.Fatalf("%d submissions without a journal", n-before)
	}
	repair()
	if a := p.Do(t.Context(), createCall("k")); a.Outcome() != contract.Completed {
		t.Fatalf("after the repair: %s %s %s", a.Raw, a.Text, a.Error)
	}
}

// TestJournalFaults breaks the file of a real journal under the command line.
func TestJournalFaults(t *testing.T) {
	start := func(t *testing.T) (*contracttest.World, contracttest.Process, string) {
		w := newWorld(t)
		p := open(t, command{}, w)
		if a := p.Do(t.Context(), createCall("before")); a.Outcome() != contract.Completed {
			t.Fatalf("%s %s", a.Raw, a.Text)
		}
		return w, p, filepath.Join(w.Dir, "journal.db")
	}
	t.Run("M21 locked", func(t *testing.T) {
		w, p, path := start(t)
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		exec := func(text string) {
			if _, err := conn.ExecContext(context.Background(), text); err != nil {
				t.Fatal(err)
			}
		}
		exec("BEGIN IMMEDIATE")
		refusedWithoutJournal(t, w, p, func() { exec("ROLLBACK") })
	})
	t.Run("M21 no journal, but a folder of its name", func(t *testing.T) {
		w, p, path := start(t)
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(path + suffix) // where it is there
		}
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		refusedWithoutJournal(t, w, p, func() {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("M21 no database, but something else", func(t *testing.T) {
		w, p, path := start(t)
		for _, suffix := range []string{"-wal", "-shm"} {
			_ = os.Remove(path + suffix) // where it is there
		}
		if err := os.WriteFile(path, []byte(strings.Repeat("this is no database\n", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
		refusedWithoutJournal(t, w, p, func() {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("M21 read-only", func(t *testing.T) {
		mount, err := exec.LookPath("mount")
		if err != nil || os.Getuid() != 0 {
			t.Skip("only root can mount a file system that is read-only: file modes do not stop root, and others are stopped before")
		}
		w, p, path := start(t)
		bind := func(args ...string) error { return exec.Command(mount, args...).Run() }
		if err := bind("--bind", w.Dir, w.Dir); err != nil {
			t.Skipf("no mounts in this container: %v", err)
		}
		defer exec.Command("umount", "-l", w.Dir).Run()
		if err := bind("-o", "remount,ro,bind", w.Dir); err != nil {
			t.Skipf("no mounts in this container: %v", err)
		}
		refusedWithoutJournal(t, w, p, func() {
			if err := bind("-o", "remount,rw,bind", w.Dir); err != nil {
				t.Fatal(err)
			}
		})
		_ = path
	})
	t.Run("M21 full", func(t *testing.T) {
		w, p, path := start(t)
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			t.Fatal(err)
		}
		sh, err := exec.LookPath("sh")
		if err != nil {
			t.Skip("no shell to limit the size of files with")
		}
		// A limit on the size of files is a disk that is full at that size.
		limited := &commands{w: w, wrap: []string{sh, "-c", `trap '' XFSZ; ulimit -f 8; exec "$0" "$@"`}}
		a := limited.Do(t.Context(), createCall("k"))
		if a.Outcome() != contract.Rejected || a.Reason() != contract.ReasonJournal || w.Upstream.Submissions() != 1 {
			t.Fatalf("want the reason %s and no submission, have %d: %s %s", contract.ReasonJournal, w.Upstream.Submissions()-1, a.Raw, a.Text)
		}
		if a := p.Do(t.Context(), createCall("k")); a.Outcome() != contract.Completed {
			t.Fatalf("after the repair: %s %s %s", a.Raw, a.Text, a.Error)
		}
	})
}
