package contracttest

import _ "embed"

// URLVariable is the environment variable in which OperationsYAML finds the
// URL of the upstream.
const URLVariable = "SPILLWAY_CONTRACTTEST_URL"

// OperationsYAML holds the suite's operations as an operations.yaml, for faces
// that read definitions from a file: each is that of Definitions, member by
// member (A05).
//
//go:embed operations.yaml
var OperationsYAML []byte
