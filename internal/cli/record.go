package cli

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/proxy"
	"github.com/spillway-mcp/spillway/internal/record"
	reports "github.com/spillway-mcp/spillway/internal/report"
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

// sessionFiles returns the files that the arguments of a command name: files as they are, and of a directory the
// recorded sessions in it. A ledger may lie beside them.
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
		entries, err := os.ReadDir(arg) // sorted
		if err != nil {
			return nil, err
		}
		found := len(files)
		for _, e := range entries {
			path := filepath.Join(arg, e.Name())
			if e.IsDir() || !strings.HasSuffix(path, ".jsonl.zst") && !strings.HasSuffix(path, ".jsonl") {
				continue
			}
			session, err := reports.IsSession(path)
			if err != nil {
				return nil, err
			}
			if session {
				files = append(files, path)
			}
		}
		if len(files) == found {
			return nil, fmt.Errorf("%s: no recorded session in this directory", arg)
		}
	}
	return files, nil
}
