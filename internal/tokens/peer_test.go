package tokens

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// peerDir returns the folder under whose node_modules npm gpt-tokenizer is.
// SPILLWAY_TEST_PEERS names it, or is 1 for the repository's own peers folder.
func peerDir(t testing.TB) string {
	dir := os.Getenv("SPILLWAY_TEST_PEERS")
	if dir == "" {
		t.Skip("SPILLWAY_TEST_PEERS is not set: counts are not compared with a running gpt-tokenizer")
	}
	if dir == "1" {
		dir = "../../peers"
	}
	pkg := filepath.Join(dir, "node_modules", "gpt-tokenizer")
	if _, err := os.Stat(pkg); err != nil {
		t.Skipf("%s is not there: counts are not compared with a running gpt-tokenizer", pkg)
	}
	return dir
}

// A peer is a running gpt-tokenizer.
type peer struct {
	in  io.WriteCloser
	out *bufio.Scanner
}

func startPeer(t testing.TB) *peer {
	dir := peerDir(t)
	script, err := filepath.Abs("testdata/peer.mjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", script, "count")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
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
	return &peer{in, bufio.NewScanner(out)}
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
