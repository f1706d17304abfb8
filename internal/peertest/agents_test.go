package peertest

import (
	"path/filepath"
	"testing"
)

// Scripted agents finish their tasks through the reviewed rules, on real
// servers, knowing nothing but what they are shown. GitHub's server takes part
// where its API can listen, PostgreSQL's where SPILLWAY_PEER_POSTGRES and
// SPILLWAY_TEST_POSTGRES say where they are.
func TestAgentsFinishTheirTasks(t *testing.T) {
	need(t)
	if err := withGitHub(t); err != nil {
		t.Logf("without GitHub's server: %v", err)
	}
	tap(t, "agents/play.mjs", "--work", filepath.Join(t.TempDir(), "work"), "--out", t.TempDir(),
		"--spillway", spillway(t), "--rules", filepath.Join(root(), "rules", "reviewed.yaml"))
}
