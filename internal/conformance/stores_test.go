package conformance

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/journal"
)

const postgresEnv = "SPILLWAY_TEST_POSTGRES"

// store is a journal by its kind: for each directory one of its own.
type store struct {
	Kind string // "embedded" or "postgres"
	DSN  string
}

func (s store) open(dir string) (contract.Store, error) {
	if s.Kind == "embedded" {
		return journal.Open(filepath.Join(dir, "journal.db"))
	}
	name := fmt.Sprintf("spillway_conformance_%x", sha256.Sum256([]byte(dir)))[:40]
	err := s.admin("CREATE SCHEMA IF NOT EXISTS " + name)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" {
		err = nil // another process made it at the same time
	}
	if err != nil {
		return nil, err
	}
	schemas.Store(name, true)
	return journal.OpenPostgres(context.Background(), s.DSN+" search_path="+name+" pool_max_conns=8")
}

// schemas are those that this process made.
var schemas sync.Map

func (s store) admin(text string) error {
	conn, err := pgx.Connect(context.Background(), s.DSN)
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	_, err = conn.Exec(context.Background(), text)
	return err
}

// eachStore runs a test over the embedded journal, and over PostgreSQL where
// there is one.
func eachStore(t *testing.T, f func(t *testing.T, s store)) {
	t.Run("embedded", func(t *testing.T) { f(t, store{Kind: "embedded"}) })
	t.Run("postgres", func(t *testing.T) {
		dsn := os.Getenv(postgresEnv)
		if dsn == "" {
			t.Skipf("%s is not set to the key=value DSN of a PostgreSQL that tests may write to", postgresEnv)
		}
		s := store{Kind: "postgres", DSN: dsn}
		t.Cleanup(func() {
			schemas.Range(func(name, _ any) bool {
				if err := s.admin("DROP SCHEMA IF EXISTS " + name.(string) + " CASCADE"); err != nil {
					t.Error(err)
				}
				schemas.Delete(name)
				return true
			})
		})
		f(t, s)
	})
}
