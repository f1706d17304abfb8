package cli

import (
	"log/slog"

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
