package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/reduce"
)

type explainOptions struct {
	files config.Flags
	json  bool
}

func newExplain(s streams) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain SERVER TOOL",
		Short: "Say which rule a tool has, and which line each key comes from",
		Long: `Say which rule holds for a tool, and where each of its keys was set: the tool's
own entry, a glob, the server's default or the top one. Neither the server nor
the tool has to exist.`,
		Example: "  spillway explain --rules rules.yaml github search_code",
		GroupID: groupRules,
		Args:    argCount(2, 2),
		RunE:    func(_ *cobra.Command, args []string) error { return runExplain(s, o, args[0], args[1]) },
	}
	cmd.ValidArgsFunction = completeServers(&o.files)
	configFlag(cmd, &o.files)
	rulesFlag(cmd, &o.files)
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// explained is what explain --json prints; its fields are promised in docs/json.md.
type explained struct {
	Server      string           `json:"server"`
	Tool        string           `json:"tool"`
	Match       string           `json:"match"`
	Level       rules.Level      `json:"level"`
	Hide        bool             `json:"hide"`
	Pass        bool             `json:"pass"`
	Rename      string           `json:"rename"`
	Description string           `json:"description"`
	Listing     []rules.Origin   `json:"listing"`
	Variants    []explainVariant `json:"variants"`
}

type explainVariant struct {
	When   string         `json:"when"`
	Rule   string         `json:"rule"`
	Writes string         `json:"writes"` // auto, create, update, delete or off
	Keys   []rules.Origin `json:"keys"`
}

func runExplain(s streams, o explainOptions, server, tool string) error {
	set, err := openRules(o.files)
	if err != nil {
		return err
	}
	e := explain(set, server, tool)
	if o.json {
		return writeJSON(s.Out, e)
	}
	noteUnnamed(s, set, server)
	return e.write(s.Out)
}

func explain(set *rules.Set, server, tool string) explained {
	t := set.For(server, tool)
	e := explained{
		Server: server, Tool: tool, Match: t.Match, Level: t.Level,
		Hide: t.Hide, Pass: t.Pass, Rename: t.Rename, Description: t.Description,
		Listing: append([]rules.Origin{}, t.Listing...), Variants: []explainVariant{},
	}
	for _, v := range t.Variants {
		when := ""
		if v.When != nil {
			when = v.When.String()
		}
		e.Variants = append(e.Variants, explainVariant{when, v.Digest, writesAs(v.Reducer.Rule()), append([]rules.Origin{}, v.Origin...)})
	}
	return e
}

// writesAs is the write key that holds, auto being built in.
func writesAs(r reduce.Rule) string {
	switch {
	case r.Pass:
		return "off"
	case r.Write == "":
		return "auto"
	}
	return r.Write
}

// writeKeys are the keys of a variant with the one that holds unless it is set.
func (v explainVariant) writeKeys() []rules.Origin {
	for _, o := range v.Keys {
		if o.Key == "write" || o.Key == "pass" {
			return v.Keys
		}
	}
	return append(v.Keys[:len(v.Keys):len(v.Keys)], rules.Origin{Key: "write", Value: v.Writes, Level: rules.LevelBuiltIn})
}

func (e explained) write(w io.Writer) error {
	var b strings.Builder
	if len(e.Variants) == 0 && len(e.Listing) == 0 {
		fmt.Fprintf(&b, "%s/%s: no rule applies; its results pass as they come\n", e.Server, e.Tool)
		_, err := io.WriteString(w, b.String())
		return err
	}
	for i, v := range e.Variants {
		title := e.Server + "/" + e.Tool
		switch {
		case v.When != "":
			title += ", where " + v.When
		case i > 0:
			title += ", else"
		}
		fmt.Fprintf(&b, "%s: rule %s\n", title, v.Rule)
		if err := writeOrigins(&b, v.writeKeys()); err != nil {
			return err
		}
		b.WriteString("\n")
	}
	if len(e.Listing) > 0 {
		fmt.Fprintf(&b, "%s/%s in tools/list\n", e.Server, e.Tool)
		if err := writeOrigins(&b, e.Listing); err != nil {
			return err
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n"))
	return err
}

func writeOrigins(w io.Writer, origins []rules.Origin) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, o := range origins {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", o.Key, shownValue(o.Value), shownOrigin(o))
	}
	return t.Flush()
}

func shownValue(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return grouped(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func shownOrigin(o rules.Origin) string {
	if o.File == "" {
		return fmt.Sprint(o.Level)
	}
	where := o.File + ":" + strconv.Itoa(o.Line)
	if o.Match != "" {
		return where + " (" + o.Match + ")"
	}
	return where + " (" + fmt.Sprint(o.Level) + ")"
}
