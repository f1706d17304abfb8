// Package contracttest is the suite that every face of an operation passes:
// the Go client, the command line, an MCP server, and whatever you build over
// the same contract.
//
// Write an [Adapter] that opens processes of your face, and call [Run]:
//
//	func TestFace(t *testing.T) { contracttest.Run(t, myAdapter{}) }
//
// Each case gets a [World]: a fake upstream with an append-only log of its
// effects, an empty directory for the journal, a clock and a policy. It makes
// calls through your adapter, breaks what its rule is about, and then judges
// the log, not the answers: every key has at most one effect; completed means
// exactly one, with an equal result; rejected means none; unknown means none or
// one; and after a reconcile nothing is unknown that the upstream can answer.
//
// A face that cannot do something (a command line has no clock to move) says so
// in [Adapter.Lacks]; the cases that need it are skipped with that reason.
//
// [Broken] lists wrappers that break one rule each. A suite that passes over
// one of them tests nothing: see [Breaker].
package contracttest
