// Package replay runs recorded sessions through rules, without any server, and
// says what a session would have looked like: what results would have taken
// before and after, which rules do nothing, what changes between two rule sets,
// and whether what the session needed later would still have been shown. It
// calls no model and guesses nothing; docs/measurement.md says what it can see.
//
// Start with [Run].
package replay
