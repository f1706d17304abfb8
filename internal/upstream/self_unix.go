//go:build unix && !linux

package upstream

import "os"

func ownProgram() (string, error) { return os.Executable() }
