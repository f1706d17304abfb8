package cli

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/proxy"
	"github.com/spillway-mcp/spillway/internal/record"
)

// openRecorder returns what keeps sessions, nil where the configuration asks for none. One that cannot be opened is
// said and does without, as the ledger does.
func openRecorder(c *config.Config, log *slog.Logger) proxy.Recorder {
	if c.Record.Path == "" {
		return nil
	}
	r, err := record.Open(c.Record.Path, record.Options{
		Redact: c.Record.Redact, MaxBytes: c.Record.MaxBytes, Keep: c.Record.Keep, Spillway: thisBuild().Version, Log: log,
	})
	if err != nil {
		log.Warn("the directory of recordings cannot be used, so nothing is recorded", "error", err)
		return nil
	}
	return r
}

// sessionFiles returns the recordings that the arguments of a command name: files, and of a directory those in it.
func sessionFiles(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, arg)
			continue
		}
		var in []string
		for _, pattern := range []string{"*.jsonl.zst", "*.jsonl"} {
			found, err := filepath.Glob(filepath.Join(arg, pattern))
			if err != nil {
				return nil, err
			}
			in = append(in, found...)
		}
		if len(in) == 0 {
			return nil, fmt.Errorf("%s: no recorded session in this directory", arg)
		}
		slices.Sort(in)
		files = append(files, in...)
	}
	return files, nil
}
