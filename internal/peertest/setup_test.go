package peertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// need skips the test unless peers were asked for.
func need(t testing.TB) {
	t.Helper()
	if os.Getenv("SPILLWAY_TEST_PEERS") != "1" {
		t.Skip("needs Node, npm and the npm registry: set SPILLWAY_TEST_PEERS=1 to run")
	}
}

// root is the top of the checkout.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// binary builds the spillway command once and returns its path.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "spillway-peertest-")
	if err != nil {
		return "", err
	}
	temporary = append(temporary, dir)
	path := filepath.Join(dir, "spillway")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/spillway")
	cmd.Dir = root()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/spillway: %w\n%s", err, out)
	}
	return path, nil
})

var temporary []string

func TestMain(m *testing.M) {
	if play := roles[os.Getenv(roleVar)]; play != nil {
		play() // this process is not the test but a server that a test has started
		os.Exit(0)
	}
	code := m.Run()
	for _, dir := range temporary {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// spillway returns the built command.
func spillway(t testing.TB) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// workspace holds node_modules as the lock file says, in the user's cache
// under the lock file's hash, and beside it a fresh copy of peers/, since Node
// finds modules by walking up from the script.
var workspace = sync.OnceValues(func() (string, error) {
	peers := filepath.Join(root(), "peers")
	lock, err := os.ReadFile(filepath.Join(peers, "package-lock.json"))
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	sum := sha256.Sum256(lock)
	base := filepath.Join(cache, "spillway-peers", hex.EncodeToString(sum[:6]))
	if err := install(peers, base); err != nil {
		return "", err
	}
	scripts, err := os.MkdirTemp(base, "scripts-")
	if err != nil {
		return "", err
	}
	temporary = append(temporary, scripts)
	return scripts, os.CopyFS(scripts, scriptsOnly{os.DirFS(peers)})
})

// install runs npm ci in base unless a finished install is there.
func install(peers, base string) error {
	done := filepath.Join(base, "installed")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		data, err := os.ReadFile(filepath.Join(peers, name))
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

// scriptsOnly hides a node_modules folder that someone installed by hand.
type scriptsOnly struct{ fs.FS }

func (s scriptsOnly) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(s.FS, name)
	kept := entries[:0]
	for _, entry := range entries {
		if entry.Name() != "node_modules" {
			kept = append(kept, entry)
		}
	}
	return kept, err
}

// scripts returns the folder that holds the peers' scripts, ready to run.
func scripts(t testing.TB) string {
	t.Helper()
	dir, err := workspace()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// server returns the command of an installed reference server.
func server(t testing.TB, name string, args ...string) []string {
	t.Helper()
	entry := filepath.Join(filepath.Dir(scripts(t)), "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
	return append([]string{"node", entry}, args...)
}

// isolated is an environment whose home is dir, for the npm servers: their
// clock and dice stand still.
func isolated(t testing.TB, dir string) []string {
	t.Helper()
	return append(home(dir), "NODE_OPTIONS=--import="+filepath.Join(scripts(t), "steady.mjs"))
}

// home is an environment whose home is dir: neither the user's rules nor the
// user's stash take part.
func home(dir string) []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "XDG_") && !strings.HasPrefix(pair, "HOME=") && !strings.HasPrefix(pair, "SPILLWAY_") {
			env = append(env, pair)
		}
	}
	return append(env,
		"HOME="+dir,
		"XDG_CONFIG_HOME="+filepath.Join(dir, "config"),
		"XDG_STATE_HOME="+filepath.Join(dir, "state"),
		"XDG_DATA_HOME="+filepath.Join(dir, "data"),
		"XDG_CACHE_HOME="+filepath.Join(dir, "cache"),
		"MEMORY_FILE_PATH="+filepath.Join(dir, "memory.jsonl"),
		"TZ=UTC",
	)
}

// tap runs a script of peers/ and makes each of its checks a subtest.
func tap(t *testing.T, script string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{filepath.Join(scripts(t), script)}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	checks := 0
	planned := false
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		name, ok := strings.CutPrefix(line, "ok ")
		if !ok {
			if name, ok = strings.CutPrefix(line, "not ok "); !ok {
				planned = planned || strings.HasPrefix(line, "1..")
				if strings.HasPrefix(line, "# ") {
					t.Log(line[2:])
				}
				continue
			}
		}
		checks++
		_, name, _ = strings.Cut(name, " - ")
		name, detail, _ := strings.Cut(name, " # ")
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(line, "not ok ") {
				t.Error(strings.ReplaceAll(detail, `\n`, "\n"))
			}
		})
	}
	if !planned || checks == 0 {
		t.Fatalf("%s ended early after %d checks: %v\n%s", script, checks, err, stderr.String())
	}
}
