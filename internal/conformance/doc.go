// Package conformance holds this project's own faces and journals to package
// contracttest: the Go client in processes that are killed at every step, the
// command line and the tools of the MCP face, over the embedded journal and
// over PostgreSQL. It has tests only.
package conformance
