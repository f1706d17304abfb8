package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spillway-mcp/spillway/internal/draft"
	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/replay"
)

type draftOptions struct {
	server string
	tool   string
}

func newDraft(s streams) *cobra.Command {
	var o draftOptions
	cmd := &cobra.Command{
		Use:   "draft --server SERVER --tool TOOL FILE...",
		Short: "Draft a rule from recorded results, for a person to review",
		Long: `Look at results of one tool and print a first rule for it, with the reasons in
comments: which array holds the rows, what each column takes, in how many rows
it is and how many values it has, what stands beside the rows, and what is
binary content. Columns that later calls of a recorded session used are kept.

A FILE is a recorded session, a directory of them, or one CallToolResult. The draft goes to stdout
and nowhere else. It drops fields by size and sameness, knows nothing of what
they mean, and is marked as not reviewed: read it before you use it.`,
		Example: `  spillway draft --server github --tool search_code ~/sessions/*.jsonl.zst
  spillway draft --server api --tool list result1.json result2.json > rule.yaml`,
		GroupID: groupRules,
		Args:    argCount(1, -1),
		RunE:    func(_ *cobra.Command, args []string) error { return runDraft(s, o, args) },
	}
	cmd.Flags().StringVar(&o.server, "server", "", "`NAME` of the server in the rules (required)")
	cmd.Flags().StringVar(&o.tool, "tool", "", "`NAME` of the tool (required)")
	return cmd
}

func runDraft(s streams, o draftOptions, files []string) error {
	for flag, value := range map[string]string{"server": o.server, "tool": o.tool} {
		if value == "" {
			return usageError("--%s is missing: which %s's results are they?", flag, flag)
		}
	}
	files, err := sessionFiles(files)
	if err != nil {
		return err
	}
	in := draft.Input{Server: o.server, Tool: o.tool}
	var sessions []*record.Session
	var others []string
	for _, file := range files {
		session, err := record.Load(file)
		if err != nil {
			one, resultErr := readInput(s.In, []string{file}, false)
			if resultErr != nil {
				return fmt.Errorf("%w; nor a recorded session", resultErr)
			}
			in.Results = append(in.Results, one.result)
			continue
		}
		sessions = append(sessions, session)
		for i := range session.Events {
			e := &session.Events[i]
			if e.Kind != record.KindCall || e.Result == nil || e.Outcome == record.Error {
				continue
			}
			if e.Server == o.server && e.Tool == o.tool {
				in.Results = append(in.Results, e.Result)
			} else if name := e.Server + "/" + e.Tool; !slices.Contains(others, name) {
				others = append(others, name)
			}
		}
	}
	if len(in.Results) == 0 {
		slices.Sort(others)
		return fmt.Errorf("no result of %s/%s in these recordings; they have %s", o.server, o.tool, orNone(others))
	}
	in.Needed = replay.Needed(sessions, o.server, o.tool)
	text, err := draft.Rule(in)
	if err != nil {
		return err
	}
	_, err = io.Copy(s.Out, bytes.NewReader(text))
	return err
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
