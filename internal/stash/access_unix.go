//go:build unix

package stash

import (
	"fmt"
	"os"
	"path/filepath"
)

// ownerOnly sees to it that others cannot enter dir. A directory that holds
// things of someone else's making keeps its mode, because the stash does not
// own it: its own files are 0600 and objects/ is 0700 all the same. One that
// others may write to is refused, since they could exchange the database.
func ownerOnly(dir string) error {
	fi, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	if fi.Mode().Perm()&0o077 == 0 {
		return nil
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	_, err = os.Lstat(filepath.Join(dir, databaseName))
	if len(names) == 0 || err == nil {
		return os.Chmod(dir, 0o700)
	}
	if fi.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("directory %s has mode %#o and other files in it: choose one that only its owner may write to",
			dir, fi.Mode().Perm())
	}
	return nil
}
