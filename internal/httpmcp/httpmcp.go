// Package httpmcp owns what both HTTP edges of a gateway share: the names of
// MCP's headers, the revisions and their eras, the error codes that HTTP knows
// of, and the headers that a modern request repeats from its body. The edges are
// its subpackages: server faces clients, client faces upstreams, sse is the
// stream format between them. None of them decodes a message: bodies pass as the
// bytes that came.
package httpmcp

import "slices"

// The headers of MCP, in the form that net/http keeps them in.
const (
	HeaderSession  = "Mcp-Session-Id"
	HeaderRevision = "Mcp-Protocol-Version"
	HeaderMethod   = "Mcp-Method"
	HeaderName     = "Mcp-Name"
	HeaderLastID   = "Last-Event-Id"
	PrefixParam    = "Mcp-Param-"
)

// The revisions of MCP.
const (
	Revision20241105 = "2024-11-05"
	Revision20250326 = "2025-03-26"
	Revision20250618 = "2025-06-18"
	Revision20251125 = "2025-11-25"
	Revision20260728 = "2026-07-28"
)

// The members of a modern request's _meta.
const (
	MetaRevision     = "io.modelcontextprotocol/protocolVersion"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

var (
	legacy = []string{Revision20241105, Revision20250326, Revision20250618, Revision20251125}
	modern = []string{Revision20260728}
)

// Legacy reports whether a revision is one of those with a handshake and
// sessions.
func Legacy(revision string) bool { return slices.Contains(legacy, revision) }

// Modern reports whether a revision is one of the stateless ones that are known.
func Modern(revision string) bool { return slices.Contains(modern, revision) }

// LegacyRevisions returns the legacy revisions, the oldest first.
func LegacyRevisions() []string { return slices.Clone(legacy) }

// ModernRevisions returns the modern revisions, the oldest first.
func ModernRevisions() []string { return slices.Clone(modern) }

// Batches reports whether messages of the revision may come in batches. None
// named is 2025-03-26.
func Batches(revision string) bool {
	return revision == "" || revision == Revision20241105 || revision == Revision20250326
}
