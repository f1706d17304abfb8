package demo

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spillway-mcp/spillway/internal/fixture"
)

//go:embed rules.yaml
var rules string

// Options say what to run and where to print.
type Options struct {
	Spillway string    // this program, to be started as run and as the server
	Serve    string    // its command that calls Serve
	Version  string    // what the client says of itself
	Out      io.Writer // the page
	Err      io.Writer // what the child processes say, several at once
}

// Run prints the demonstration. Stash, ledger and rules live in a directory of their own that is removed at the end.
func Run(ctx context.Context, o Options) (err error) {
	begin := time.Now()
	dir, err := os.MkdirTemp("", "spillway-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ledger := filepath.Join(dir, "ledger.jsonl")
	if err := writeFiles(dir, ledger); err != nil {
		return err
	}
	direct, err := start(ctx, o, o.Spillway, o.Serve)
	if err != nil {
		return fmt.Errorf("the demo's server: %w", err)
	}
	defer direct.stop()
	through, err := start(ctx, o, o.Spillway, "run", "-c", filepath.Join(dir, "spillway.yaml"),
		"--rules", filepath.Join(dir, "rules.yaml"), "--server", ServerName, "--", o.Spillway, o.Serve)
	if err != nil {
		return fmt.Errorf("spillway run: %w", err)
	}
	defer through.stop()

	p := &page{w: o.Out}
	p.title("A client, spillway run and a small server: three processes, real pipes, no network.")
	p.text("The rules, as they stand in rules.yaml:")
	p.block(rules)

	ref, err := p.compare(ctx, direct, through, "1", fixture.SearchTool, map[string]any{"query": "parse language:go"},
		fmt.Sprintf("%d hits as GitHub's REST search gives them", Hits))
	if err != nil {
		return err
	}
	if _, err := p.compare(ctx, direct, through, "2", fixture.ReleasesTool, map[string]any{"owner": "atlas", "repo": "orchard"},
		fmt.Sprintf("%d releases with all their assets, text only", Releases)); err != nil {
		return err
	}
	if err := p.expand(ctx, through, ref); err != nil {
		return err
	}
	if err := through.stop(); err != nil { // the ledger is whole when the process has ended
		return fmt.Errorf("spillway run: %w", err)
	}
	if err := p.ledger(ledger); err != nil {
		return err
	}
	p.textf("That took %.1f s. Your own server: spillway run -- COMMAND", time.Since(begin).Seconds())
	return p.err
}

func writeFiles(dir, ledger string) error {
	config, err := json.Marshal(map[string]any{
		"stash":  map[string]any{"path": filepath.Join(dir, "stash")},
		"ledger": map[string]any{"path": ledger, "estimator": estimator},
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "spillway.yaml"), config, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(rules), 0o600)
}
