// Command recovery loses every answer of an upstream to a first process and
// lets a second one try again, over three interfaces, with and without a key
// that is kept across the two, and prints how many customers there are then:
// section "Recovery" of docs/experiments.md.
//
//	go run ./experiments/recovery
//
// The upstream has the shape of Stripe's: POST /v1/customers with a form and,
// where there is one, an Idempotency-Key, under which it answers a repetition
// with its first answer and refuses other parameters. Each process is one of
// the operating system.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spillway-mcp/spillway/internal/cli"
)

// The names under which this program runs itself as another one.
const (
	asSpillway = "__spillway"
	asHTTP     = "__http"
	asSDK      = "__sdk"
	asServer   = "__server"
)

func main() {
	if played() {
		return
	}
	rows, err := run(context.Background())
	if err == nil {
		err = write(os.Stdout, rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "recovery:", err)
		os.Exit(1)
	}
}

// played plays the program that this one was started as, and reports whether
// it did.
func played() bool {
	if len(os.Args) < 2 {
		return false
	}
	var err error
	switch os.Args[1] {
	case asSpillway:
		os.Args = append(os.Args[:1], os.Args[2:]...)
		os.Exit(cli.Main())
	case asHTTP:
		err = plainHTTP(os.Stdout, os.Args[2:])
	case asSDK:
		err = withSDK(os.Stdout, os.Args[2:])
	case asServer:
		err = noTools(os.Stdin, os.Stdout)
	default:
		return false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "recovery:", err)
		os.Exit(1)
	}
	return true
}

// row is one interface, with or without a key that is kept.
type row struct {
	face, key        string
	first, second    string // what the two processes were told
	customers        int    // after both
	changed          string // what a call with other parameters under the key was told
	customersChanged int    // after it
	intents          int    // customers of two keys with equal parameters
}

func write(w io.Writer, rows []row) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "interface\tkey\tfirst process\tsecond process\tcustomers\tchanged parameters\tcustomers\ttwo intents")
	for _, r := range rows {
		changed, after, intents := "-", "-", "-"
		if r.changed != "" {
			changed, after, intents = r.changed, fmt.Sprint(r.customersChanged), fmt.Sprint(r.intents)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", r.face, r.key, r.first, r.second, r.customers, changed, after, intents)
	}
	return tw.Flush()
}
