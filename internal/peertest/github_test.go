package peertest

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/spillway-mcp/spillway/internal/githubfake"
)

// githubVersion is the release of GitHub's MCP server that the reviewed rules
// were written for.
const githubVersion = "v1.4.0"

// githubServer builds GitHub's MCP server once, into the user's cache, from a
// module of its own, so that none of its dependencies is one of ours.
var githubServer = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	base := filepath.Join(cache, "spillway-peers", "github-mcp-server-"+githubVersion)
	binary := filepath.Join(base, "github-mcp-server")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", err
	}
	const module = "github.com/github/github-mcp-server"
	mod := fmt.Sprintf("module peer\n\ngo 1.24\n\nrequire %s %s\n", module, githubVersion)
	if err := os.WriteFile(filepath.Join(base, "go.mod"), []byte(mod), 0o644); err != nil {
		return "", err
	}
	// A build that is cut short must not look like a server to the next run.
	part := fmt.Sprintf("%s.%d", binary, os.Getpid())
	cmd := exec.Command("go", "build", "-mod=mod", "-o", part, module+"/cmd/github-mcp-server")
	cmd.Dir = base
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build of %s %s: %w\n%s", module, githubVersion, err, out)
	}
	return binary, os.Rename(part, binary)
})

// withGitHub builds the server, starts the API that it talks to, and tells the
// scripts of peers/ about both. It returns an error where this machine lets
// nobody listen there: the server talks to port 80 alone.
func withGitHub(t *testing.T) error {
	t.Helper()
	listener, err := listenOn80()
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EADDRNOTAVAIL) {
		return fmt.Errorf("the API of GitHub's server needs port 80 of an address 127.0.0.x: %w", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	api := &httptest.Server{Listener: listener, Config: &http.Server{Handler: githubfake.New()}}
	api.Start()
	t.Cleanup(api.Close)
	binary, err := githubServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SPILLWAY_PEER_GITHUB", binary)
	t.Setenv("SPILLWAY_PEER_GITHUB_HOST", api.URL)
	return nil
}

// listenOn80 takes port 80 of the first loopback address that is free.
func listenOn80() (net.Listener, error) {
	var last error
	for i := 9; i < 60; i++ {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:80", i))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return listener, err
		}
		last = err
	}
	return nil, last
}

// GitHub's MCP server, called by the strict TypeScript client directly and
// through Spillway, with rule sets that know nothing of it: its own bytes where
// no rule cut, else an honest cut, and one expand from the original. The set
// design has a rule for another shape of search_code (K14).
func TestGitHub_K14_K24_RED10_RED15_RED17_RED39(t *testing.T) {
	need(t)
	if err := withGitHub(t); err != nil {
		t.Skip(err)
	}
	tap(t, "drive.mjs", "--work", t.TempDir(), "--server", "github", "--spillway", spillway(t), "--rules", "default,design,pass,tight,rows")
}

// The reviewed rules on the server that they were written for: each method of
// its readers by its own rule, no selected path that no row has, small results
// that the strict client takes and that expand to the original, the writes, and
// a file that was read in part and may not be written back so.
func TestReviewedRulesOnGitHub_K13_K14_RED05_RED06_RED25_RED30_RED32_RED33_RED49(t *testing.T) {
	need(t)
	if err := withGitHub(t); err != nil {
		t.Skip(err)
	}
	tap(t, "githubrules.mjs", "--work", t.TempDir(), "--spillway", spillway(t), "--rules", filepath.Join(root(), "rules", "reviewed.yaml"))
}
