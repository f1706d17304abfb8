// Package sse reads and writes streams of server-sent events, of which MCP uses
// the message data, ids, event names and retry times. It knows nothing of HTTP.
package sse
