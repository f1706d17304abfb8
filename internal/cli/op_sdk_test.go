package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spillway-mcp/spillway/contract"
)

// heard collects what a command says, and lets a test wait for a part of it.
type heard struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{}
}

func (s *heard) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Write(p)
	select {
	case s.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (s *heard) wait(t *testing.T, re *regexp.Regexp) []string {
	t.Helper()
	for deadline := time.After(20 * time.Second); ; {
		s.mu.Lock()
		m := re.FindStringSubmatch(s.b.String())
		s.mu.Unlock()
		if m != nil {
			return m
		}
		select {
		case <-s.more:
		case <-deadline:
			t.Fatalf("never said %s: %s", re, s.b.String())
		}
	}
}

// noToolsServer is an MCP server without a tool, of the newer era or the older.
const noToolsServer = `while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
  answer='"error":{"code":-32601,"message":"method not found"}'
  case "$1 $line" in
  'modern '*'"server/discover"'*) answer='"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"none","version":"1"}}}' ;;
  'legacy '*'"initialize"'*) answer='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"none","version":"1"}}' ;;
  'modern '*'"tools/list"'*) answer='"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}' ;;
  *'"tools/list"'*) answer='"result":{"tools":[]}' ;;
  esac
  if [ -n "$id" ]; then echo "{\"jsonrpc\":\"2.0\",\"id\":$id,$answer}"; fi
done
`

// The official SDK's client, over HTTP in both eras: of the newer one it is
// asked to approve and brings the state back by itself; of the older it
// prepares and commits.
func TestOperationsForTheSDKsClient(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh to write a server with:", err)
	}
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) { operationsForTheSDKsClient(t, era) })
	}
}

func operationsForTheSDKsClient(t *testing.T, era string) {
	k := newOpKit(t)
	t.Chdir(filepath.Dir(k.file))
	for name, text := range map[string]string{
		"server.sh":     noToolsServer,
		"spillway.yaml": "servers: {none: {command: sh, args: [server.sh, " + era + "]}}\noperations: operations.yaml\nserve: {auth: none}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	talk := &heard{more: make(chan struct{}, 1)}
	done := make(chan int, 1)
	go func() {
		done <- Run(ctx, []string{"serve", "-c", "spillway.yaml", "--listen", "127.0.0.1:0"}, streams{In: strings.NewReader(""), Out: io.Discard, Err: talk})
	}()
	defer func() { cancel(); <-done }()
	url := talk.wait(t, regexp.MustCompile(`(http://127\.0\.0\.1:\d+/[a-z]+)`))[1]

	asked := 0
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			if !strings.Contains(r.Params.Message, "One row of one table") {
				t.Errorf("asked %q", r.Params.Message)
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
		},
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, tool := range list.Tools {
		names[tool.Name] = true
	}
	if names["create_row"] != (era == "modern") || names["create_row_prepare"] != (era == "legacy") || !names["count_rows"] {
		t.Fatalf("tools %v for revision %s", names, session.InitializeResult().ProtocolVersion)
	}
	call := func(tool string, args map[string]any) (r contract.Receipt) {
		t.Helper()
		got, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(got.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(tool, "_prepare") { // a preview, of which the id is wanted
			err = json.Unmarshal(raw, &struct{ OperationID *string }{&r.OperationID})
		} else {
			err = json.Unmarshal(raw, &r)
		}
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		return r
	}
	if r := call("count_rows", map[string]any{"table": "t"}); r.Complete || string(r.Result) != `{"n":3}` {
		t.Errorf("%s", r.JSON())
	}
	var made contract.Receipt
	if era == "modern" {
		made = call("create_row", map[string]any{"name": "n"})
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	} else {
		id := call("create_row_prepare", map[string]any{"name": "n"}).OperationID
		made = call("create_row_commit", map[string]any{"operationId": id})
		if again := call("create_row_commit", map[string]any{"operationId": id}); !again.Replayed {
			t.Errorf("%s", again.JSON())
		}
	}
	if made.Outcome != contract.Completed || k.up.effects() != 1 {
		t.Errorf("%d made: %s", k.up.effects(), made.JSON())
	}
}
