// Package reap is the small process that stands between Spillway and a server's
// process tree, so that the tree ends with Spillway however Spillway ends,
// SIGKILL included (K62). A program that imports it becomes that process when
// its first argument is [Arg]: the check runs while packages are initialised,
// before the costly ones are, which keeps its start in the low milliseconds.
//
// On Linux the process is a subreaper: whatever the server's children do
// (double forks, sessions of their own, shells that exit) they become its
// children, so that it can end them all. Elsewhere it ends the server's process
// group and the descendants it can see. Windows needs none of it, there a job
// object does the work.
//
// It is started with the server's stdin, stdout and stderr as its own, the
// reading end of a pipe that Spillway holds as descriptor 3, and the writing
// end of one that Spillway reads as descriptor 4. End of file on 3 means that
// Spillway is gone.
package reap

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Arg is the first argument that makes a program the reaper. Behind it come the
// milliseconds from SIGTERM to SIGKILL, the path of the server's program and
// its argv.
const Arg = "__reap"

// What Spillway writes to descriptor 3, one byte each.
const (
	Terminate = 't' // SIGTERM to the whole tree
	Kill      = 'k' // SIGKILL to the whole tree
)

// A Report is one line of descriptor 4.
type Report struct {
	PID    int    // of the server, once started
	Failed string // why it could not be started
	Exited bool
	Code   int // its exit status, -1 if a signal ended it
	Signal int
}

func (r Report) String() string {
	switch {
	case r.Failed != "":
		return "failed " + r.Failed
	case r.Exited:
		return fmt.Sprintf("exited %d %d", r.Code, r.Signal)
	}
	return "started " + strconv.Itoa(r.PID)
}

// ParseReport reads what [Report.String] wrote.
func ParseReport(line string) (r Report, err error) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "failed":
		return Report{Failed: rest}, nil
	case "started":
		_, err = fmt.Sscanf(rest, "%d", &r.PID)
	case "exited":
		r.Exited = true
		_, err = fmt.Sscanf(rest, "%d %d", &r.Code, &r.Signal)
	default:
		err = errors.New("no known verb")
	}
	if err != nil {
		return Report{}, fmt.Errorf("report %q: %w", line, err)
	}
	return r, nil
}
