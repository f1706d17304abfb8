package peertest

import "testing"

// The rule sets of peers/rules: the built-in default, and sharp ones that cut
// nearly everything in each way there is.
const rulesets = "default,design,pass,tight,rows,sharp,strip"

// Every tool of the three reference servers, called by the strict TypeScript
// client directly and through Spillway: identical where no rule cut, honest,
// valid, within the cap and one expand from the original where one did.
// K01 K02 K11 K12 K20 K24 RED-13 RED-15 RED-17 RED-39.
func TestReferenceServers_K01_K02_K12_K20_K24_RED13_RED15_RED17_RED39(t *testing.T) {
	need(t)
	for _, name := range []string{"memory", "filesystem", "everything"} {
		t.Run(name, func(t *testing.T) {
			tap(t, "drive.mjs", "--work", t.TempDir(), "--server", name, "--spillway", spillway(t), "--rules", rulesets)
		})
	}
}

// What the model saw of a file that was cut is written back: refused, naming
// the ref; with a foreign ref it passes.
func TestK13_RED49_WriteOfWhatWasCut(t *testing.T) {
	need(t)
	tap(t, "guard.mjs", "--work", t.TempDir(), "--spillway", spillway(t))
}

// The settings that change what is listed and linked, and rules that change
// while a session runs.
func TestSettings_K36_K45_RED19_RED20_RED41_RED45_RED51(t *testing.T) {
	need(t)
	tap(t, "settings.mjs", "--work", t.TempDir(), "--spillway", spillway(t))
}

// Sixty long calls and sixty short ones at once, thirty of them cancelled.
func TestK65_ManyCallsInFlight(t *testing.T) {
	need(t)
	t.Run("direct", func(t *testing.T) { tap(t, "flight.mjs", "--work", t.TempDir()) })
	t.Run("through", func(t *testing.T) { tap(t, "flight.mjs", "--work", t.TempDir(), "--spillway", spillway(t)) })
}
