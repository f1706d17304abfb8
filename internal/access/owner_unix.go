//go:build unix

package access

import (
	"fmt"
	"io/fs"
)

// ownerOnly refuses a file that others could read or exchange.
func ownerOnly(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%s has mode %#o: others than its owner must have no access (chmod 600)", path, mode)
	}
	return nil
}
