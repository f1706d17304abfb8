// Package officialsuite holds the gateway to what the official MCP conformance
// suite says of a server and of a client without it: the suite runs against the
// Go SDK's own fixtures, once directly and once with `spillway serve` between,
// and both runs have to agree check by check.
//
// It has tests only. They need npm, install the packages of
// testdata/package-lock.json, a Node among them, into the user's cache, and run
// when SPILLWAY_TEST_PEERS=1 is set.
package officialsuite
