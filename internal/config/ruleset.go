package config

import (
	"context"
	"log/slog"

	"github.com/spillway-mcp/spillway/internal/rules"
)

// Rules returns the rule set of the configuration: of its rules file, its
// inline rules, or the built-in ones.
func (c *Config) Rules() (*rules.Set, error) {
	switch {
	case c.RulesFile != "":
		return rules.Load(c.RulesFile)
	case c.InlineRules != nil:
		return c.InlineRules, nil
	}
	return rules.Default(), nil
}

// WatchRules returns the rule set of the configuration and follows its file
// until ctx is done. Of a configuration with inline rules only these are read
// again; the rest takes effect at the next start.
func (c *Config) WatchRules(ctx context.Context, log *slog.Logger) (*rules.Watcher, error) {
	switch {
	case c.RulesFile != "":
		return rules.Watch(ctx, c.RulesFile, log)
	case c.InlineRules != nil:
		return rules.WatchFile(ctx, c.File, c.inline, log)
	}
	return rules.Static(rules.Default()), nil
}

// inline returns the rules of a changed configuration file.
func (c *Config) inline(name string, data []byte) (*rules.Set, error) {
	changed, err := Parse(name, data, c.lookup)
	if err != nil {
		return nil, err
	}
	return changed.Rules()
}
