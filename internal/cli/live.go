package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spillway-mcp/spillway/internal/client"
	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/rules"
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
)

func checkLive(ctx context.Context, s streams, set *rules.Set, server string, start upstream.Command) (*live, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, liveTimeout, fmt.Errorf("after %s", liveTimeout))
	defer cancel()
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
		where := keepPosition(v)
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

// keepPosition is "rules.yaml:8:11: ", where the keep of a rule stands.
func keepPosition(v rules.Variant) string {
	for _, o := range v.Origin {
		if o.Key == "keep" && o.File != "" {
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
	if l.Announced != l.Server {
		fmt.Fprintf(b, "; it calls itself %q", l.Announced)
	}
	b.WriteString("\n")
}
