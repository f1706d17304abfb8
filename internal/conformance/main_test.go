package conformance

import (
	"fmt"
	"os"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest"
	"github.com/spillway-mcp/spillway/internal/cli"
)

// The test binary is every other process of these tests, too: the variable
// says which.
const (
	processEnv = "SPILLWAY_CONFORMANCE_PROCESS" // serves calls; holds its settings as JSON
)

func TestMain(m *testing.M) {
	if settings := os.Getenv(processEnv); settings != "" {
		if err := serve(settings); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(commandEnv) != "" {
		if url := os.Getenv(worldEnv); url != "" {
			cli.HookOperations(func(o *contract.Options) error { return contracttest.Follow(url, o) })
		}
		os.Exit(cli.Main())
	}
	if url := os.Getenv(bridgeEnv); url != "" {
		if err := serveBridge(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(serverEnv) != "" {
		if err := serveNothing(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// long reports whether the tests have the time for the full counts.
func long() bool { return os.Getenv("SPILLWAY_TEST_LONG") != "" }
