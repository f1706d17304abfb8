package stash

import (
	"bytes"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestRED24_OwnerOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes do not exist on Windows: access is inherited from the parent directory")
	}
	for _, prepare := range []func(dir string) error{
		func(string) error { return nil },
		func(dir string) error { return os.Mkdir(dir, 0o755) },
	} {
		dir := filepath.Join(t.TempDir(), "stash")
		if err := prepare(dir); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, Options{})
		put(t, s, "a", row)
		put(t, s, "a", file)
		if p, err := s.pack(file); err != nil {
			t.Fatal(err)
		} else {
			defer p.discard() // a temporary file, as long as we look
		}
		seen := map[string]bool{}
		err := filepath.WalkDir(dir, func(path string, de fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			fi, err := de.Info()
			if err != nil {
				return err
			}
			want := fs.FileMode(0o600)
			if de.IsDir() {
				want = 0o700
			}
			if fi.Mode().Perm() != want {
				t.Errorf("%s: mode %#o, want %#o", path, fi.Mode().Perm(), want)
			}
			seen[filepath.Ext(path)] = true
			return nil
		})
		if err != nil || !seen[".db"] || !seen[".db-wal"] || !seen[".db-shm"] || !seen[".zst"] {
			t.Errorf("saw %v, %v", seen, err)
		}
	}
	t.Run("a directory of other things", func(t *testing.T) {
		dir := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "x"), nil, 0o644), os.Chmod(dir, 0o777)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("a directory that others may write to is taken: %v", err)
		}
	})
}

func TestOpenRefusesANewerSchema(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "a", row)
	if err := s.update(t.Context(), func(x *tx) error { return x.exec("PRAGMA user_version = 7") }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	if s, err = Open(dir, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
		t.Fatal(err)
	}
	s.background.Wait()
	_, _, getErr := s.Get(t.Context(), "a", entry("a", row).Ref)
	for _, err := range []error{s.Ready(t.Context()), s.Put(t.Context(), entry("a", file), file), getErr} {
		if err == nil || !strings.Contains(err.Error(), "version 7 was made by a newer spillway") {
			t.Errorf("got %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "newer spillway") {
		t.Errorf("the log does not say why: %s", &log)
	}
}

func TestOpenRefusesWhatIsNotAStash(t *testing.T) {
	foreign := func(path string) error {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			return err
		}
		_, err = db.Exec("CREATE TABLE entries (x)")
		return errors.Join(err, db.Close())
	}
	text := func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("hello\n"), 1000), 0o600) }
	for name, make := range map[string]func(string) error{"foreign database": foreign, "text": text} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := make(filepath.Join(dir, databaseName)); err != nil {
				t.Fatal(err)
			}
			s, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "not a stash database") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOddDirectoryName(t *testing.T) {
	name := "a b?c#d%20é&e=f;g"
	if runtime.GOOS == "windows" {
		name = "a b#c%20é&e=f;g"
	}
	dir := filepath.Join(t.TempDir(), name)
	s := open(t, dir, Options{})
	put(t, s, "a", row)
	if _, err := os.Stat(filepath.Join(dir, databaseName+"-wal")); err != nil {
		t.Error(err)
	}
}

func TestDirectoryRemovedWhileOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not let an open file be removed")
	}
	dir := t.TempDir()
	s := open(t, dir, Options{})
	e := put(t, s, "a", file)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	wantUnknown(t, s, "a", e.Ref)
	put(t, s, "a", file)
	put(t, s, "a", row)
	other := open(t, dir, Options{})
	wantBytes(t, other, "a", e.Ref, file)
}

func TestClosed(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := put(t, s, "a", row)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Put(t.Context(), e, row); !errors.Is(err, ErrClosed) {
		t.Errorf("Put: %v", err)
	}
	if _, _, err := s.Get(t.Context(), "a", e.Ref); !errors.Is(err, ErrClosed) {
		t.Errorf("Get: %v", err)
	}
	if s.Has(t.Context(), "a", e.Ref) {
		t.Error("Has")
	}
}
