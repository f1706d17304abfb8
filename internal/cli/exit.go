package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// The exit statuses. help exit-codes and docs/cli.md list them; a test holds the three together.
const (
	exitOK       = 0
	exitFailed   = 1   // the work failed
	exitUsage    = 2   // the command line was wrong
	exitFaults   = 3   // a rules or configuration file has faults; check or fmt --check found something
	exitNoRef    = 4   // the ref is unknown, or what it named has expired
	exitNoStart  = 126 // run, check --live: the server's command could not be started
	exitNotFound = 127 // run, check --live: there is no such command
	exitSignal   = 128 // run: plus the number of the signal that ended the server
)

// exitError is an error with a status of its own; other errors end with exitFailed.
type exitError struct {
	status int
	err    error // nil: everything was said already
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// signalError says that a signal asked this process to end.
type signalError struct{ signal os.Signal }

func (e *signalError) Error() string { return e.signal.String() }

func (e *signalError) status() int {
	if number, ok := e.signal.(syscall.Signal); ok {
		return exitSignal + int(number)
	}
	return exitFailed
}

// quiet ends the command with a status after it has said everything itself.
func quiet(status int) error { return &exitError{status: status} }

func withStatus(status int, err error) error { return &exitError{status, err} }

func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// report says an error on w, one "spillway: " a line, and returns the exit status for it.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	status := exitFailed
	var signal *signalError
	if errors.As(err, &signal) {
		return signal.status() // whoever sent it knows
	}
	var e *exitError
	if errors.As(err, &e) {
		status = e.status
		if e.err == nil {
			return status
		}
	}
	for line := range strings.SplitSeq(strings.TrimRight(err.Error(), "\n"), "\n") {
		fmt.Fprintln(w, "spillway: "+strings.TrimPrefix(line, "spillway: "))
	}
	return status
}

// needCommand answers a group that was given no command, or none that it has.
func needCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	message := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := nearestCommand(cmd, args[0]); near != "" {
		message += "; did you mean " + near + "?"
	}
	return usageError("%s\nrun %q for the commands there are", message, cmd.CommandPath()+" help")
}

// flagFault says which flag was meant by one that does not exist.
func flagFault(cmd *cobra.Command, err error) error {
	message := strings.ReplaceAll(err.Error(), `strconv.ParseInt: parsing `, "")
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		message = strings.TrimSuffix(message, " in -"+unknown.GetSpecifiedShortnames())
		if near := nearestFlag(cmd, unknown.GetSpecifiedName()); near != "" {
			message += "; did you mean --" + near + "?"
		}
	}
	return usageError("%s\nrun %q for the flags there are", message, cmd.CommandPath()+" --help")
}

func nearestFlag(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return yamlpos.Nearest(name, names)
}

func nearestCommand(cmd *cobra.Command, name string) string {
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return yamlpos.Nearest(name, names)
}

// argCount is cobra's check of the number of arguments with an error that says what the arguments are.
func argCount(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		word := "arguments"
		if len(args) == 1 {
			word = "argument"
		}
		return usageError("%d %s given; usage: %s", len(args), word, cmd.UseLine())
	}
}
