//go:build !linux

package journal

import "time"

func boot() (id string, since time.Duration, ok bool) { return "", 0, false }
