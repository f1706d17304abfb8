package journal_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/journal"
	"github.com/spillway-mcp/spillway/internal/journal/journaltest"
)

const postgresEnv = "SPILLWAY_TEST_POSTGRES"

var schemas atomic.Int64

// postgres returns a DSN of a schema of its own, which goes with the test.
func postgres(t testing.TB) string {
	t.Helper()
	dsn := os.Getenv(postgresEnv)
	if dsn == "" {
		t.Skipf("%s is not set to the DSN of a PostgreSQL that tests may write to", postgresEnv)
	}
	name := fmt.Sprintf("spillway_test_%d_%d", os.Getpid(), schemas.Add(1))
	admin := func(text string) {
		conn, err := pgx.Connect(context.Background(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), text); err != nil {
			t.Fatal(err)
		}
	}
	admin("CREATE SCHEMA " + name)
	t.Cleanup(func() { admin("DROP SCHEMA " + name + " CASCADE") })
	if strings.Contains(dsn, "://") {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal("the DSN is no URL")
		}
		q := u.Query()
		q.Set("search_path", name)
		u.RawQuery = q.Encode()
		return u.String()
	}
	return dsn + " search_path=" + name
}

func openPostgres(t testing.TB, dsn string) *journal.Postgres {
	t.Helper()
	p, err := journal.OpenPostgres(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestPostgres(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) (a, b contract.Store) {
		dsn := postgres(t)
		return openPostgres(t, dsn), openPostgres(t, dsn)
	})
}

func TestPostgresIsOpenedByManyAtOnce(t *testing.T) {
	dsn := postgres(t)
	errs := make(chan error)
	for range 6 {
		go func() {
			p, err := journal.OpenPostgres(context.Background(), dsn)
			if err == nil {
				err = p.Close()
			}
			errs <- err
		}()
	}
	for range 6 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestM21_PostgresGone(t *testing.T) {
	p := openPostgres(t, postgres(t))
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	refused(t, p)
}

func TestPostgresSaysNothingOfItsDSN(t *testing.T) {
	_, err := journal.OpenPostgres(context.Background(), "postgres://user:hunter2@localhost:notaport/x")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
}

// BenchmarkMutationPostgres is BenchmarkMutation over PostgreSQL.
func BenchmarkMutationPostgres(b *testing.B) {
	benchmarkMutations(b, func(b *testing.B) contract.Store {
		dsn := postgres(b)
		if strings.Contains(dsn, "://") {
			dsn += "&pool_max_conns=16"
		} else {
			dsn += " pool_max_conns=16"
		}
		return openPostgres(b, dsn)
	})
}
