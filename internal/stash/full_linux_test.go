package stash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

var ctx = context.Background()

func init() {
	children["file limit"] = childFileLimit
	children["full disk"] = childFullDisk
	children["read-only"] = childReadOnly
}

// childFileLimit lets no file grow: the kernel then refuses writes as it does
// on a full disk, also root's.
func childFileLimit(dir string, _ io.Writer) error {
	signal.Ignore(syscall.SIGXFSZ)
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	if err := s.Put(ctx, entry("a", row), row); err != nil {
		return err
	}
	wal, err := os.Stat(filepath.Join(dir, databaseName+"-wal"))
	if err != nil {
		return err
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	low := limit
	low.Cur = uint64(wal.Size() + 4096)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low); err != nil {
		return err
	}
	if err := refuses(s, row); err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	return errors.Join(accepts(s), s.Close())
}

func TestK32_FilesCannotGrow(t *testing.T) {
	p := command(t, "file limit", t.TempDir())
	if err := p.cmd.Run(); err != nil {
		t.Errorf("%v: %s", err, p.errs.String())
	}
}

// inNamespace runs a child that may mount, where the kernel lets us.
func inNamespace(t *testing.T, what string) {
	t.Helper()
	p := command(t, what, t.TempDir())
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
	}
	err := p.cmd.Run()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit), strings.Contains(p.errs.String(), noMount):
		t.Skipf("a file system of our own cannot be mounted here: %v %s", err, p.errs.String())
	case err != nil:
		t.Errorf("%v: %s", err, p.errs.String())
	}
}

const noMount = "mount refused"

func mount(dir, options string, flags uintptr) error {
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("%s: %w", noMount, err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
		return fmt.Errorf("%s: %w", noMount, err)
	}
	return nil
}

// childFullDisk fills a small disk.
func childFullDisk(dir string, _ io.Writer) error {
	if err := mount(dir, "size=3m", 0); err != nil {
		return err
	}
	s, err := Open(filepath.Join(dir, "stash"), Options{})
	if err != nil {
		return err
	}
	if err := s.Put(ctx, entry("a", row), row); err != nil {
		return err
	}
	fill := filepath.Join(dir, "fill")
	f, err := os.Create(fill)
	if err != nil {
		return err
	}
	for _, n := range []int{1 << 16, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, n))
		}
	}
	f.Close()
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	if err := refuses(s, row); err != nil {
		return err
	}
	return errors.Join(os.Remove(fill), accepts(s), s.Close())
}

func TestK32_DiskFull(t *testing.T) { inNamespace(t, "full disk") }

// childReadOnly opens a stash on a read-only file system.
func childReadOnly(dir string, _ io.Writer) error {
	if err := mount(dir, "size=20m", 0); err != nil {
		return err
	}
	s, err := Open(filepath.Join(dir, "stash"), Options{})
	if err != nil {
		return err
	}
	if err := errors.Join(s.Put(ctx, entry("a", row), row), s.Close()); err != nil {
		return err
	}
	if err := mount(dir, "size=20m", syscall.MS_REMOUNT|syscall.MS_RDONLY); err != nil {
		return err
	}
	if s, err = Open(filepath.Join(dir, "stash"), Options{}); err != nil {
		return err
	}
	for _, b := range [][]byte{result(50, 200_000, 0), file} {
		if err := s.Put(ctx, entry("a", b), b); err == nil {
			return fmt.Errorf("%d bytes were put on a read-only file system", len(b))
		}
	}
	if _, err := Open(filepath.Join(dir, "other"), Options{}); err == nil {
		return errors.New("a directory was made on a read-only file system")
	}
	return s.Close()
}

func TestK32_FileSystemReadOnly(t *testing.T) { inNamespace(t, "read-only") }

func TestCloseClosesEveryFile(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := put(t, s, "a", file)
	wantBytes(t, s, "a", e.Ref, file)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	des, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("the open files cannot be listed: %v", err)
	}
	for _, de := range des {
		if to, _ := os.Readlink("/proc/self/fd/" + de.Name()); strings.HasPrefix(to, dir) {
			t.Errorf("still open: %s", to)
		}
	}
	// The log is emptied into the database.
	if fi, err := os.Stat(filepath.Join(dir, databaseName+"-wal")); err != nil || fi.Size() != 0 {
		t.Errorf("log: %v, %v", fi, err)
	}
}
