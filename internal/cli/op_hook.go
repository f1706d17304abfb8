package cli

import "github.com/spillway-mcp/spillway/contract"

// hook changes what operations run with; nil changes nothing.
var hook func(*contract.Options) error

// HookOperations lets the conformance suite, whose test binary is the command,
// give operations another clock, a policy and a journal that fails. No flag and
// no variable of the environment reaches it.
func HookOperations(f func(*contract.Options) error) { hook = f }
