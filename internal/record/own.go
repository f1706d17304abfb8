package record

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// makeOwn makes a directory for its owner alone. One that is there and open to
// others has their rights taken away, unless it holds anything but recordings: it
// is then somebody's for another reason, as a home or /tmp are.
func makeOwn(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory", dir)
	}
	if runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !belongs(e.Name()) {
			return fmt.Errorf("%s is open to others and holds other things, as %s: recordings need a directory of their own", dir, filepath.Base(e.Name()))
		}
	}
	return os.Chmod(dir, 0o700)
}

// belongs reports whether a file is a recording, or stands beside one.
func belongs(name string) bool {
	for _, end := range []string{extension, ".jsonl", ".expect.yaml", ".expect.json"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
