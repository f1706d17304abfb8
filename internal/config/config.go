// Package config owns spillway.yaml: the servers, where the rules, the stash
// and the ledger are, and the few settings that are not rules. It reads the
// file strictly, with a position for every error, fills in what it does not
// say, and knows the usual places of each system.
//
// It starts nothing and creates nothing. The rules themselves are package
// rules' business.
//
// Start with [Open], which is what every command does, or [Parse].
package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// Config is a configuration with everything filled in. Do not change it.
type Config struct {
	// File is the path of spillway.yaml; "" if there is none.
	File string
	// RulesFile is the path of the rules file; "" where the rules are inline
	// or built in.
	RulesFile string
	// InlineRules are the rules that stand in File itself; nil if none do.
	InlineRules *rules.Set

	Stash  Stash
	Ledger Ledger
	Record Record

	Expand       bool   // list reducer_expand (RED-19); true by default
	ExpandBudget int    // most bytes of one answer of reducer_expand (RED-26)
	ResourceLink string // "off" (default), "on" or "auto" (RED-20)
	MaxFrame     int    // most bytes of one message

	// Operations is the path of the operations file; "" if there is none.
	Operations string
	Journal    Journal

	Serve Serve

	// Warnings are what has no effect, and what will be an error when it is
	// needed: a server whose variables are not set.
	Warnings yamlpos.Errors

	servers []entry
	lookup  func(string) (string, bool)
}

// Stash is where originals are kept, and for how long (RED-24).
type Stash struct {
	Path              string // a directory
	TTL               time.Duration
	MaxBytes          int64 // of all originals
	MaxBytesPerCaller int64 // of one caller's; MaxBytes by default
}

// Ledger is where calls are accounted (RED-45, RED-46).
type Ledger struct {
	Path      string // a file
	Estimator string // a name of package tokens
	// Command is an estimator of its own. It counts recorded sessions; lines
	// are written with Estimator, since it is too slow to stand beside calls.
	Command []string
}

// Journal is where operations are recorded (C-10).
type Journal struct {
	Path string // a file of the embedded journal; unused where URL is set
	// URL is that of a PostgreSQL database that several machines share. It
	// may hold a password.
	URL string
	// Key seals what leaves our hands or rests in the journal. It is nil
	// where the key is the file beside the journal.
	Key []byte
}

// The defaults of what has a number.
const (
	DefaultTTL          = 24 * time.Hour
	DefaultMaxBytes     = 2 << 30 // 2 GiB
	DefaultExpandBudget = 40_000
	DefaultMaxFrame     = 64 << 20 // 64 MiB
)

// Flags are what the command line says about files; empty fields say nothing.
type Flags struct {
	Config     string // -c
	Rules      string // --rules
	Operations string // --operations
}

// Open reads the configuration that a command works with.
//
// The file is the one of the flag, else of SPILLWAY_CONFIG, else spillway.yaml
// in the user's configuration directory if it exists; never one in the working
// directory, which may be anybody's. The rules are those of the flag, else of
// SPILLWAY_RULES, else what the file says, else rules.yaml in the user's
// configuration directory if it exists, else the built-in ones. The operations
// are found in the same way, and there are no built-in ones. SPILLWAY_STASH,
// SPILLWAY_LEDGER and SPILLWAY_JOURNAL override the file's paths.
func Open(f Flags) (*Config, error) {
	return open(f, os.LookupEnv, runtime.GOOS)
}

func open(f Flags, lookup func(string) (string, bool), goos string) (*Config, error) {
	places, err := usualPlaces(goos, lookup)
	if err != nil {
		return nil, err
	}
	// either returns the flag's value, else the variable's.
	either := func(flag, variable string) string {
		if flag != "" {
			return flag
		}
		value, _ := lookup(variable)
		return value
	}
	file := either(f.Config, "SPILLWAY_CONFIG")
	if file == "" {
		file = ifExists(filepath.Join(places.config, "spillway.yaml"))
	}
	c := defaults(places, lookup)
	if file != "" {
		data, err := readFile(file)
		if err != nil {
			return nil, err
		}
		if c, err = parse(file, data, places, lookup); err != nil {
			return nil, err
		}
	}
	switch path := either(f.Rules, "SPILLWAY_RULES"); {
	case path != "":
		c.RulesFile, c.InlineRules = path, nil
	case c.RulesFile == "" && c.InlineRules == nil:
		c.RulesFile = ifExists(filepath.Join(places.config, "rules.yaml"))
	}
	switch path := either(f.Operations, "SPILLWAY_OPERATIONS"); {
	case path != "":
		c.Operations = path
	case c.Operations == "":
		c.Operations = ifExists(filepath.Join(places.config, "operations.yaml"))
	}
	if path := either("", "SPILLWAY_STASH"); path != "" {
		c.Stash.Path = path
	}
	if path := either("", "SPILLWAY_LEDGER"); path != "" {
		c.Ledger.Path = path
	}
	if path := either("", "SPILLWAY_JOURNAL"); path != "" {
		c.Journal.Path, c.Journal.URL = path, ""
	}
	return c, nil
}

// Parse reads a configuration file's content. Relative paths in it are
// relative to the directory of name. Variables are looked up with lookup, as
// [os.LookupEnv] does. The error is a [yamlpos.Errors]; none of its texts
// holds a value of an env, headers, args or url.
func Parse(name string, data []byte, lookup func(string) (string, bool)) (*Config, error) {
	places, err := usualPlaces(runtime.GOOS, lookup)
	if err != nil {
		return nil, err
	}
	return parse(name, data, places, lookup)
}

func defaults(p places, lookup func(string) (string, bool)) *Config {
	return &Config{
		Stash:        Stash{Path: filepath.Join(p.state, "stash"), TTL: DefaultTTL, MaxBytes: DefaultMaxBytes, MaxBytesPerCaller: DefaultMaxBytes},
		Ledger:       Ledger{Path: filepath.Join(p.state, "ledger.jsonl"), Estimator: estimators[0]},
		Journal:      Journal{Path: filepath.Join(p.state, "journal.db")},
		Serve:        Serve{Listen: DefaultListen, Tokens: filepath.Join(p.state, "tokens.json"), Limits: Limits{StopTime: DefaultStopTime}},
		Expand:       true,
		ExpandBudget: DefaultExpandBudget,
		ResourceLink: "off",
		MaxFrame:     DefaultMaxFrame,
		lookup:       lookup,
	}
}

// ifExists returns the path if it is that of a file, else "".
func ifExists(path string) string {
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return ""
	}
	return path
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	if info.Size() > yamlpos.MaxBytes {
		return nil, yamlpos.Errors{{File: path, Msg: fmt.Sprintf("the file has %d bytes; at most %d are allowed", info.Size(), yamlpos.MaxBytes)}}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	return data, nil
}
