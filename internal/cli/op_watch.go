package cli

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/operation"
	"github.com/spillway-mcp/spillway/internal/operation/mcpface"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// follow shows a changed operations file's operations as soon as it has changed,
// until ctx ends. One that is broken is reported, and the last good ones stay.
// Calls under way end by the definition that they began with, whose digest is
// in their record. The channel gets a value after each change, and is closed at
// the end.
func (ops *operations) follow(ctx context.Context, face *mcpface.Face, read func() (*operation.Set, error), file string, log *slog.Logger) <-chan struct{} {
	changed := make(chan struct{}, 1)
	looks, err := config.WatchFile(ctx, file, log)
	if err != nil {
		log.Warn("the operations are not watched: changes take effect at the next start", "err", err)
		close(changed)
		return changed
	}
	go func() {
		defer close(changed)
		now := digests(ops.set.Definitions)
		for range looks {
			next, err := ops.reread(face, read)
			if err != nil {
				reportOperations(log, file, err)
				continue
			}
			if is := digests(next); !slices.Equal(now, is) {
				now = is
				log.Info("operations changed", "file", file, "operations", len(is))
				select {
				case changed <- struct{}{}:
				default:
				}
			}
		}
	}()
	return changed
}

// rereadOperations is readOperations for a file that changes.
func rereadOperations(c *config.Config, caller operation.Caller, fronted ...string) (*operation.Set, error) {
	// The servers that there are may have changed, too.
	if now, err := config.Open(config.Flags{Config: c.File}); c.File != "" && err == nil {
		now.Operations = c.Operations
		c = now
	}
	return readOperations(c, caller, fronted...)
}

// reread makes the face's tools those of the file as it is.
func (ops *operations) reread(face *mcpface.Face, read func() (*operation.Set, error)) ([]*contract.Definition, error) {
	set, err := read()
	if err != nil {
		return nil, err
	}
	opt := ops.opt
	opt.Definitions = set.Definitions
	client, err := contract.New(opt)
	if err != nil {
		return nil, err
	}
	return set.Definitions, face.Use(client)
}

// reportOperations says what is wrong with a changed file: all of it.
func reportOperations(log *slog.Logger, file string, err error) {
	var faults yamlpos.Errors
	if !errors.As(err, &faults) {
		log.Error("operations not changed: the last good ones stay in force", "file", file, "err", err)
		return
	}
	list := make([]string, len(faults))
	for i, f := range faults {
		list[i] = f.Error()
	}
	log.Error("operations file is broken: the last good operations stay in force", "file", file, "errors", list)
}

// digests tell two sets of definitions apart.
func digests(defs []*contract.Definition) []string {
	var all []string
	for _, d := range defs {
		all = append(all, d.ID()+" "+d.Digest())
	}
	slices.Sort(all)
	return all
}
