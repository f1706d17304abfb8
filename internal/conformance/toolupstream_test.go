package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

// bridgeEnv makes the test binary an MCP server in front of the fake upstream,
// whose URL it holds: its tools answer with isError where the upstream does not
// answer well, as most servers do, whether something happened or not.
const bridgeEnv = "SPILLWAY_CONFORMANCE_BRIDGE"

// toolOperations are create_item over a tool, and again with a table that knows
// what one of the tool's errors means.
func toolOperations() []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, "operations:")
	for major, classify := range []string{
		"",
		"classify: [{when: \"error.kind == 'isError' && error.text == 'HTTP status 422'\", as: rejected, reason: name_taken}]",
	} {
		fmt.Fprintf(&b, `
  create_item@%d.0:
    scope: Makes one item in one account.
    effects: create
    params:
      type: object
      required: [name]
      properties: {name: {type: string}, account: {type: string, default: main}}
    mutation:
      steps:
        - call: {tool: items/create, args: {name: params.name, account: params.account}}
          key: {in: argument, name: ref}
          %s
          reconcile:
            call: {tool: items/find, args: {ref: key}}
            present: "length(page.items) > `+"`0`"+`"
            absent: "length(page.items) == `+"`0`"+`"
            result: page.items[0]
`, major+1, classify)
	}
	return b.Bytes()
}

// TestM19_ErrorsOfTools: what isError, errors of the protocol and the end of a
// server mean, where an upstream is an MCP server. The log is judged, not the
// server's word: the same isError comes with an effect and without.
func TestM19_ErrorsOfTools(t *testing.T) {
	for _, x := range []struct {
		name    string
		version string
		fault   upstream.Fault
		outcome contract.Outcome
		reason  string
		effects int
	}{
		{"no-fault", "1.0", upstream.Fault{On: upstream.OnRef("none")}, contract.Completed, "", 1},
		{"isError-and-it-happened", "1.0", upstream.Fault{Answer: 500}, contract.Unknown, contract.ReasonNoAnswer, 1},
		{"isError-and-it-did-not", "1.0", upstream.Fault{Refuse: 422}, contract.Unknown, contract.ReasonNoAnswer, 0},
		{"isError-in-the-table", "2.0", upstream.Fault{Refuse: 422}, contract.Rejected, "name_taken", 0},
		{"isError-not-in-the-table", "2.0", upstream.Fault{Answer: 503}, contract.Unknown, contract.ReasonNoAnswer, 1},
		{"isError-after-a-lost-answer", "1.0", upstream.Fault{LoseAnswer: true}, contract.Unknown, contract.ReasonNoAnswer, 1},
		{"rpc-internal", "1.0", upstream.Fault{On: upstream.OnRef("none")}, contract.Unknown, contract.ReasonNoAnswer, 1},
		{"rpc-refused", "1.0", upstream.Fault{On: upstream.OnRef("none")}, contract.Rejected, contract.ReasonUpstream, 0},
		{"dies", "1.0", upstream.Fault{On: upstream.OnRef("none")}, contract.Unknown, contract.ReasonNoAnswer, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := newWorld(t)
			p := open(t, command{}, w)
			config := fmt.Sprintf("servers: {items: {command: %q, env: {%s: %q, %s: \"\"}}}\n", os.Args[0], bridgeEnv, w.URL, commandEnv)
			write(t, filepath.Join(w.Dir, "spillway", "spillway.yaml"), []byte(config))
			write(t, filepath.Join(w.Dir, "operations.yaml"), toolOperations())
			call := contracttest.Call{Verb: contracttest.VerbDo, Operation: "create_item@" + x.version, Key: "k1",
				Params: json.RawMessage(fmt.Sprintf(`{"name":%q}`, x.name))}
			w.Upstream.Script(x.fault)
			a := p.Do(t.Context(), call)
			if a.Outcome() != x.outcome || a.Reason() != x.reason {
				t.Fatalf("want %s %s, have %s %s %s", x.outcome, x.reason, a.Raw, a.Text, a.Error)
			}
			judged(t, w, call, a, x.effects)
			submitted := w.Upstream.Submissions()
			if a = p.Do(t.Context(), call); a.Outcome() != x.outcome {
				t.Errorf("again: want %s, have %s", x.outcome, a.Raw)
			}
			if x.outcome == contract.Unknown {
				a = p.Do(t.Context(), contracttest.Call{Verb: contracttest.VerbReconcile, Operation: call.Operation, Key: call.Key})
				want := contract.Completed
				if x.effects == 0 {
					want = contract.Rejected
				}
				if a.Outcome() != want {
					t.Errorf("reconciled: want %s, have %s", want, a.Raw)
				}
			}
			if n := w.Upstream.Submissions(); n != submitted {
				t.Errorf("%d submissions more", n-submitted)
			}
			judged(t, w, call, a, x.effects)
		})
	}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// serveBridge is the MCP server.
func serveBridge(url string) error {
	out := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments map[string]json.RawMessage
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return err
		}
		if m.ID == nil {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
		switch m.Method {
		case "initialize":
			answer["result"] = json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"items","version":"1"}}`)
		case "tools/call":
			result, fault := bridge(url, m.Params.Name, m.Params.Arguments)
			if fault != nil {
				answer["error"] = fault
			} else {
				answer["result"] = result
			}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "method not found"}
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}

// bridge makes a call of a tool a request of the upstream.
func bridge(url, tool string, args map[string]json.RawMessage) (result, fault any) {
	var ref, name string
	_ = json.Unmarshal(args["ref"], &ref)
	_ = json.Unmarshal(args["name"], &name)
	delete(args, "ref")
	if name == "rpc-refused" {
		return nil, map[string]any{"code": -32602, "message": "no such tool"}
	}
	method, path, body := "POST", "/items", io.Reader(nil)
	if tool == "find" {
		method, path = "GET", "/items?ref="+ref
	} else {
		raw, err := json.Marshal(args)
		if err != nil {
			return nil, map[string]any{"code": -32603, "message": err.Error()}
		}
		body = bytes.NewReader(raw)
	}
	text, isError := func() (string, bool) {
		req, err := http.NewRequest(method, url+path, body)
		if err != nil {
			return err.Error(), true
		}
		req.Header.Set("X-Ref", ref)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return "the service did not answer", true
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 300 {
			return fmt.Sprint("HTTP status ", resp.StatusCode), true
		}
		return string(raw), false
	}()
	switch name {
	case "rpc-internal":
		return nil, map[string]any{"code": -32603, "message": "internal error"}
	case "dies":
		os.Exit(1)
	}
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": isError}, nil
}
