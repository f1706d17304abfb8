package cli

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/operation"
	"github.com/spillway-mcp/spillway/internal/operation/mcpface"
	"github.com/spillway-mcp/spillway/internal/proxy"
)

// A changed operations file is picked up as the rules are (RED-51): a broken one
// is reported with all its faults, and the last good operations stay.
func TestRED51_OperationsAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "operations.yaml")
		write := func(text string) {
			text = strings.ReplaceAll(text, "URL", "https://api.example.com")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
			synctest.Wait()
		}
		write(opYAML)
		c := &config.Config{Operations: file}
		read := func() (*operation.Set, error) { return rereadOperations(c, nil) }
		set, err := read()
		if err != nil {
			t.Fatal(err)
		}
		ops := &operations{set: set, opt: contract.Options{Caller: "a"}}
		ops.opt.Definitions = set.Definitions
		if ops.client, err = contract.New(ops.opt); err != nil {
			t.Fatal(err)
		}
		face, err := mcpface.New(mcpface.Options{Client: ops.client, Name: proxy.ToolName})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var log bytes.Buffer
		changed := ops.follow(ctx, face, read, file, slog.New(slog.NewTextHandler(&log, nil)))

		told := func() int {
			n := 0
			for {
				select {
				case _, ok := <-changed:
					if !ok {
						return n
					}
					n++
				default:
					return n
				}
			}
		}
		renamed := strings.ReplaceAll(opYAML, "count_rows@", "count_lines@")
		for _, step := range []struct {
			about, text string
			told        int
			has         string
			log         []string
		}{
			{"changed", renamed, 1, "count_lines", []string{"operations changed"}},
			{"broken in two places", strings.NewReplacer("effects: read", "effects: reads", "idempotent: none", "idempotent: nil").Replace(renamed), 0, "count_lines",
				[]string{"the last good operations stay", "effects must be", "idempotent must be", "operations.yaml:5:"}},
			{"half written", "", 0, "count_lines", []string{"the file is empty"}},
			{"good again", renamed + "\n", 0, "count_lines", nil},
			{"back", opYAML, 1, "count_rows", []string{"operations changed"}},
		} {
			log.Reset()
			write(step.text)
			if n := told(); n != step.told || !face.Has(step.has) {
				t.Errorf("%s: told of %d changes, want %d; tools %v", step.about, n, step.told, face.Names())
			}
			for _, want := range step.log {
				if !strings.Contains(log.String(), want) {
					t.Errorf("%s: the log has no %q: %s", step.about, want, log.String())
				}
			}
		}
		stop()
		synctest.Wait()
		if _, ok := <-changed; ok {
			t.Error("still following")
		}
	})
}
