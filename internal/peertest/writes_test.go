package peertest

import "testing"

// Writes of a store that echoes, and of the reference memory server, as the
// strict TypeScript client sees them: single, bulk, update, delete, a tool that
// switches on an argument, the three outcomes, tokens, verify, and what auto
// must keep its hands off.
func TestWrites_K53_RED27_RED29_RED30_RED33_RED34_RED35(t *testing.T) {
	need(t)
	tap(t, "writes.mjs", "--work", t.TempDir(), "--spillway", spillway(t))
}
