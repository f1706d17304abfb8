package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/config"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

const opYAML = `operations:
  count_rows@1.0:
    title: Count rows
    scope: All rows of one table.
    effects: read
    bounds: {max_pages: 2}
    params: {type: object, additionalProperties: false, required: [table], properties: {table: {type: string}, min: {type: integer, default: 0}}}
    read:
      call: {http: {url: "URL/rows/{params.table}", query: {cursor: cursor}}}
      items: page.items
      next: page.next
      where: id >= $params.min
      aggregate: {n: count}
  create_row@1.0:
    scope: One row of one table.
    effects: create
    idempotent: none
    params: {type: object, additionalProperties: false, required: [name], properties: {name: {type: string}}}
    mutation:
      steps:
        - call: {http: {method: POST, url: "URL/rows", headers: {X-Ref: "{key}"}, body: {name: params.name}}}
          classify: [{when: "error.status == ` + "`422`" + `", as: rejected, reason: bad_name}]
          reconcile: {call: {http: {url: "URL/made", query: {key: key}}}, present: page.id, absent: "!page.id"}
`

// table is an upstream whose answers can be lost after the effect.
type table struct {
	mu   sync.Mutex
	made map[string]string
	drop bool
}

// lose says whether answers are lost from now on.
func (u *table) lose(drop bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drop = drop
}

// effects counts the rows that were made.
func (u *table) effects() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.made)
}

func (u *table) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	defer u.mu.Unlock()
	switch cursor := r.URL.Query().Get("cursor"); {
	case r.Method == "POST" && strings.Contains(string(body), "bad"):
		w.WriteHeader(422)
	case r.Method == "POST":
		id := fmt.Sprintf(`{"id":"r%d","big":9007199254740993}`, len(u.made)+1)
		u.made[r.Header.Get("X-Ref")] = id
		if u.drop {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, id)
	case r.URL.Path == "/made":
		if id := u.made[r.URL.Query().Get("key")]; id != "" {
			io.WriteString(w, id)
		} else {
			io.WriteString(w, "{}")
		}
	case cursor == "":
		io.WriteString(w, `{"items":[{"id":1},{"id":2}],"next":"b"}`)
	case cursor == "b":
		io.WriteString(w, `{"items":[{"id":3}],"next":"c"}`)
	default:
		io.WriteString(w, `{"items":[],"next":null}`)
	}
}

// opKit is a directory with operations over a table, and a user's home.
type opKit struct {
	t    *testing.T
	file string
	up   *table
}

func newOpKit(t *testing.T) *opKit {
	up := &table{made: map[string]string{}}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	for _, name := range []string{"HOME", "LOCALAPPDATA", "APPDATA", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, dir)
	}
	file := filepath.Join(dir, "operations.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(opYAML, "URL", server.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	return &opKit{t, file, up}
}

// run runs "op ARGS" and returns its status, stdout and stderr.
func (k *opKit) run(args ...string) (int, string, string) {
	k.t.Helper()
	var out, said bytes.Buffer
	status := Run(k.t.Context(), append(append([]string{"op"}, args...), "--operations", k.file), streams{In: strings.NewReader(""), Out: &out, Err: &said})
	return status, out.String(), said.String()
}

func receiptOf(t *testing.T, out string) contract.Receipt {
	t.Helper()
	var r contract.Receipt
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	if strings.Count(out, "\n") != 1 {
		t.Errorf("more than a line: %q", out)
	}
	return r
}

func TestA02_ExitStatusIsTheOutcome(t *testing.T) {
	k := newOpKit(t)
	for _, tt := range []struct {
		args   []string
		status int
		says   string // on stderr
	}{
		{[]string{"call", "create_row", "name=a", "--key", "k1"}, contract.ExitCompleted, "operation k1"},
		{[]string{"call", "create_row", "name=b", "--key", "k1"}, contract.ExitConflict, "key conflict"},
		{[]string{"call", "create_row", "name=bad", "--key", "k2"}, contract.ExitRejected, "rejected"},
		{[]string{"call", "create_row", "nme=a"}, contract.ExitUsage, "name"},
		{[]string{"call", "create_row", "{"}, contract.ExitUsage, "no JSON"},
		{[]string{"call", "craete_row", "name=a"}, contract.ExitUsage, `did you mean "create_row"?`},
		{[]string{"call", "count_rows", "table=t"}, contract.ExitIncomplete, "the limit of one call"},
		{[]string{"status", "nope"}, contract.ExitRejected, "not found"},
		{[]string{"commit", "nope"}, contract.ExitRejected, "not found"},
		{[]string{"resolve", "k1", "--completed"}, contract.ExitUsage, "--why"},
		{[]string{"resolve", "k1", "--completed", "--why", "x"}, contract.ExitUsage, "this one is completed"},
		{[]string{"list", "--frob"}, contract.ExitUsage, "--frob"},
	} {
		status, out, said := k.run(tt.args...)
		if (tt.args[0] == "resolve" || tt.args[0] == "status") && out != "" {
			t.Errorf("%q: a question that is refused says nothing of the operation, and printed %q", tt.args, out)
		}
		if status != tt.status || !strings.Contains(said, tt.says) {
			t.Errorf("%q: status %d, want %d; stdout %q, stderr %q", tt.args, status, tt.status, out, said)
		}
		for line := range strings.Lines(said) {
			if !strings.HasPrefix(line, "spillway: ") {
				t.Errorf("%q: talk without its head: %q", tt.args, line)
			}
		}
	}
}

func TestA03_IdIsShownBeforeSubmission(t *testing.T) {
	k := newOpKit(t)
	k.up.lose(true)
	status, out, said := k.run("call", "create_row", "name=lost", "--json")
	id := regexp.MustCompile(`(?m)^spillway: operation (\S+)$`).FindStringSubmatch(said)
	r := receiptOf(t, out)
	if status != contract.ExitUnknown || id == nil || r.OperationID != id[1] || r.NextAction != contract.NextReconcile {
		t.Fatalf("status %d, %s, %s", status, out, said)
	}
	k.up.lose(false)
	t.Run("C-16 not submitted again by itself", func(t *testing.T) {
		if status, out, _ := k.run("call", "create_row", "name=lost", "--key", id[1], "--json"); status != contract.ExitUnknown {
			t.Errorf("status %d, %s", status, out)
		}
		if status, _, _ := k.run("status", id[1]); status != contract.ExitUnknown {
			t.Errorf("status %d", status)
		}
	})
	t.Run("C-17 reconciled, with the result", func(t *testing.T) {
		status, out, _ := k.run("reconcile", id[1], "--value")
		if status != 0 || out != `{"id":"r1","big":9007199254740993}`+"\n" {
			t.Errorf("status %d, %s", status, out)
		}
		if k.up.effects() != 1 {
			t.Errorf("%d effects", k.up.effects())
		}
	})
	if status, out, _ := k.run("journal", "list", "--json"); status != 0 || !strings.Contains(out, id[1]) || strings.Contains(out, "lost") {
		t.Errorf("journal: %s", out)
	}
}

func TestOpPrepareCommitResolveResume(t *testing.T) {
	k := newOpKit(t)
	if status, out, said := k.run("prepare", "create_row", "name=p", "--key", "p1"); status != 0 || !strings.Contains(out, "spillway op commit p1") || k.up.effects() > 0 {
		t.Fatalf("status %d, %s%s", status, out, said)
	}
	if status, _, said := k.run("status", "p1"); status != contract.ExitRejected || !strings.Contains(said, "it is prepared; commit it") {
		t.Errorf("C-22: of what is only prepared: status %d, %s", status, said)
	}
	for i := range 2 {
		status, out, said := k.run("commit", "p1", "--json")
		if r := receiptOf(t, out); status != 0 || r.Replayed != (i == 1) || k.up.effects() != 1 {
			t.Errorf("status %d, %s%s", status, out, said)
		}
	}
	k.up.lose(true)
	k.run("call", "create_row", "name=u", "--key", "u1")
	k.up.lose(false)
	if status, out, _ := k.run("resolve", "u1", "--absent", "--why", "looked", "--who", "me", "--json"); status != contract.ExitRejected || !strings.Contains(out, `"reason":"resolved"`) {
		t.Errorf("status %d, %s", status, out)
	}
	if status, out, _ := k.run("journal", "show", "u1"); status != 0 || !strings.Contains(out, "me resolved absent: looked") {
		t.Errorf("status %d, %s", status, out)
	}
	if status, out, _ := k.run("resume", "u1", "--json"); status != 0 || receiptOf(t, out).Outcome != contract.Completed {
		t.Errorf("status %d, %s", status, out)
	}
	_, out, _ := k.run("call", "count_rows", "table=t", "min=2", "--json")
	first := receiptOf(t, out)
	if first.Continuation == nil || string(first.Result) != `{"n":2}` {
		t.Fatal(out)
	}
	if status, out, _ := k.run("resume", *first.Continuation, "--value"); status != 0 || out != `{"n":2}`+"\n" {
		t.Errorf("C-06: status %d, %s", status, out)
	}
	if status, out, _ := k.run("call", "count_rows", "table=u", "--continuation", *first.Continuation, "--json"); status != contract.ExitRejected || !strings.Contains(out, contract.ReasonContinuationParams) {
		t.Errorf("C-05: status %d, %s", status, out)
	}
}

func TestOpTellsOfItself(t *testing.T) {
	k := newOpKit(t)
	var b strings.Builder
	port := regexp.MustCompile(`127\.0\.0\.1:\d+|digest     [0-9a-f]+|at <time>`)
	for _, args := range [][]string{{"list"}, {"describe", "count_rows"}, {"describe", "create_row@1"}} {
		status, out, said := k.run(args...)
		if status != 0 || said != "" {
			t.Errorf("%q: %d, %s", args, status, said)
		}
		fmt.Fprintf(&b, "$ spillway op %s\n%s\n", strings.Join(args, " "), port.ReplaceAllStringFunc(out, func(s string) string {
			if strings.HasPrefix(s, "digest") {
				return "digest     …"
			}
			return "HOST"
		}))
	}
	golden(t, "op.txt", b.String())
}

// Records are there without the file that defined their operations.
func TestJournalWithoutOperations(t *testing.T) {
	k := newOpKit(t)
	if status, _, said := k.run("call", "create_row", "name=a", "--key", "k-1"); status != 0 {
		t.Fatalf("call: %d, %s", status, said)
	}
	for _, args := range [][]string{{"list"}, {"show", "k-1"}, {"sweep"}} {
		var out, said bytes.Buffer
		status := Run(t.Context(), append([]string{"op", "journal"}, args...), streams{In: strings.NewReader(""), Out: &out, Err: &said})
		if status != 0 || said.Len() > 0 || args[0] != "sweep" && !strings.Contains(out.String(), "k-1") {
			t.Errorf("%q: %d, %q, %s", args, status, out.String(), said.String())
		}
	}
}

func TestM21_JournalThatCannotBeOpenedRefusesMutations(t *testing.T) {
	k := newOpKit(t)
	t.Setenv("SPILLWAY_JOURNAL", filepath.Join(k.file, "below-a-file.db"))
	status, out, _ := k.run("call", "create_row", "name=a", "--json")
	if r := receiptOf(t, out); status != contract.ExitRejected || r.Reason != contract.ReasonJournal || k.up.effects() > 0 {
		t.Errorf("status %d, %s", status, out)
	}
	if status, _, said := k.run("call", "count_rows", "table=t"); status != contract.ExitIncomplete {
		t.Errorf("a read needs no journal: status %d, %s", status, said)
	}
}

func TestC08_EvidenceIsReadFromTheStash(t *testing.T) {
	k := newOpKit(t)
	_, out, _ := k.run("call", "count_rows", "table=t", "--evidence", "--json")
	r := receiptOf(t, out)
	if len(r.Evidence) != 2 {
		t.Fatal(out)
	}
	var page, said bytes.Buffer
	if status := Run(t.Context(), []string{"stash", "expand", r.Evidence[0]}, streams{In: strings.NewReader(""), Out: &page, Err: &said}); status != 0 || !strings.Contains(page.String(), `"next":"b"`) {
		t.Errorf("status %d: %s%s", status, page.String(), said.String())
	}
}

// Over Go, the command line and MCP the receipt of a replay is the same.
func TestA01_SameBytesOverAllFaces(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh to write a server with:", err)
	}
	k := newOpKit(t)
	k.run("call", "create_row", "name=a", "--key", "k1")
	_, line, _ := k.run("commit", "k1", "--json")

	ops, err := openForTest(t, k)
	if err != nil {
		t.Fatal(err)
	}
	defer ops.Close()
	r, err := ops.client.Commit(t.Context(), contract.Ref{Key: "k1"}, contract.Call{})
	if err != nil {
		t.Fatal(err)
	}

	in, client := io.Pipe()
	answers, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan int, 1)
	go func() {
		server := []string{"sh", "-c", `read l; echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}'; cat >/dev/null`}
		done <- Run(ctx, append([]string{"run", "--operations", k.file, "--"}, server...), streams{In: in, Out: out, Err: io.Discard})
		out.Close()
	}()
	read := bufio.NewReader(answers)
	ask := func(request string) []byte {
		go io.WriteString(client, request+"\n")
		answer, err := read.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	if list := ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !bytes.Contains(list, []byte(`"create_row_commit"`)) {
		t.Fatalf("%s", list)
	}
	answer := ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"create_row_commit","arguments":{"operationId":"k1"}}}`)
	client.Close()
	if status := <-done; status != 0 {
		t.Errorf("run ended with %d", status)
	}
	doc, err := jsontape.Parse(answer)
	if err != nil {
		t.Fatal(err)
	}
	goBytes := canonicalJSON(t, r.JSON())
	overMCP := string(doc.Root().Lookup("result", "structuredContent").AppendCanonical(nil))
	if overCLI := canonicalJSON(t, []byte(line)); overCLI != goBytes || overMCP != goBytes {
		t.Errorf("Go  %s\nCLI %s\nMCP %s", goBytes, overCLI, overMCP)
	}
	if !strings.Contains(goBytes, `"replayed":true`) || !strings.Contains(goBytes, "9007199254740993") {
		t.Errorf("no replay of the result: %s", goBytes)
	}
}

func canonicalJSON(t *testing.T, raw []byte) string {
	t.Helper()
	doc, err := jsontape.Parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return string(doc.Root().AppendCanonical(nil))
}

func openForTest(t *testing.T, k *opKit) (*operations, error) {
	o := opOptions{}
	o.files.Operations = k.file
	c, err := openConfig(o.files)
	if err != nil {
		return nil, err
	}
	s := streams{Err: io.Discard}
	return openOperations(c, s, newLog(io.Discard, 0), nil)
}

// Who can read the journal settles what a gateway's caller left unknown, for that
// caller by name; without the name it is not found (C-16, C-21).
func TestC16_ACallersUnknownIsSettledByName(t *testing.T) {
	k := newOpKit(t)
	k.up.lose(true)
	c, err := openConfig(config.Flags{Operations: k.file})
	if err != nil {
		t.Fatal(err)
	}
	ops, err := openOperations(c, streams{Err: io.Discard}, newLog(io.Discard, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := ops.client.Do(t.Context(), ops.client.Lookup("create_row"), contract.Call{Caller: "token:ci", Key: "k1", Params: json.RawMessage(`{"name":"n"}`)})
	ops.Close()
	if r.Outcome != contract.Unknown {
		t.Fatalf("%s", r.JSON())
	}
	k.up.lose(false)
	for _, args := range [][]string{{"status", "k1"}, {"reconcile", "k1"}, {"resolve", "k1", "--absent", "--why", "x"}, {"journal", "show", "k1"}} {
		if status, out, _ := k.run(args...); status != contract.ExitRejected {
			t.Errorf("%v without the caller: %d %s", args, status, out)
		}
	}
	if status, out, _ := k.run("journal", "list", "--caller", "token:ci"); status != 0 || !strings.Contains(out, "unknown") {
		t.Errorf("%d %s", status, out)
	}
	if status, out, _ := k.run("reconcile", "k1", "--caller", "token:ci", "--json"); status != 0 || receiptOf(t, out).Outcome != contract.Completed {
		t.Errorf("%d %s", status, out)
	}
}
