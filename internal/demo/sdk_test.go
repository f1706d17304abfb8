package demo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spillway-mcp/spillway/internal/cli"
	"github.com/spillway-mcp/spillway/internal/demo"
	"github.com/spillway-mcp/spillway/internal/fixture"
)

// The test binary is spillway itself where this is set.
const asSpillway = "SPILLWAY_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asSpillway) != "" {
		os.Exit(cli.Main())
	}
	os.Exit(m.Run())
}

// designRules is the file of docs/design.md, which has to work as it is written there.
const designRules = `default:
  max_bytes: 20k
  always: [total_count, incomplete_results, next_cursor, truncated]
github:
  search_code:
    keep: "items[*].{repo: repository.full_name, path: path, url: html_url}"
    max_rows: 25
filesystem:
  read_file:
    strip: [blob, image]
postgres:
  query:
    max_rows: 100
`

// connect starts the demo's server behind spillway run and connects the Go SDK's client, which checks results against
// the listed schemas. The demo itself uses a small client of ours, since the SDK's would make the program half as large
// again; this test holds the two to the same results.
func connect(t *testing.T, config string) *mcp.ClientSession {
	t.Helper()
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yaml")
	if err := os.WriteFile(rules, []byte(designRules), 0o600); err != nil {
		t.Fatal(err)
	}
	c := filepath.Join(dir, "spillway.yaml")
	if err := os.WriteFile(c, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "run", "-c", c, "--rules", rules, "--server", "github", "--", self, "__demo-server")
	cmd.Env = append(os.Environ(), asSpillway+"=1", "XDG_STATE_HOME="+dir, "HOME="+dir, "LOCALAPPDATA="+dir)
	var said bytes.Buffer
	cmd.Stderr = &said
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func callText(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (*mcp.CallToolResult, string) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, block := range result.Content {
		if b, ok := block.(*mcp.TextContent); ok {
			text += b.Text
		}
	}
	if result.IsError {
		t.Fatalf("%s answered an error: %s", tool, text)
	}
	return result, text
}

// The promise of the design's rules on 100 hits of GitHub's REST search.
func TestGoSDKClientThroughRun(t *testing.T) {
	session := connect(t, "{}\n")
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "search_code list_releases reducer_expand" {
		t.Errorf("tools are %s", got)
	}

	result, text := callText(t, session, fixture.SearchTool, map[string]any{"query": "x"})
	whole := fixture.CodeSearch(demo.Hits)
	t.Run("98.5 % fewer bytes, totals kept", func(t *testing.T) {
		if len(text)*1000 > len(whole)*15 {
			t.Errorf("%d bytes of %d are over 1.5 %%", len(text), len(whole))
		}
		var page struct {
			Note       string `json:"_spillway"`
			TotalCount int    `json:"total_count"`
			Incomplete *bool  `json:"incomplete_results"`
			Rows       []struct{ Repo, Path, URL string }
		}
		if err := json.Unmarshal([]byte(text), &page); err != nil {
			t.Fatal(err)
		}
		if page.TotalCount < 1300 || page.Incomplete == nil || len(page.Rows) != 25 || page.Rows[0].Repo == "" {
			t.Errorf("got %+v", page)
		}
		if !strings.HasPrefix(text, `{"_spillway":"`) || !strings.Contains(page.Note, "25 of 100 rows") {
			t.Errorf("the text starts with %.100s", text)
		}
		structured, err := json.Marshal(result.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(structured, &a) != nil || json.Unmarshal([]byte(text), &b) != nil || !sameJSON(a, b) {
			t.Error("the two copies differ")
		}
	})
	t.Run("RED-25 one expand returns node_id of rows 26-50", func(t *testing.T) {
		cut, _ := result.Meta["io.github.spillway-mcp/cut"].(map[string]any)
		ref, _ := cut["ref"].(string)
		_, answer := callText(t, session, "reducer_expand", map[string]any{"ref": ref, "rows": "26-50", "fields": []string{"node_id"}})
		var page struct {
			Items []struct {
				NodeID string `json:"node_id"`
			}
		}
		if err := json.Unmarshal(whole, &page); err != nil {
			t.Fatal(err)
		}
		for i, item := range page.Items {
			if inside := i >= 25 && i < 50; strings.Contains(answer, item.NodeID) != inside {
				t.Errorf("row %d: node_id in the answer: %v", i+1, !inside)
			}
		}
	})
}

func sameJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}
