// Package peertest holds Spillway to the behaviour of real MCP peers: the npm
// reference servers, once directly and once through `spillway run`, under the
// strict TypeScript client and under raw byte streams.
//
// It has tests only. They need Node 20 or newer and npm, install the packages
// of peers/package-lock.json into the user's cache, and run when
// SPILLWAY_TEST_PEERS=1 is set.
package peertest
