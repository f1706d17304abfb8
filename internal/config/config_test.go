package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// env is an environment of a test.
func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// designFile is the configuration that the design promises to take.
const designFile = `servers:                       # the entries users already have: command/args/env, or url/headers
  github:     {command: github-mcp-server, args: [stdio], env: {GITHUB_TOKEN: "${GITHUB_TOKEN}"}}
  warehouse:  {url: "https://mcp.example.com/mcp", headers: {Authorization: "Bearer ${WAREHOUSE_TOKEN}"}}
rules: rules.yaml              # or inline
stash:  {ttl: 24h, max_bytes: 2GiB}
ledger: {path: "~/.local/state/spillway/ledger.jsonl"}
operations: operations.yaml
`

func TestDesignFile(t *testing.T) {
	c, err := Parse("/etc/spillway/spillway.yaml", []byte(designFile),
		env("HOME", "/home/u", "USERPROFILE", "/home/u", "GITHUB_TOKEN", "t1", "WAREHOUSE_TOKEN", "t2"))
	if err != nil {
		t.Fatal(err)
	}
	github, err := c.Server("github")
	if err != nil {
		t.Fatal(err)
	}
	if want := (Server{Name: "github", Command: "github-mcp-server", Args: []string{"stdio"}, Env: map[string]string{"GITHUB_TOKEN": "t1"}}); !reflect.DeepEqual(github, want) {
		t.Errorf("got %+v", github)
	}
	if got := github.Environ([]string{"A=b"}); !reflect.DeepEqual(got, []string{"A=b", "GITHUB_TOKEN=t1"}) {
		t.Errorf("environment %q", got)
	}
	warehouse, err := c.Server("warehouse")
	if err != nil {
		t.Fatal(err)
	}
	if warehouse.URL != "https://mcp.example.com/mcp" || warehouse.Headers["Authorization"] != "Bearer t2" {
		t.Errorf("got %+v", warehouse)
	}
	c.servers, c.lookup = nil, nil
	want := &Config{
		File:         "/etc/spillway/spillway.yaml",
		RulesFile:    filepath.FromSlash("/etc/spillway/rules.yaml"),
		Stash:        Stash{Path: c.Stash.Path, TTL: 24 * time.Hour, MaxBytes: 2 << 30, MaxBytesPerCaller: 2 << 30},
		Ledger:       Ledger{Path: filepath.FromSlash("/home/u/.local/state/spillway/ledger.jsonl"), Estimator: "bytes/4"},
		Expand:       true,
		ExpandBudget: 40_000,
		ResourceLink: "off",
		MaxFrame:     64 << 20,
		Operations:   filepath.FromSlash("/etc/spillway/operations.yaml"),
		Journal:      c.Journal,
		Serve:        Serve{Listen: "127.0.0.1:8372", Tokens: c.Serve.Tokens, Limits: Limits{StopTime: 30 * time.Second}},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

func TestEverySetting(t *testing.T) {
	c, err := Parse("f.yaml", []byte(`
stash: {path: s, ttl: 7d, max_bytes: 3MB, max_bytes_per_caller: 500k}
ledger: {path: l.jsonl, estimator: o200k_base}
operations: o.yaml
journal: {path: j.db, key: "${JOURNAL_KEY}"}
expand: off
expand_budget: 20KiB
resource_link: auto
max_frame: 1MiB
rules:
  default: {max_bytes: 5k}
  github: {search_code: {keep: "items[?a == '${HOME}']"}}
`), env("HOME", "/home/u", "USERPROFILE", "/home/u", "JOURNAL_KEY", "0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Journal{Path: "j.db", Key: []byte("0123456789abcdef0123456789abcdef")}); c.Operations != "o.yaml" || !reflect.DeepEqual(c.Journal, want) {
		t.Errorf("operations %q, journal %+v", c.Operations, c.Journal)
	}
	if want := (Stash{"s", 7 * 24 * time.Hour, 3_000_000, 500_000}); c.Stash != want {
		t.Errorf("stash %+v", c.Stash)
	}
	if want := (Ledger{Path: "l.jsonl", Estimator: "o200k_base"}); !reflect.DeepEqual(c.Ledger, want) {
		t.Errorf("ledger %+v", c.Ledger)
	}
	if c.Expand || c.ExpandBudget != 20_480 || c.ResourceLink != "auto" || c.MaxFrame != 1<<20 {
		t.Errorf("got %+v", c)
	}
	set, err := c.Rules()
	if err != nil {
		t.Fatal(err)
	}
	if keep := set.For("github", "search_code").Variants[0].Reducer.Rule().Keep; keep != "items[?a == '${HOME}']" {
		t.Errorf("a variable is expanded in rules: %s", keep)
	}
}

func TestClientFile(t *testing.T) {
	c, err := Parse("claude.json", []byte(`{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "memory": {"type": "stdio", "command": "npx", "args": ["-y", "x", "${env:N:-none}"], "env": {"T": "${T}"}, "autoApprove": []},
    "off": {"command": "npx", "disabled": true}
  }
}`), env("HOME", "/home/u", "USERPROFILE", "/home/u"))
	if err != nil {
		t.Fatal(err)
	}
	if names := c.ServerNames(); !reflect.DeepEqual(names, []string{"memory"}) {
		t.Errorf("servers %q", names)
	}
	want := `claude.json:2:3: "globalShortcut" is another program's setting and has no effect here
claude.json:4:104: the environment variable T is not set; set it, or write ${T:-default}
claude.json:4:112: "autoApprove" is another program's setting and has no effect here
claude.json:5:5: the server "off" is disabled`
	if got := c.Warnings.Error(); got != want {
		t.Errorf("warnings:\n%s\nwant:\n%s", got, want)
	}
	memory, err := c.Server("memory")
	if got := memory.Argv(); !reflect.DeepEqual(got, []string{"npx", "-y", "x", "none"}) {
		t.Errorf("command %q", got)
	}
	if err == nil || !strings.Contains(err.Error(), "claude.json:4:104: the environment variable T is not set") {
		t.Errorf("a server whose variable is not set: %v", err)
	}
}

func TestVariables(t *testing.T) {
	lookup := env("HOME", "/home/u", "USERPROFILE", "/home/u", "A", "a", "EMPTY", "")
	for in, want := range map[string]string{
		"${A}": "a", "x${A}y${A}": "xaya", "$A": "$A", "$${A}": "${A}", "$$": "$$", "${A": "",
		"${NONE:-d}": "d", "${EMPTY:-d}": "d", "${EMPTY}": "", "${A:-d}": "a", "${NONE:-}": "", "${env:A}": "a", "${NONE:-a b:c}": "a b:c",
	} {
		c, err := Parse("f.yaml", []byte("servers: {s: {command: x, args: ['"+in+"']}}"), lookup)
		if in == "${A" {
			if err == nil || err.Error() != "f.yaml:1:35: a variable starts here and has no }; write $${ for the characters ${ themselves" {
				t.Errorf("%s: %v", in, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if s, err := c.Server("s"); err != nil || s.Args[0] != want {
			t.Errorf("%s: got %q (%v), want %q", in, s.Args, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	lookup := env("HOME", "/home/u", "USERPROFILE", "/home/u")
	for _, tt := range []struct{ in, want string }{
		{"stsh: {}", `f.yaml:1:1: unknown key "stsh" in the configuration; did you mean "stash"?`},
		{"stash: {tll: 1h, ttl: 3}", "f.yaml:1:9: unknown key \"tll\" in stash; did you mean \"ttl\"?\nf.yaml:1:23: ttl needs a string, got a whole number"},
		{"stash: {ttl: 3 days}", `f.yaml:1:14: ttl needs a time such as 24h, 90m or 7d, got "3 days"`},
		{"stash: {ttl: 0s}", `f.yaml:1:14: ttl needs a time such as 24h, 90m or 7d, got "0s"`},
		{"stash: {max_bytes: lots}", `f.yaml:1:20: max_bytes needs a number of bytes such as 20000, 20k (20,000), 20KiB (20,480) or 2MB, got "lots"`},
		{"stash: {max_bytes: 0}", "f.yaml:1:20: max_bytes must be at least 1 bytes, got 0"},
		{"stash:", "f.yaml:1:1: stash has no value; leave the key out for its default"},
		{"expand: true", `f.yaml:1:9: expand must be one of on, off, got true; did you mean "on"?`},
		{"expand_budget: 599", "f.yaml:1:16: expand_budget must be from 600 to 2147483647 bytes, got 599"},
		{"ledger: {estimator: o200k}", `f.yaml:1:21: estimator must be one of bytes/4, cl100k_base, o200k_base, got "o200k"`},
		{"ledger: {path: '${NOPE}/l'}", "f.yaml:1:17: the environment variable NOPE is not set; set it, or write ${NOPE:-default}"},
		{"servers: {s: {}}", `f.yaml:1:11: the server "s" needs a command or a url`},
		{"servers: {s: {command: x, url: y}}", `f.yaml:1:32: the server "s" has a command and a url; it can have one`},
		{"servers: {s: {url: y, args: [z]}}", `f.yaml:1:11: the server "s" has a url; args, env and cwd belong to a command`},
		{"servers: {s: {comand: x}}", `f.yaml:1:15: unknown key "comand" in the server "s"; did you mean "command"?`},
		{"servers: {default: {command: x}}", `f.yaml:1:11: a server cannot be named "default"`},
		{"servers: {s: {command: x}}\nmcpServers: {s: {command: x}}", `f.yaml:2:14: the server "s" stands under servers and under mcpServers`},
		{"rules: {default: {max_byte: 1k}}", `f.yaml:1:19: unknown key "max_byte"; did you mean "max_bytes"?`},
		{"journal: {path: a, url: 'postgres://h/d', key: 0123456789abcdef0123456789abcdef}", "f.yaml:1:25: journal has a path and a url; it can have one"},
		{"journal: {url: 'postgres://h/d'}", "f.yaml:1:16: a journal with a url needs a key: there is no file beside it to keep one in; add key: \"${SPILLWAY_JOURNAL_KEY}\", the same on every machine"},
		{"journal: {key: short}", "f.yaml:1:16: key needs 32 characters or more, got 5; make one with: openssl rand -hex 32"},
		{"[]", "f.yaml:1:1: the configuration needs a map, got a list"},
	} {
		_, err := Parse("f.yaml", []byte(tt.in), lookup)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.in, err, tt.want)
		}
	}
}

// TestSecretsAreNotShown breaks every place that can hold a secret in every
// way there is, and looks for it in what is said.
func TestSecretsAreNotShown(t *testing.T) {
	const secret = "hunter2"
	lookup := env("HOME", "/home/u", "USERPROFILE", "/home/u", "TOKEN", secret)
	for _, in := range []string{
		"servers: {s: {command: x, env: {T: [hunter2]}}}",
		"servers: {s: {command: x, env: {T: 'hunter2${NOPE}'}}}",
		"servers: {s: {command: x, env: {T: 'hunter2${'}}}",
		"servers: {s: {command: x, env: {T: '${TOKEN}${a b}'}}}",
		"servers: {s: {command: x, env: hunter2}}",
		"servers: {s: {command: x, args: hunter2}}",
		"servers: {s: {command: x, args: [[hunter2], '${TOKEN}${NOPE}']}}",
		"servers: {s: {url: 'https://hunter2@x', headers: {A: {b: hunter2}}}}",
		"servers: {s: {url: 'https://hunter2@x', command: x}}",
		"servers: {s: {url: [hunter2]}}",
		"servers: {s: hunter2}",
		"journal: {url: 'mysql://hunter2@x'}",
		"journal: {key: '${TOKEN}'}",
		"journal: {url: [hunter2]}",
		"stash: {ttl: '${TOKEN}'}",
		"stash: {max_bytes: '${TOKEN}'}",
		"expand: ${TOKEN}",
		"servers: hunter2",
		"servers: {s: {command: x, env: {T: hunter2: y}}}",
		"servers:\n  s:\n    env:\n      T: \"hunter2\n",
		"servers:\n  s:\n    env:\n      T: 'hunter2\n",
		"servers:\n  s:\n    env:\n      T: |hunter2\n        x\n",
		"servers:\n  s:\n    env:\n      T: hunter2: x\n",
		"servers:\n  s:\n    env:\n      T: \"\\qhunter2\"\n",
		"servers:\n  s:\n    env:\n      T: &hunter2 x\n",
		"servers:\n  s:\n    env:\n      T: *hunter2\n",
		"servers:\n  s:\n    env:\n      T: !hunter2 x\n",
		"servers:\n  s:\n    env:\n      T: %hunter2\n",
		"servers:\n  s:\n    env:\n      T: @hunter2\n",
		"{\"mcpServers\": {\"s\": {\"env\": {\"T\": \"hunter2}}}",
		"{\"mcpServers\": {\"s\": {\"env\": {\"T\": 7hunter2}}}}",
		"{\"mcpServers\": {\"s\": {\"command\": \"x\", \"env\": {\"T\": [\"hunter2\"]}}}}",
	} {
		for _, name := range []string{"f.yaml", "f.json"} {
			c, err := Parse(name, []byte(in), lookup)
			said := ""
			if err != nil {
				said = err.Error()
			} else {
				said = c.Warnings.Error()
				if _, err := c.Server("s"); err != nil {
					said += err.Error()
				}
			}
			if said == "" {
				t.Errorf("%s: nothing is said", in)
			}
			if strings.Contains(said, secret) {
				t.Errorf("%s:\nsays %s", in, said)
			}
		}
	}
}

func TestOpen(t *testing.T) {
	home, elsewhere := t.TempDir(), t.TempDir()
	put := func(path, text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	usual := filepath.Join(home, ".config", "spillway")
	state := filepath.Join(home, ".local", "state", "spillway")
	vars := []string{"HOME", home}

	c, err := open(Flags{}, env(vars...), "linux")
	if err != nil {
		t.Fatal(err)
	}
	if c.File != "" || c.RulesFile != "" || c.Stash.Path != filepath.Join(state, "stash") || c.Ledger.Path != filepath.Join(state, "ledger.jsonl") {
		t.Errorf("with nothing there: %+v", c)
	}
	if set, err := c.Rules(); err != nil || set.File() != "" {
		t.Errorf("with nothing there the rules are of %v (%v)", set, err)
	}

	rulesFile := put(filepath.Join(usual, "rules.yaml"), "default: {max_bytes: 1k}")
	if c, err = open(Flags{}, env(vars...), "linux"); err != nil || c.RulesFile != rulesFile {
		t.Errorf("rules in the usual place: %+v, %v", c, err)
	}
	file := put(filepath.Join(usual, "spillway.yaml"), "rules: mine.yaml\nledger: {path: l}")
	if c, err = open(Flags{}, env(vars...), "linux"); err != nil || c.File != file || c.RulesFile != filepath.Join(usual, "mine.yaml") || c.Ledger.Path != filepath.Join(usual, "l") {
		t.Errorf("the configuration in the usual place: %+v, %v", c, err)
	}
	other := put(filepath.Join(elsewhere, "c.yaml"), "rules: {default: {max_bytes: 2k}}")
	vars = append(vars, "SPILLWAY_CONFIG", other, "SPILLWAY_STASH", "/s", "SPILLWAY_LEDGER", "/l")
	if c, err = open(Flags{}, env(vars...), "linux"); err != nil || c.File != other || c.InlineRules == nil || c.RulesFile != "" || c.Stash.Path != "/s" || c.Ledger.Path != "/l" {
		t.Errorf("by variables: %+v, %v", c, err)
	}
	vars = append(vars, "SPILLWAY_RULES", "/r")
	if c, err = open(Flags{Config: file}, env(vars...), "linux"); err != nil || c.File != file || c.RulesFile != "/r" {
		t.Errorf("a flag over a variable: %+v, %v", c, err)
	}
	if c, err = open(Flags{Rules: "/q"}, env(vars...), "linux"); err != nil || c.RulesFile != "/q" || c.InlineRules != nil {
		t.Errorf("a flag over a variable: %+v, %v", c, err)
	}
	if _, err = open(Flags{Config: filepath.Join(home, "none")}, env(vars...), "linux"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestUsualPlaces(t *testing.T) {
	for _, tt := range []struct {
		goos          string
		env           []string
		config, state string
	}{
		{"linux", []string{"HOME", "/h"}, "/h/.config/spillway", "/h/.local/state/spillway"},
		{"linux", []string{"HOME", "/h", "XDG_CONFIG_HOME", "/c", "XDG_STATE_HOME", "/s"}, "/c/spillway", "/s/spillway"},
		{"linux", []string{"HOME", "/h", "XDG_CONFIG_HOME", "relative"}, "/h/.config/spillway", "/h/.local/state/spillway"},
		{"darwin", []string{"HOME", "/h"}, "/h/Library/Application Support/spillway", "/h/Library/Application Support/spillway"},
		{"windows", []string{"USERPROFILE", "/h"}, "/h/AppData/Roaming/spillway", "/h/AppData/Local/spillway"},
	} {
		p, err := usualPlaces(tt.goos, env(tt.env...))
		if err != nil || filepath.ToSlash(p.config) != tt.config || filepath.ToSlash(p.state) != tt.state {
			t.Errorf("%s %q: %+v, %v", tt.goos, tt.env, p, err)
		}
	}
}

func TestOperationsAndJournalFromOutside(t *testing.T) {
	home := t.TempDir()
	vars := []string{"HOME", home, "USERPROFILE", home, "APPDATA", filepath.Join(home, "c"), "XDG_CONFIG_HOME", filepath.Join(home, "c"),
		"SPILLWAY_OPERATIONS", "env.yaml", "SPILLWAY_JOURNAL", "env.db"}
	c, err := open(Flags{}, env(vars...), "linux")
	if err != nil || c.Operations != "env.yaml" || c.Journal.Path != "env.db" {
		t.Errorf("of the environment: %q, %q, %v", c.Operations, c.Journal.Path, err)
	}
	c, err = open(Flags{Operations: "flag.yaml"}, env(vars...), "linux")
	if err != nil || c.Operations != "flag.yaml" {
		t.Errorf("of the flag: %q, %v", c.Operations, err)
	}
	usual := filepath.Join(home, "c", "spillway", "operations.yaml")
	if err := os.MkdirAll(filepath.Dir(usual), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(usual, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err = open(Flags{}, env(vars[:8]...), "linux")
	if err != nil || c.Operations != usual {
		t.Errorf("of the usual place: %q, %v", c.Operations, err)
	}
}
