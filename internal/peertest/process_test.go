//go:build unix

package peertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// marked returns the command lines of the processes that carry mark in their
// environment, by process id.
func marked(mark string) map[int]string {
	found := map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(env, []byte(mark)) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if len(line) == 0 {
			continue // ended, and not yet waited for
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
	}
	return found
}

// A server that npx starts is a grandchild of ours, behind npm and a shell.
// However Spillway ends, none of them stays.
func TestK62_NpxServerEndsWithUs(t *testing.T) {
	need(t)
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("finds processes by their environment in /proc, which this system lacks")
	}
	for name, end := range map[string]func(s *session){
		"kill -9":         func(s *session) { s.cmd.Process.Signal(syscall.SIGKILL) },
		"terminated":      func(s *session) { s.cmd.Process.Signal(syscall.SIGTERM) },
		"input is closed": func(s *session) { s.in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mark := fmt.Sprintf("PEERTEST_MARK=%d-%s", os.Getpid(), filepath.Base(dir))
			t.Setenv("PEERTEST_MARK", strings.TrimPrefix(mark, "PEERTEST_MARK="))
			base := filepath.Dir(scripts(t))
			// npx finds the installed server from the folder it is started in.
			argv := []string{"sh", "-c", `cd "$0" && exec "$@"`, base}
			argv = append(argv, run(t, "everything", "", "npx", "--no-install", "mcp-server-everything")...)
			s := start(t, dir, argv...)
			t.Cleanup(func() {
				for pid := range marked(mark) {
					syscall.Kill(pid, syscall.SIGKILL)
				}
			})
			s.initialize("2025-11-25", `{}`)
			// A call that outlives us: the server is busy when we end.
			s.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"trigger-long-running-operation","arguments":{"duration":300,"steps":2}}}` + "\n")
			s.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"here"}}}` + "\n")
			s.answer(`2`)
			before := marked(mark)
			if nodes := count(before, "node"); nodes == 0 || len(before) < 3 {
				t.Fatalf("want spillway, npx and the server running, found %v", before)
			}
			end(s)
			deadline := time.After(15 * time.Second)
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for len(marked(mark)) > 0 {
				select {
				case <-tick.C:
				case <-deadline:
					t.Fatalf("after 15 s still running: %v", marked(mark))
				}
			}
		})
	}
}

func count(processes map[int]string, word string) int {
	n := 0
	for _, line := range processes {
		if strings.Contains(line, word) {
			n++
		}
	}
	return n
}
