package cli

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/stash"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// settings are what the commands need of the configuration.
type settings struct {
	File         string // "" where there is none
	RulesFile    string // "" where the rules are inline or built in
	Warnings     yamlpos.Errors
	StashDir     string
	Stash        stash.Options
	Ledger       struct{ Path, Estimator string }
	Expand       bool
	ExpandBudget int
	ResourceLink string
	MaxFrame     int
}

// loadConfig reads the configuration file; without a name, the one in its usual place, if there is one.
func loadConfig(file string) (*settings, error) {
	s := &settings{Expand: true}
	home := os.Getenv("XDG_STATE_HOME")
	s.StashDir = filepath.Join(home, "spillway", "stash")
	s.Ledger.Path = filepath.Join(home, "spillway", "ledger.jsonl")
	s.Ledger.Estimator = "bytes/4"
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		n, err := yamlpos.Read(file, data)
		if err != nil {
			return nil, err
		}
		if x := n.Get("stash"); x != nil {
			s.StashDir = x.Get("path").Text
		}
		if x := n.Get("ledger"); x != nil {
			s.Ledger.Path = x.Get("path").Text
			s.Ledger.Estimator = x.Get("estimator").Text
		}
	}
	return s, nil
}

// rules returns the rules of a file, or without a name those of the configuration.
func (s *settings) rules(file string) (*rules.Set, error) {
	if file != "" {
		return rules.Load(file)
	}
	if s.RulesFile != "" {
		return rules.Load(s.RulesFile)
	}
	return rules.Default(), nil
}

// command returns how a configured server is started.
func (s *settings) command(server string) (argv, env []string, err error) {
	return nil, nil, usageError("no server %q", server)
}

// loadRules reads the rules that a command works with: those of the file given, else the configuration's.
func loadRules(config, file string) (*rules.Set, error) {
	if file != "" {
		set, err := rules.Load(file)
		return set, fileError(err)
	}
	s, err := loadConfig(config)
	if err != nil {
		return nil, fileError(err)
	}
	set, err := s.rules("")
	return set, fileError(err)
}

// rulesFile names the rules file of the configuration.
func rulesFile(config string) (string, error) {
	s, err := loadConfig(config)
	if err != nil {
		return "", fileError(err)
	}
	switch {
	case s.RulesFile != "":
		return s.RulesFile, nil
	case s.File != "":
		return s.File, nil
	}
	return "", usageError("no FILE given, and there is no configuration that names one")
}

// fileError gives the faults of a file a status of their own.
func fileError(err error) error {
	var faults yamlpos.Errors
	if errors.As(err, &faults) {
		return withStatus(exitFaults, err)
	}
	return err
}

// openStash opens the stash of the configuration.
func openStash(config string, log *slog.Logger) (*stash.Store, error) {
	s, err := loadConfig(config)
	if err != nil {
		return nil, fileError(err)
	}
	o := s.Stash
	o.Log = log
	return stash.Open(s.StashDir, o)
}

// localCaller is the principal of everything that is started by the user of this process (RED-23).
func localCaller() string {
	if uid := os.Getuid(); uid >= 0 {
		return "local:" + strconv.Itoa(uid)
	}
	return "local:user" // Windows has no number; the stash lies in the user's own directory
}
