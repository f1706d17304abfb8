package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/client"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/tokens"
)

// table is what one set gave.
type table struct {
	set                 string
	records             int
	rows                []row
	pageTool, countTool int // tokens of the definitions
}

// row is one path. Tokens are of cl100k_base.
type row struct {
	path    string
	value   string // the count that came out
	alone   int    // tokens of all that a model would see
	receipt int    // of the full receipt; -1 where the path has none
}

const rulesYAML = `github:
  list_releases:
    keep: "[*].{draft: draft, prerelease: prerelease}"
`

const operationsYAML = `operations:
  count_stable_releases@1.0:
    title: Count stable releases
    scope: All releases of one GitHub repository that are visible to the token, without drafts and prereleases.
    effects: read
    params:
      type: object
      additionalProperties: false
      required: [owner, repo]
      properties: {owner: {type: string}, repo: {type: string}}
    result: {type: object, required: [stableReleases], properties: {stableReleases: {type: integer}}}
    bounds: {max_pages: 100, max_records: 10000, deadline: 2m}
    read:
      call:
        tool: github/list_releases
        args: {owner: params.owner, repo: params.repo, page: "to_number(cursor || '1')"}
      end: length(page) == ` + "`0`" + `
      where: "!draft && !prerelease"
      dedupe: id
      aggregate: {stableReleases: count}
`

var repository = map[string]any{"owner": "example", "repo": "example"}

// bench is one set with its files, and what starts programs over it.
type bench struct {
	ctx   context.Context
	dir   string
	self  string
	set   set
	count tokens.Counter
}

func measure(ctx context.Context, s set) (*table, error) {
	counter, err := tokens.ByName("cl100k_base")
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "releases-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if s.dir != "" {
		if s.dir, err = filepath.Abs(s.dir); err != nil {
			return nil, err
		}
	}
	b := &bench{ctx, dir, self, s, counter}
	config, err := json.Marshal(map[string]any{
		"servers":    map[string]any{"github": map[string]any{"command": self, "args": []string{asServer, s.name, s.dir}}},
		"operations": "operations.yaml",
	})
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"rules.yaml": rulesYAML, "operations.yaml": operationsYAML, "spillway.yaml": string(config)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	pages, err := s.pages()
	if err != nil {
		return nil, err
	}
	t := &table{set: s.name}
	for _, p := range pages {
		doc, err := jsontape.Parse(p)
		if err != nil {
			return nil, err
		}
		t.records += doc.Root().Len()
	}
	for _, path := range []func(*table) error{b.wholePages, b.projected, b.clientLoop, b.overMCP, b.commandLine, b.inGo} {
		if err := path(t); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// start starts a command as an MCP server and does the handshake.
func (b *bench) start(argv ...string) (*client.Client, func() error, error) {
	cmd := exec.CommandContext(b.ctx, b.self, argv...)
	cmd.Env, cmd.Stderr = b.environ(), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	c := client.New(stdin, stdout)
	stop := func() error { stdin.Close(); return cmd.Wait() }
	if _, err := c.Initialize(b.ctx, "releases", "1"); err != nil {
		stop()
		return nil, nil, err
	}
	return c, stop, nil
}

// environ keeps the user's own files out of it.
func (b *bench) environ() []string {
	env := []string{"HOME=" + b.dir, "XDG_STATE_HOME=" + b.dir, "XDG_CONFIG_HOME=" + b.dir, "LOCALAPPDATA=" + b.dir, "APPDATA=" + b.dir, "USERPROFILE=" + b.dir}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "SPILLWAY_") && !strings.Contains(" HOME XDG_STATE_HOME XDG_CONFIG_HOME LOCALAPPDATA APPDATA USERPROFILE ", " "+name+" ") {
			env = append(env, v)
		}
	}
	return env
}

func (b *bench) file(name string) string { return filepath.Join(b.dir, name) }

// eachPage asks for pages until an empty one, and hands out what a model sees
// of each.
func eachPage(ctx context.Context, c *client.Client, do func(text []byte) (records int, err error)) error {
	for n := 1; ; n++ {
		args := map[string]any{"owner": "example", "repo": "example", "page": n}
		result, err := c.Call(ctx, toolName, args)
		if err != nil {
			return err
		}
		v, err := client.ViewsOf(result)
		if err != nil {
			return err
		}
		records, err := do(v.Text)
		if err != nil || records == 0 {
			return err
		}
	}
}

// stable counts the stable releases of a page that may be projected.
func stable(text []byte) (records, count int, err error) {
	doc, err := jsontape.Parse(text)
	if err != nil {
		return 0, 0, err
	}
	rows := doc.Root()
	if rows.Kind() == jsontape.Object {
		rows = rows.Get("rows")
	}
	for it := rows.Iter(); it.Next(); {
		r := it.Value()
		if r.Get("draft").Kind() == jsontape.False && r.Get("prerelease").Kind() == jsontape.False {
			count++
		}
	}
	return rows.Len(), count, nil
}

// pagesThrough sums up what a model reads that pages through a server.
func (b *bench) pagesThrough(t *table, path string, argv ...string) error {
	c, stop, err := b.start(argv...)
	if err != nil {
		return err
	}
	total, seen, rows := 0, 0, 0
	err = eachPage(b.ctx, c, func(text []byte) (int, error) {
		records, n, err := stable(text)
		total += n
		if records > 0 || t.records == 0 {
			seen += b.count.Count(text)
			rows += b.count.Count(rowsOf(text))
		}
		return records, err
	})
	if err == nil && t.pageTool == 0 {
		t.pageTool = b.count.Count([]byte(pageTool))
	}
	t.rows = append(t.rows, row{path, fmt.Sprint(total), seen, -1})
	if rows != seen {
		t.rows = append(t.rows, row{"  of it the rows alone", fmt.Sprint(total), rows, -1})
	}
	if ended := stop(); err == nil {
		err = ended
	}
	return err
}

// rowsOf returns the rows of a page without the note beside them.
func rowsOf(text []byte) []byte {
	doc, err := jsontape.Parse(text)
	if err != nil || doc.Root().Kind() != jsontape.Object {
		return text
	}
	return doc.Root().Get("rows").Raw()
}

func (b *bench) wholePages(t *table) error {
	return b.pagesThrough(t, "whole pages over MCP", asServer, b.set.name, b.set.dir)
}

func (b *bench) projected(t *table) error {
	return b.pagesThrough(t, "pages projected by a rule", asSpillway, "run", "--server", "github", "--rules", b.file("rules.yaml"), "--",
		b.self, asServer, b.set.name, b.set.dir)
}

// clientLoop is a program that somebody wrote for this: the model sees what it
// prints.
func (b *bench) clientLoop(t *table) error {
	c, stop, err := b.start(asServer, b.set.name, b.set.dir)
	if err != nil {
		return err
	}
	total := 0
	err = eachPage(b.ctx, c, func(text []byte) (int, error) {
		records, n, err := stable(text)
		total += n
		return records, err
	})
	printed := fmt.Sprintf(`{"stableReleases":%d}`, total)
	t.rows = append(t.rows, row{"a client's loop, its count", fmt.Sprint(total), b.count.Count([]byte(printed)), -1})
	if ended := stop(); err == nil {
		err = ended
	}
	return err
}

// add notes a receipt: the value alone, and the whole.
func (b *bench) add(t *table, path string, value, receipt []byte) error {
	var v struct{ StableReleases *int }
	if err := json.Unmarshal(value, &v); err != nil || v.StableReleases == nil {
		return fmt.Errorf("%s: no count in %s of %s", path, value, receipt)
	}
	t.rows = append(t.rows, row{path, strconv.Itoa(*v.StableReleases), b.count.Count(value), b.count.Count(receipt)})
	return nil
}

func (b *bench) overMCP(t *table) error {
	c, stop, err := b.start(asSpillway, "run", "-c", b.file("spillway.yaml"), "--server", "github")
	if err != nil {
		return err
	}
	defer stop()
	listed, err := c.Do(b.ctx, "tools/list", nil)
	if err != nil {
		return err
	}
	var list struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(listed, &list); err != nil {
		return err
	}
	for _, tool := range list.Tools {
		if bytes.Contains(tool, []byte(`"name":"count_stable_releases"`)) {
			t.countTool = b.count.Count(tool)
		}
	}
	result, err := c.Call(b.ctx, "count_stable_releases", repository)
	if err != nil {
		return err
	}
	doc, err := jsontape.Parse(result)
	if err != nil {
		return err
	}
	receipt := doc.Root().Get("structuredContent")
	return b.add(t, "the operation over MCP", receipt.Get("result").Raw(), receipt.Raw())
}

func (b *bench) commandLine(t *table) error {
	var out [2][]byte
	for i, form := range []string{"--value", "--json"} {
		cmd := exec.CommandContext(b.ctx, b.self, asSpillway, "op", "call", "count_stable_releases", "owner=example", "repo=example", form, "-c", b.file("spillway.yaml"))
		cmd.Env, cmd.Stderr = b.environ(), os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return err
		}
		out[i] = bytes.TrimSpace(text)
	}
	return b.add(t, "the command line", out[0], out[1])
}

// inGo defines the same operation with the SDK.
func (b *bench) inGo(t *table) error {
	c, stop, err := b.start(asServer, b.set.name, b.set.dir)
	if err != nil {
		return err
	}
	defer stop()
	type params struct {
		Owner string `json:"owner"`
		Repo  string `json:"repo"`
	}
	type result struct {
		StableReleases int `json:"stableReleases"`
	}
	count, err := contract.Read[params, result]{
		Name: "count_stable_releases", Version: "1.0", Title: "Count stable releases",
		Scope: "All releases of one GitHub repository that are visible to the token, without drafts and prereleases.",
		Fetch: func(ctx context.Context, p params, cursor *string) ([]byte, error) {
			n := 1
			if cursor != nil {
				if n, err = strconv.Atoi(*cursor); err != nil {
					return nil, err
				}
			}
			answer, err := c.Call(ctx, toolName, map[string]any{"owner": p.Owner, "repo": p.Repo, "page": n})
			if err != nil {
				return nil, err
			}
			v, err := client.ViewsOf(answer)
			return v.Text, err
		},
		End: "length(page) == `0`", Where: "!draft && !prerelease", Dedupe: "id",
		Aggregates: []contract.Aggregate{{Name: "stableReleases", Op: contract.Count}},
	}.Define()
	if err != nil {
		return err
	}
	sdk, err := contract.New(contract.Options{Caller: "experiment"})
	if err != nil {
		return err
	}
	value, receipt, err := count.Do(b.ctx, sdk, params{"example", "example"}, contract.Call{})
	if err != nil {
		return err
	}
	printed, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return b.add(t, "the SDK", printed, receipt.JSON())
}

func (t *table) write(w io.Writer) {
	fmt.Fprintf(w, "Set %s: %d releases in pages of ten.\n\n", t.set, t.records)
	const line = "%-30s %6s %10s %17s\n"
	fmt.Fprintf(w, line, "path", "stable", "tokens", "with its receipt")
	for _, r := range t.rows {
		receipt := "-"
		if r.receipt >= 0 {
			receipt = grouped(r.receipt)
		}
		fmt.Fprintf(w, line, r.path, r.value, grouped(r.alone), receipt)
	}
	fmt.Fprintf(w, "\nDefinitions: the page tool %d tokens, the count tool %d.\n", t.pageTool, t.countTool)
}

func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
