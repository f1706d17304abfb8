package config

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strings"
)

// places are the directories where a user's files usually are.
type places struct {
	home   string
	config string // spillway.yaml, rules.yaml
	state  string // the stash and the ledger
}

// usualPlaces returns them for a system: the XDG directories
// ($XDG_CONFIG_HOME, $XDG_STATE_HOME, or ~/.config and ~/.local/state), on
// macOS ~/Library/Application Support, on Windows %AppData% and
// %LocalAppData%; in each the directory spillway.
func usualPlaces(goos string, lookup func(string) (string, bool)) (places, error) {
	get := func(name string) string { v, _ := lookup(name); return v }
	home := get("HOME")
	if goos == "windows" {
		home = get("USERPROFILE")
	}
	if home == "" { // some clients start servers with an empty environment
		if u, err := user.Current(); err == nil {
			home = u.HomeDir
		}
	}
	// dir is a variable's directory, else one below home.
	dir := func(variable string, below ...string) string {
		base := get(variable)
		if variable == "" || !filepath.IsAbs(base) && !strings.Contains(base, `:\`) {
			if home == "" {
				return ""
			}
			base = filepath.Join(append([]string{home}, below...)...)
		}
		return filepath.Join(base, "spillway")
	}
	p := places{home: home}
	switch goos {
	case "windows":
		p.config = dir("APPDATA", "AppData", "Roaming")
		p.state = dir("LOCALAPPDATA", "AppData", "Local")
	case "darwin", "ios":
		p.config = dir("", "Library", "Application Support")
		p.state = p.config
	default:
		p.config = dir("XDG_CONFIG_HOME", ".config")
		p.state = dir("XDG_STATE_HOME", ".local", "state")
	}
	if p.config == "" || p.state == "" {
		return p, errors.New("no home directory is known: set HOME, or XDG_CONFIG_HOME and XDG_STATE_HOME")
	}
	return p, nil
}

// path makes a path of the file absolute: ~ is the user's home, and what is
// relative is so to the directory of the file.
func (r *reader) path(p string) string {
	if p == "~" || strings.HasPrefix(p, "~/") || strings.HasPrefix(p, "~"+string(os.PathSeparator)) {
		return filepath.Join(r.places.home, p[1:])
	}
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(r.dir, p)
}
