package peertest

import "testing"

// Operations as tasks, driven by the task streams of the TypeScript client.
func TestTasks_C12_C15_C16_C23_C24(t *testing.T) {
	need(t)
	tap(t, "tasks.mjs", "--work", t.TempDir(), "--spillway", spillway(t))
}
