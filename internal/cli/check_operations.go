package cli

import (
	"errors"
	"os"
	"regexp"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/operation"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// operationsKey is the first key of an operations file. No server of a rules
// file is called so and then holds names with versions.
var operationsKey = regexp.MustCompile(`(?m)\A(?:\s|#[^\n]*\n|\{)*"?operations"?\s*:`)

// isOperations reports whether a file holds operations and no rules.
func isOperations(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, _ := f.Read(head)
	return operationsKey.Match(head[:n])
}

// readOperations checks the operations of a configuration, and notes how many
// there are.
func (c *checked) readOperations(cfg *config.Config) error {
	if cfg == nil || cfg.Operations == "" {
		return nil
	}
	c.Files = append(c.Files, checkedFile{cfg.Operations, "operations"})
	set, err := operation.Load(cfg.Operations, operation.Options{ServerNames: serverNames(cfg)})
	var faults yamlpos.Errors
	switch {
	case errors.As(err, &faults):
		c.Problems = append(c.Problems, faults...)
		return nil
	case err != nil:
		return err
	}
	c.operations = len(set.Definitions)
	c.Warnings = append(c.Warnings, set.Warnings...)
	return nil
}
