// Command releases counts the stable releases among fifty in six ways, from
// whole pages over MCP to one task-level operation, and prints what a model
// would have to read in each: section "Releases" of docs/experiments.md.
//
//	go run ./experiments/releases            three generated sets
//	go run ./experiments/releases -dir DIR   the pages DIR/*.json, in the order of their names
//
// Every path runs the real thing: an MCP server as a child process, and
// spillway in front of it or as a command.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/spillway-mcp/spillway/internal/cli"
)

// The names under which this program runs itself as another one.
const (
	asSpillway = "__spillway"
	asServer   = "__server"
)

func main() {
	if played() {
		return
	}
	dir := flag.String("dir", "", "count the pages `DIR`/*.json, not the generated sets")
	flag.Parse()
	sets := generated()
	if *dir != "" {
		sets = []set{{name: *dir, dir: *dir}}
	}
	if err := run(context.Background(), os.Stdout, sets); err != nil {
		fmt.Fprintln(os.Stderr, "releases:", err)
		os.Exit(1)
	}
}

// played plays the program that this one was started as, and reports whether
// it did.
func played() bool {
	if len(os.Args) < 2 {
		return false
	}
	switch os.Args[1] {
	case asSpillway:
		os.Args = append(os.Args[:1], os.Args[2:]...)
		os.Exit(cli.Main())
	case asServer:
		pages, err := set{name: os.Args[2], dir: os.Args[3]}.pages()
		if err == nil {
			err = serve(os.Stdin, os.Stdout, pages)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "releases:", err)
			os.Exit(1)
		}
	default:
		return false
	}
	return true
}

// run measures every set and prints its table.
func run(ctx context.Context, w io.Writer, sets []set) error {
	for i, s := range sets {
		if i > 0 {
			fmt.Fprintln(w)
		}
		t, err := measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		t.write(w)
	}
	return nil
}
