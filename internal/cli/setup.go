package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/internal/upstream"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

func configFlag(cmd *cobra.Command, to *config.Flags) {
	cmd.Flags().StringVarP(&to.Config, "config", "c", "", "configuration `FILE`; see help environment")
}

func rulesFlag(cmd *cobra.Command, to *config.Flags) {
	cmd.Flags().StringVar(&to.Rules, "rules", "", "rules `FILE`, in place of the configuration's")
}

// openConfig reads the configuration that a command works with.
func openConfig(f config.Flags) (*config.Config, error) {
	c, err := config.Open(f)
	return c, fileError(err)
}

// openRules reads the rules that a command works with.
func openRules(f config.Flags) (*rules.Set, error) {
	c, err := openConfig(f)
	if err != nil {
		return nil, err
	}
	set, err := c.Rules()
	return set, fileError(err)
}

// fileError gives the faults of a file a status of their own.
func fileError(err error) error {
	var faults yamlpos.Errors
	if errors.As(err, &faults) {
		return withStatus(exitFaults, err)
	}
	return err
}

// openStash opens the stash of a configuration.
func openStash(c *config.Config, log *slog.Logger) (*stash.Store, error) {
	return stash.Open(c.Stash.Path, stash.Options{
		TTL: c.Stash.TTL, MaxBytes: c.Stash.MaxBytes, MaxBytesPerCaller: c.Stash.MaxBytesPerCaller, Log: log,
	})
}

// localCaller is the principal of everything that the user of this process starts (RED-23).
func localCaller() string {
	if uid := os.Getuid(); uid >= 0 {
		return "local:" + strconv.Itoa(uid)
	}
	return "local:user" // Windows has no number; the stash lies in the user's own directory
}

// serverCommand says how to start a server: by the command given, else by its entry in the configuration.
func serverCommand(c *config.Config, server string, command []string) (upstream.Command, error) {
	if len(command) > 0 {
		return upstream.Command{Argv: command}, nil
	}
	if server == "" {
		return upstream.Command{}, usageError("no COMMAND given: put it behind --, or name a server of the configuration with --server")
	}
	s, err := c.Server(server)
	if err != nil {
		return upstream.Command{}, fileError(err)
	}
	if s.URL != "" {
		return upstream.Command{}, usageError("server %q has a url; only servers with a command can be started", server)
	}
	return upstream.Command{Argv: s.Argv(), Env: s.Environ(os.Environ()), Dir: s.Dir}, nil
}

// startServer starts a server whose stderr goes to talk.
func startServer(cmd upstream.Command, talk io.Writer) (*upstream.Child, error) {
	cmd.Stderr = talk
	child, err := upstream.Start(cmd)
	switch {
	case err == nil:
		return child, nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return nil, withStatus(exitNotFound, err)
	}
	return nil, withStatus(exitNoStart, err)
}

// noteUnnamed says on stderr that the rules are for other servers than the one
// that was given, which may be a slip.
func noteUnnamed(s streams, set *rules.Set, server string) {
	if !set.Names(server) && len(set.Servers()) > 0 {
		fmt.Fprintf(s.Err, "spillway: the rules do not name the server %q; they name %s\n", server, namedServers(set))
	}
}

// namedServers is a list of servers for a message.
func namedServers(set *rules.Set) string {
	if names := set.Servers(); len(names) > 0 {
		return strings.Join(names, ", ")
	}
	return "none"
}
