package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/ledger"
)

type statsOptions struct {
	files config.Flags
	json  bool
}

func newStats(s streams) *cobra.Command {
	var o statsOptions
	cmd := &cobra.Command{
		Use:   "stats [--json] [LEDGER...]",
		Short: "Say what was saved, per server and tool, costs taken off",
		Long: `Add up ledger files and say what was saved: calls, bytes and tokens, the
median and the 90th percentile of the saving per session, and how often the
model had to fetch more. Without a file it reads the one of the configuration.

Savings are net. Notes, expands, the definition of reducer_expand and the
growth of schemas are taken off, and where that leaves a loss, a loss is shown.
Hosts show a model either the text of a result or its structured copy; both
are counted, and never added.`,
		Example: `  spillway stats
  spillway stats --json ~/old/*.jsonl`,
		GroupID: groupRecords,
		RunE:    func(_ *cobra.Command, args []string) error { return runStats(s, o, args) },
	}
	configFlag(cmd, &o.files)
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runStats(s streams, o statsOptions, files []string) error {
	if len(files) == 0 {
		c, err := openConfig(o.files)
		if err != nil {
			return err
		}
		files = []string{c.Ledger.Path}
		if _, err := os.Stat(c.Ledger.Path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no ledger yet at %s; run writes a line for each call", c.Ledger.Path)
		}
	}
	report, err := ledger.Stats(files...)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(s.Out, report)
	}
	return report.WriteText(s.Out)
}
