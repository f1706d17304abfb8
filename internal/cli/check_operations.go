package cli

import (
	"errors"
	"io"
	"os"
	"regexp"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/operation"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// operationsKey is the first key of an operations file, for one that cannot be
// read further. No server of a rules file is called so and then holds names with
// versions.
var operationsKey = regexp.MustCompile(`(?m)\A(?:\s|#[^\n]*\n|\{)*"?operations"?\s*:`)

// kindOf reports what a file holds: "operations", "config" or "rules".
func kindOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "rules"
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, yamlpos.MaxBytes))
	if err != nil {
		return "rules"
	}
	root, err := yamlpos.Read(path, text)
	if err != nil || root.Kind != yamlpos.Map {
		if operationsKey.Match(text) {
			return "operations"
		}
		return "rules"
	}
	for _, key := range []string{"servers", "mcpServers"} { // the second in files of other clients
		if n := root.Get(key); n != nil && n.Kind == yamlpos.Map {
			for _, p := range n.Pairs { // a server called servers has tools, which have neither
				if p.Value.Get("command") != nil || p.Value.Get("url") != nil {
					return "config"
				}
			}
		}
	}
	for _, key := range []string{"stash", "ledger", "record", "journal", "serve"} {
		if n := root.Get(key); n != nil && n.Kind == yamlpos.Map {
			for _, p := range n.Pairs { // a server of that name has tools, whose rules are maps or lists
				if k := p.Value.Kind; k != yamlpos.Map && k != yamlpos.List && k != yamlpos.Null {
					return "config"
				}
			}
		}
	}
	if n := root.Get("rules"); n != nil && n.Kind == yamlpos.String {
		return "config"
	}
	switch n := root.Get("operations"); {
	case n == nil:
	case n.Kind == yamlpos.String:
		return "config"
	default:
		return "operations"
	}
	return "rules"
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
