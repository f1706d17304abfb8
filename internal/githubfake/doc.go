// Package githubfake is a small part of GitHub's API, for tests of GitHub's
// MCP server: REST under /api/v3/, and the GraphQL documents that the server
// sends to /api/graphql, over data that is generated, the same on every
// machine. It keeps what is written to it until it is reset, and looks at no
// token.
package githubfake
