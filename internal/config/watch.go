package config

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"time"
)

// lookEvery is how often a watched configuration file is read. It is small, and
// a change of servers is not urgent; reading it finds every way in which an
// editor replaces a file.
const lookEvery = time.Second

// WatchFile returns a channel that gets a value after the content of the file at
// path has changed and then stayed the same for a look. It is closed when ctx
// ends. What the content means, and whether it is any good, is the caller's to
// find out.
func WatchFile(ctx context.Context, path string, log *slog.Logger) (<-chan struct{}, error) {
	seen, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	changes := make(chan struct{}, 1)
	go func() {
		defer close(changes)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		settling := seen
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			now, err := os.ReadFile(path)
			if err != nil {
				continue // being replaced, or gone: what it said last holds
			}
			if bytes.Equal(now, seen) {
				settling = now
				continue
			}
			if !bytes.Equal(now, settling) {
				settling = now
				continue
			}
			seen = now
			log.Debug("configuration file changed", "file", path)
			select {
			case changes <- struct{}{}:
			default:
			}
		}
	}()
	return changes, nil
}
