package peertest

import (
	"os"
	"testing"
)

// roleVar names the part that the test binary plays when a test starts it again,
// as a server.
const roleVar = "PEERTEST_ROLE"

// roles are the servers that this binary can be. A role reads what it needs from
// its environment and returns when its client has hung up.
var roles = map[string]func(){
	"answerer":      func() { newAnswerer().stdio(os.Stdin, os.Stdout) },
	"answerer-http": func() { newAnswerer().http() },
	"misfit":        func() { newMisfit(os.Stdout).play(os.Stdin) },
}

// self returns the path of this binary.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
