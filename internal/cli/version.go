package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type versionOptions struct {
	json bool
}

// build is what version says; its JSON fields are promised in docs/json.md.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(s streams) *cobra.Command {
	var o versionOptions
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Say which build this is",
		Long:    "Say the version, the commit and the Go release that this program was built with.\nNothing is looked up: a newer version is announced where you got this one.",
		GroupID: groupRest,
		Args:    argCount(0, 0),
		RunE:    func(*cobra.Command, []string) error { return runVersion(s.Out, o) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runVersion(w io.Writer, o versionOptions) error {
	b := thisBuild()
	if o.json {
		return writeJSON(w, b)
	}
	line := "spillway " + b.Version
	if b.Revision != "" {
		line += fmt.Sprintf(" (%.12s, %s)", b.Revision, b.Time)
	}
	if b.Modified {
		line += " with local changes"
	}
	_, err := fmt.Fprintf(w, "%s %s %s\n", line, b.Go, b.Platform)
	return err
}

func thisBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Revision = setting.Value
		case "vcs.time":
			b.Time = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}
