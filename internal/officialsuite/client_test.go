//go:build unix

package officialsuite

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The suite starts a client with the URL of a server of its own, one for each
// scenario. The client it is given here is this test binary, which starts a
// gateway in front of that server and the fixture against the gateway.

// betweenVar holds what the test binary needs as a client; it is one where the
// variable is set.
const betweenVar = "OFFICIALSUITE_BETWEEN"

// between is what a client with a gateway before it needs.
type between struct {
	Spillway, Client string
	Dir              string // where each scenario leaves a folder
}

func (b between) env() string {
	text, _ := json.Marshal(b) // three strings
	return betweenVar + "=" + string(text)
}

// oauth begins the names of the scenarios that run without the gateway and are
// not compared. In them the client gets its token from the authorization server
// of the server that it calls. Behind the gateway there is none to be had: what
// an upstream asks for is the gateway's, in its configuration, and a client's
// token is one of the gateway and goes no further (K66).
const oauth = "auth/"

// counted is the file of a scenario that holds how many requests came through.
const counted = "requests"

func TestMain(m *testing.M) {
	if text := os.Getenv(betweenVar); text != "" {
		os.Exit(beClient(text, os.Args[len(os.Args)-1]))
	}
	code := m.Run()
	if binaries != "" {
		os.RemoveAll(binaries)
	}
	os.Exit(code)
}

func beClient(text, url string) int {
	var b between
	err := json.Unmarshal([]byte(text), &b)
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	switch {
	case err != nil:
	case strings.HasPrefix(scenario, oauth):
		err = b.client(url)
	default:
		err = b.through(scenario, url)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode() // it has said why
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the client behind the gateway:", err)
		return 1
	}
	return 0
}

func (b between) client(url string) error {
	cmd := exec.Command(b.Client, url)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

func (b between) through(scenario, url string) (err error) {
	dir := filepath.Join(b.Dir, scenario)
	g, err := startGateway(b.Spillway, dir, fmt.Sprintf(`{url: %q}`, url))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.stop()) }()
	if err := b.client(g.url); err != nil {
		return err
	}
	n, err := g.requests()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, counted), fmt.Append(nil, n), 0o644)
}

// clients are the runs of the client side, with the number of their scenarios
// other than those of OAuth.
var clients = []struct {
	revision  string
	scenarios int
}{
	{"2025-11-25", 5},
	{"2026-07-28", 8},
}

// A client before the gateway is to the suite's servers what it is without it.
func TestClient(t *testing.T) {
	k := need(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clients {
		t.Run(c.revision, func(t *testing.T) {
			dir := t.TempDir()
			as := func(name, command string, env ...string) outcome {
				o := k.run(t, filepath.Join(dir, name), "client", env, "--command", command, "--requirements", c.revision)
				maps.DeleteFunc(o.checks, func(scenario string, _ []check) bool { return strings.HasPrefix(scenario, oauth) })
				return o
			}
			direct := as("direct", k.client)
			b := between{k.spillway, k.client, filepath.Join(dir, "gateways")}
			through := as("through", self, b.env())
			report(t, direct, through, c.scenarios, nil)
			for scenario := range through.checks {
				if n, err := os.ReadFile(filepath.Join(b.Dir, scenario, counted)); err != nil || string(n) == "0" {
					t.Errorf("scenario %s: %s requests came through the gateway, %v", scenario, n, err)
				}
			}
		})
	}
}
