// Command counting counts records over loopback HTTP in ways of its own, each
// in a process of the operating system, and prints how fast each is and how
// much memory it takes: section "Counting" of docs/experiments.md.
//
//	go run ./experiments/counting
//
// The plain loop is what somebody writes instead of an operation: it fetches
// and unmarshals the same pages with encoding/json into a struct that names the
// three members which it needs. Rounds take turns, so that a busy machine is
// busy for all of them; rates are compared within a round.
package main

import (
	"flag"
	"fmt"
	"os"
)

// asCounter is the name under which this program runs itself as one way to
// count.
const asCounter = "__count"

func main() {
	if len(os.Args) > 1 && os.Args[1] == asCounter {
		if err := counter(os.Stdout, os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, "counting:", err)
			os.Exit(1)
		}
		return
	}
	o := options{}
	flag.IntVar(&o.pages, "pages", 1000, "pages of the collection")
	flag.IntVar(&o.size, "size", 100, "records on a page")
	flag.DurationVar(&o.wait, "wait", 0, "wait before each answer")
	flag.IntVar(&o.rounds, "rounds", 7, "rounds")
	flag.Parse()
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "counting:", err)
		os.Exit(1)
	}
}
