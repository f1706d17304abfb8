package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

type fmtOptions struct {
	files config.Flags
	write bool
	check bool
}

func newFmt(s streams) *cobra.Command {
	var o fmtOptions
	cmd := &cobra.Command{
		Use:   "fmt [-w | --check] [FILE...]",
		Short: "Print rules and configuration files in their usual layout",
		Long: `Print files in their usual layout. Only layout changes: values, their order and
every comment stay, and a file that is formatted stays as it is. Without FILE
it formats the rules file of the configuration; "-" is stdin.`,
		Example: "  spillway fmt -w rules.yaml\n  spillway fmt --check *.yaml",
		GroupID: groupRules,
		RunE:    func(_ *cobra.Command, args []string) error { return runFmt(s, o, args) },
	}
	configFlag(cmd, &o.files)
	cmd.Flags().BoolVarP(&o.write, "write", "w", false, "write the files instead of printing them")
	cmd.Flags().BoolVar(&o.check, "check", false, "print the names of files that are not; exit with 3 if there are any")
	cmd.MarkFlagsMutuallyExclusive("write", "check")
	return cmd
}

func runFmt(s streams, o fmtOptions, files []string) error {
	if len(files) == 0 {
		file, err := rulesFile(o.files)
		if err != nil {
			return err
		}
		files = []string{file}
	}
	var faults []error
	unformatted := false
	for _, file := range files {
		differs, err := formatFile(s, o, file)
		if err != nil {
			faults = append(faults, err)
		}
		unformatted = unformatted || differs
	}
	switch {
	case len(faults) > 0:
		return fileError(errors.Join(faults...))
	case o.check && unformatted:
		return quiet(exitFaults)
	}
	return nil
}

// rulesFile names the file that holds the rules of a configuration.
func rulesFile(f config.Flags) (string, error) {
	c, err := openConfig(f)
	switch {
	case err != nil:
		return "", err
	case c.RulesFile != "":
		return c.RulesFile, nil
	case c.File != "":
		return c.File, nil
	}
	return "", usageError("no FILE given, and there is no configuration that names one")
}

// formatFile formats one file and reports whether that changed it.
func formatFile(s streams, o fmtOptions, file string) (differs bool, err error) {
	name := file
	var data []byte
	if file == "-" {
		name = "stdin"
		data, err = io.ReadAll(s.In)
	} else {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return false, err
	}
	formatted, err := yamlpos.Format(name, data)
	if err != nil {
		return false, err
	}
	differs = !bytes.Equal(data, formatted)
	switch {
	case o.check:
		if differs {
			_, err = fmt.Fprintln(s.Out, name)
		}
	case o.write && file != "-":
		if differs {
			err = replaceFile(file, formatted)
		}
	default:
		_, err = s.Out.Write(formatted)
	}
	return differs, err
}

// replaceFile writes a file anew in one step, so that a running session never reads half of it.
func replaceFile(file string, data []byte) error {
	file, err := filepath.EvalSymlinks(file) // the file itself, not what points to it
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	temp := file + ".spillway-fmt"
	if err := os.WriteFile(temp, data, info.Mode().Perm()); err != nil {
		return err
	}
	if err := os.Rename(temp, file); err != nil {
		os.Remove(temp)
		return err
	}
	return nil
}
