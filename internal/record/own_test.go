package record

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A directory that is somebody's for another reason keeps its rights, and has no
// recordings; one that has nothing else is made the owner's.
func TestDirectoryOfOtherThingsIsLeftAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file's mode says nothing of others on Windows")
	}
	dir := t.TempDir()
	mode := func() os.FileMode {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	put := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	put("20261130T080000.000Z-s-x.jsonl.zst")
	put("20261130T080000.000Z-s-x.expect.yaml")
	if _, err := Open(dir, Options{}); err != nil || mode() != 0o700 {
		t.Errorf("of recordings alone: %v, mode %o", err, mode())
	}
	put("letter.txt")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "letter.txt") || mode() != 0o755 {
		t.Errorf("beside a letter: %v, mode %o", err, mode())
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); err != nil {
		t.Errorf("where others cannot look: %v", err)
	}
}
