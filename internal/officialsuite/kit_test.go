//go:build unix

package officialsuite

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// kit is what the tests run: the suite, the fixtures and Spillway.
type kit struct {
	suite    []string // the command of the suite
	spillway string
	server   string // everything-server, of the Go SDK
	client   string // everything-client
}

// need returns the kit, or skips the test unless peers were asked for.
func need(t *testing.T) kit {
	t.Helper()
	if os.Getenv("SPILLWAY_TEST_PEERS") != "1" {
		t.Skip("needs npm and the npm registry: set SPILLWAY_TEST_PEERS=1 to run")
	}
	k, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// binaries is the folder of what was built for this run of the tests. It is not
// kept: the compiler's cache holds what takes time, and what is linked anew is
// never old.
var binaries string

var tools = sync.OnceValues(func() (kit, error) {
	suite, err := install()
	if err != nil {
		return kit{}, err
	}
	if binaries, err = os.MkdirTemp("", "spillway-officialsuite-"); err != nil {
		return kit{}, err
	}
	// The fixtures are commands within the module of the SDK that go.mod requires.
	const fixtures = "github.com/modelcontextprotocol/go-sdk/conformance/"
	build := exec.Command("go", "build", "-o", binaries+string(filepath.Separator), "./cmd/spillway", fixtures+"everything-server", fixtures+"everything-client")
	build.Dir = root()
	if out, err := build.CombinedOutput(); err != nil {
		return kit{}, fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	return kit{
		suite:    suite,
		spillway: filepath.Join(binaries, "spillway"),
		server:   filepath.Join(binaries, "everything-server"),
		client:   filepath.Join(binaries, "everything-client"),
	}, nil
})

// root is the top of the checkout.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// install has the packages of the lock file in the user's cache, under the lock
// file's hash, and returns the command of the suite.
func install() ([]string, error) {
	from := filepath.Join(root(), "internal", "officialsuite", "testdata")
	lock, err := os.ReadFile(filepath.Join(from, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	sum := sha256.Sum256(lock)
	base := filepath.Join(cache, "spillway-officialsuite", hex.EncodeToString(sum[:6]))
	if err := npmCI(from, base); err != nil {
		return nil, err
	}
	node, err := node(base)
	return []string{node, filepath.Join(base, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")}, err
}

// npmCI runs npm ci in base unless a finished install is there.
func npmCI(from, base string) error {
	done := filepath.Join(base, "installed")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(base, name), data, 0o644); err != nil {
			return err
		}
	}
	cmd := exec.Command("npm", "ci", "--ignore-scripts")
	cmd.Dir = base
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci in %s: %w\n%s", base, err, out)
	}
	return os.WriteFile(done, nil, 0o644)
}

// node returns the Node that the lock file names, or, where npm has none for
// this machine, the PATH's. The suite needs 22 or newer, the other peers 20.
func node(base string) (string, error) {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	path := filepath.Join(base, "node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	path, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("the suite needs Node 22 or newer: %w", err)
	}
	version, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	var major int
	if _, err := fmt.Sscanf(string(version), "v%d.", &major); err != nil || major < 22 {
		return "", fmt.Errorf("the suite needs Node 22 or newer, got %s", strings.TrimSpace(string(version)))
	}
	return path, nil
}
