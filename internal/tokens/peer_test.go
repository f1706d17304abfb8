package tokens

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// peerDir installs npm gpt-tokenizer, as testdata/peer locks it, into a folder of
// its own and returns that. It skips the test unless peers were asked for.
func peerDir(t testing.TB) string {
	t.Helper()
	if os.Getenv("SPILLWAY_TEST_PEERS") != "1" {
		t.Skip("needs Node, npm and the npm registry, to compare counts with a running gpt-tokenizer: set SPILLWAY_TEST_PEERS=1 to run")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/peer")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v: %s", err, out)
	}
	return dir
}

// A peer is a running gpt-tokenizer.
type peer struct {
	in  io.WriteCloser
	out *bufio.Scanner

	unicode string // version of its node's tables
}

func startPeer(t testing.TB) *peer {
	cmd := exec.Command("node", "peer.mjs", "count")
	cmd.Dir, cmd.Stderr = peerDir(t), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	version, err := exec.Command("node", "-p", "process.versions.unicode").Output()
	if err != nil {
		t.Fatal(err)
	}
	return &peer{in, bufio.NewScanner(out), strings.TrimSpace(string(version))}
}

// counts returns what the peer counts: cl100k_base, o200k_base.
func (p *peer) counts(t testing.TB, text []byte) (n [2]int) {
	line := base64.StdEncoding.AppendEncode(nil, text)
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	if !p.out.Scan() {
		t.Fatalf("the peer ended: %v", p.out.Err())
	}
	if err := json.Unmarshal(p.out.Bytes(), &n); err != nil {
		t.Fatal(err)
	}
	return n
}
