package journal

import (
	"context"
	"testing"
)

// Commits returns how many transactions the writer has committed.
func (j *Embedded) Commits() int64 { return j.commits.Load() }

// Lock holds the write lock of the journal as another process does, and makes
// waiting for it short.
func Lock(t *testing.T, path string) (unlock func()) {
	t.Helper()
	db, err := open(path, "immediate")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = tx.Rollback()
		_ = db.Close()
	}
}

// Fill leaves no room for another page.
func Fill(t *testing.T, j *Embedded) {
	t.Helper()
	exec(t, j, `PRAGMA max_page_count = 1`)
	// Few records fit on the pages there are.
	big := make([]byte, 1<<20)
	if _, err := j.conn.ExecContext(context.Background(), `INSERT INTO parcels (id, caller, expires, data) VALUES ('big', '', 0, ?)`, big); err == nil {
		t.Fatal("the journal is not full")
	}
	for i := 0; ; i++ {
		if _, err := j.conn.ExecContext(context.Background(), `INSERT INTO records VALUES (?, '', '', '', '', 0, 0, 0, 0, 0, 0, ?)`, i, big[:200]); err != nil {
			return
		}
	}
}

// MakeReadOnly lets nothing be written any more.
func MakeReadOnly(t *testing.T, j *Embedded) {
	t.Helper()
	exec(t, j, `PRAGMA query_only = 1`)
}

func exec(t *testing.T, j *Embedded, text string) {
	t.Helper()
	if _, err := j.conn.ExecContext(context.Background(), text); err != nil {
		t.Fatal(err)
	}
}
