package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spillway-mcp/spillway/internal/client"
	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/schema"
	"github.com/spillway-mcp/spillway/internal/upstream"
)

// liveTimeout is how long a server may take to start and list its tools; npx may have to fetch it first.
const liveTimeout = 2 * time.Minute

// live is what check --live found; its fields are promised in docs/json.md.
type live struct {
	Server    string    `json:"server"`
	Announced string    `json:"announced"`
	Tools     int       `json:"tools"`
	Schemas   int       `json:"with_output_schema"`
	Writes    int       `json:"writes"` // tools whose writes can be confirmed
	Findings  []finding `json:"findings"`
}

type finding struct {
	Kind string `json:"kind"`
	Rule string `json:"rule"`
	Tool string `json:"tool"`
	Msg  string `json:"msg"`
}

// The kinds of finding.
const (
	noRules    = "no_rules"
	noTool     = "no_tool"
	alwaysNull = "always_null"
	nullField  = "null_field"
	readOnly   = "read_only"
	ownToken   = "own_token"
)

// live compares the rules with the tools of a server: of the command given, else of its entry in the configuration.
func (c *checked) live(ctx context.Context, s streams, cfg *config.Config, server string, command []string) (*live, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, liveTimeout, fmt.Errorf("after %s", liveTimeout))
	defer cancel()
	if len(command) == 0 && hasURL(cfg, server) {
		conn, err := serverStarter(cfg, s)(ctx, server)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		tools, err := client.Tools(ctx, conn)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", server, err)
		}
		return compareLive(c.set, server, server, tools)
	}
	start, err := serverCommand(cfg, server, command)
	if err != nil {
		return nil, err
	}
	return checkLive(ctx, s, c.set, server, start)
}

func checkLive(ctx context.Context, s streams, set *rules.Set, server string, start upstream.Command) (*live, error) {
	child, err := startServer(start, s.Err)
	if err != nil {
		return nil, err
	}
	defer child.Stop()
	c := client.New(child.Stdin(), child.Stdout())
	said, err := c.Initialize(ctx, "spillway-check", thisBuild().Version)
	if err != nil {
		return nil, serverError(child, err)
	}
	tools, err := c.Tools(ctx)
	if err != nil {
		return nil, serverError(child, err)
	}
	if server == "" {
		server = said.Name
	}
	return compareLive(set, server, said.Name, tools)
}

// serverError says how a server ended, where that is why it did not answer.
func serverError(child *upstream.Child, err error) error {
	if errors.Is(err, client.ErrHungUp) {
		child.Stop() // it has closed its output, so it is ending or of no use
		if how := child.Exit(); how != nil {
			return fmt.Errorf("%w: %s", err, how.How())
		}
	}
	return fmt.Errorf("%s: %w", child.Name(), err)
}

func compareLive(set *rules.Set, server, announced string, tools []client.Tool) (*live, error) {
	l := &live{Server: server, Announced: announced, Tools: len(tools), Findings: []finding{}}
	if !set.Names(server) {
		msg := fmt.Sprintf("no rule names the server %q; the rules name %s", server, namedServers(set))
		l.Findings = append(l.Findings, finding{Kind: noRules, Rule: server, Msg: msg})
	}
	names := make([]string, len(tools))
	for i, tool := range tools {
		names[i] = tool.Name
	}
	for _, e := range set.Unmatched(server, names) {
		l.Findings = append(l.Findings, finding{Kind: noTool, Rule: server, Msg: e.Error()})
	}
	for _, tool := range tools {
		confirms, found := writeFindings(set.For(server, tool.Name), server, tool)
		if confirms {
			l.Writes++
		}
		l.Findings = append(l.Findings, found...)
		if tool.OutputSchema == nil {
			continue
		}
		l.Schemas++
		found, err := nullFindings(set.For(server, tool.Name), server, tool)
		if err != nil {
			return nil, err
		}
		l.Findings = append(l.Findings, found...)
	}
	return l, nil
}

// writeFindings says whether a tool's writes can be confirmed, and what it says of itself that its rules do not fit.
func writeFindings(t *rules.Tool, server string, tool client.Tool) (confirms bool, found []finding) {
	annotated := tool.Annotations.ReadOnly
	var declares bool
	if doc, err := jsontape.Parse(tool.InputSchema); err == nil {
		declares = schema.Declares(doc.Root(), "continuation_token")
	}
	say := func(v rules.Variant, kind, key, format string) {
		f := finding{Kind: kind, Rule: server + "." + t.Match, Tool: tool.Name, Msg: position(v, key) + fmt.Sprintf(format, tool.Name)}
		if !slices.Contains(found, f) { // several variants may share a key
			found = append(found, f)
		}
	}
	for _, v := range t.Variants {
		r := v.Reducer.Rule()
		writes := v.Reducer.Writes(annotated != nil && !*annotated)
		confirms = confirms || writes
		if writes && annotated != nil && *annotated {
			say(v, readOnly, "write", "write: %s says of itself that it only reads (readOnlyHint: true)")
		}
		if r.TokenParam && declares {
			say(v, ownToken, "token_param", "token_param: %s has a continuation_token of its own, so none can be added")
		}
	}
	return confirms, found
}

// nullFindings says what the declared schema of a tool's results makes of the projections of its rules.
func nullFindings(t *rules.Tool, server string, tool client.Tool) ([]finding, error) {
	var found []finding
	var seen []string // several variants may share a keep
	for _, v := range t.Variants {
		source := v.Reducer.Rule().Keep
		if source == "" || slices.Contains(seen, source) {
			continue
		}
		seen = append(seen, source)
		keep, err := jmespath.Compile(source)
		if err != nil {
			return nil, err
		}
		n, err := nullsOf(keep, tool.OutputSchema)
		if err != nil {
			return nil, fmt.Errorf("output schema of %s: %w", tool.Name, err)
		}
		f := finding{Rule: server + "." + t.Match, Tool: tool.Name}
		where := position(v, "keep")
		switch {
		case n.all:
			f.Kind, f.Msg = alwaysNull, fmt.Sprintf("%skeep can yield nothing but null under the output schema of %s", where, tool.Name)
			found = append(found, f)
		case len(n.fields) > 0:
			f.Kind, f.Msg = nullField, fmt.Sprintf("%skeep: %s can be nothing but null under the output schema of %s", where, strings.Join(n.fields, ", "), tool.Name)
			found = append(found, f)
		}
	}
	return found, nil
}

// position is "rules.yaml:8:11: ", where a key of a rule stands.
func position(v rules.Variant, key string) string {
	for _, o := range v.Origin {
		if o.Key == key && o.File != "" {
			return fmt.Sprintf("%s:%d:%d: ", o.File, o.Line, o.Col)
		}
	}
	return ""
}

func (l *live) write(b *strings.Builder) {
	for _, f := range l.Findings {
		fmt.Fprintln(b, f.Msg)
	}
	fmt.Fprintf(b, "%s: %d tools, %d with an output schema", l.Server, l.Tools, l.Schemas)
	if l.Writes > 0 {
		fmt.Fprintf(b, ", %d whose writes can be confirmed", l.Writes)
	}
	if l.Announced != l.Server {
		fmt.Fprintf(b, "; it calls itself %q", l.Announced)
	}
	b.WriteString("\n")
}
