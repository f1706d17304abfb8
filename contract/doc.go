// Package contract runs task-level operations from one versioned definition:
// bounded reads that say what they covered, and mutations that can be
// recovered under one key.
package contract
