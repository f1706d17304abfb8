package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

type checkOptions struct {
	files  config.Flags
	rules  string
	server string
	live   bool
	json   bool
}

func newCheck(s streams) *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check [--live] [FILE] [-- COMMAND [ARG...]]",
		Short: "Check a rules file, and with --live how it fits a server",
		Long: `Check a rules file, an operations file or a configuration with its rules and its
operations; without FILE the configuration that other commands take. All faults
are printed with file, line and column. Nothing is started. Of a mutation it
says what leaving out a classification or a reconcile means.

With --live the server is started too, by COMMAND or by its entry in the
configuration (--server), or reached by the url there, and its tools are listed,
not called: which rules
match none of them, which keep can yield nothing but null under the schema that
a tool declares.

It exits with 3 where something has to be changed. Warnings do not count.`,
		Example: `  spillway check rules.yaml
  spillway check --live rules.yaml -- npx -y @modelcontextprotocol/server-memory`,
		GroupID: groupRules,
		RunE: func(cmd *cobra.Command, args []string) error {
			files, command := splitAtDash(cmd, args)
			if o.rules != "" {
				files = append(files, o.rules)
			}
			return runCheck(cmd.Context(), s, o, files, command)
		},
	}
	configFlag(cmd, &o.files)
	cmd.Flags().StringVar(&o.rules, "rules", "", "rules `FILE`, as the argument")
	cmd.Flags().StringVar(&o.server, "server", "", "with --live: `NAME` of the server in the rules; else its own")
	cmd.Flags().BoolVar(&o.live, "live", false, "start the server and compare the rules with its tools")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// splitAtDash returns the arguments before and after "--".
func splitAtDash(cmd *cobra.Command, args []string) (before, after []string) {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		return args[:at], args[at:]
	}
	return args, nil
}

// checked is what check --json prints; its fields are promised in docs/json.md.
type checked struct {
	OK       bool            `json:"ok"`
	Files    []checkedFile   `json:"files"`
	Problems []yamlpos.Error `json:"problems"`
	Warnings []yamlpos.Error `json:"warnings"`
	Live     *live           `json:"live"`

	set        *rules.Set
	operations int
}

type checkedFile struct {
	File string `json:"file"`
	Kind string `json:"kind"` // "rules", "config" or "operations"
}

func runCheck(ctx context.Context, s streams, o checkOptions, files, command []string) error {
	switch {
	case len(files) > 1:
		return usageError("%d files given; one is allowed", len(files))
	case len(command) > 0 && !o.live:
		return usageError("a COMMAND is only started with --live")
	case o.server != "" && !o.live:
		return usageError("--server goes with --live")
	}
	c := &checked{Files: []checkedFile{}, Problems: []yamlpos.Error{}, Warnings: []yamlpos.Error{}}
	if len(files) == 1 {
		switch kindOf(files[0]) {
		case "operations":
			o.files.Operations = files[0]
		case "config":
			o.files.Config = files[0]
		default:
			o.files.Rules = files[0]
		}
	}
	config, err := c.read(o.files)
	if err != nil {
		return err
	}
	if o.live && len(c.Problems) == 0 {
		if c.Live, err = c.live(ctx, s, config, o.server, command); err != nil {
			return err
		}
	}
	c.OK = len(c.Problems) == 0 && (c.Live == nil || len(c.Live.Findings) == 0)
	write := c.write
	if o.json {
		write = func(w io.Writer) error { return writeJSON(w, c) }
	}
	if err := write(s.Out); err != nil {
		return err
	}
	if !c.OK {
		return quiet(exitFaults)
	}
	return nil
}

// read reads the configuration and its rules, and collects what is wrong in them.
func (c *checked) read(f config.Flags) (*config.Config, error) {
	cfg, err := config.Open(f)
	if err == nil {
		if cfg.File != "" {
			c.Files = append(c.Files, checkedFile{cfg.File, "config"})
		}
		if cfg.RulesFile != "" {
			c.Files = append(c.Files, checkedFile{cfg.RulesFile, "rules"})
		}
		c.Warnings = append(c.Warnings, cfg.Warnings...)
		c.set, err = cfg.Rules()
	}
	var faults yamlpos.Errors
	if errors.As(err, &faults) {
		c.Problems = append(c.Problems, faults...)
		return cfg, c.readOperations(cfg)
	}
	if err != nil {
		return nil, err
	}
	c.Warnings = append(c.Warnings, c.set.Warnings()...)
	if names := cfg.ServerNames(); len(names) > 0 {
		c.Warnings = append(c.Warnings, c.set.Elsewhere(names)...)
	}
	return cfg, c.readOperations(cfg)
}

func (c *checked) write(w io.Writer) error {
	var b strings.Builder
	for _, problem := range c.Problems {
		fmt.Fprintln(&b, problem.Error())
	}
	for _, warning := range c.Warnings {
		fmt.Fprintln(&b, "warning: "+warning.Error())
	}
	if len(c.Problems) == 0 {
		names := make([]string, 0, len(c.Files))
		for _, file := range c.Files {
			names = append(names, file.File)
		}
		if len(names) == 0 {
			names = []string{"the built-in rules"}
		}
		fmt.Fprintf(&b, "%s: no faults", strings.Join(names, ", "))
		if n := len(c.set.Servers()); n > 0 {
			fmt.Fprintf(&b, "; rules for %s", strings.Join(c.set.Servers(), ", "))
		}
		switch c.operations {
		case 0:
		case 1:
			b.WriteString("; 1 operation")
		default:
			fmt.Fprintf(&b, "; %d operations", c.operations)
		}
		b.WriteString("\n")
	}
	if c.Live != nil {
		c.Live.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
