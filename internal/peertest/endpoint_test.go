//go:build linux

package peertest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// endpointServer is one server behind the endpoint, as peers/endpoint.mjs takes
// it: how it is reached, and what is called.
type endpointServer struct {
	Name        string            `json:"name"`
	Argv        []string          `json:"argv,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	URL         string            `json:"url,omitempty"`
	Clashes     any               `json:"clashes,omitempty"` // tools that another has too; true for all
	Hides       []string          `json:"hides,omitempty"`   // tools that depend on what the client can, which one that is shared is not told
	Interactive bool              `json:"interactive,omitempty"`
	Calls       []endpointCall    `json:"calls"`
	perSession  bool
	misfit      bool // not every client can talk to it directly
}

type endpointCall struct {
	Tool string         `json:"tool"`
	Args map[string]any `json:"args"`
}

// through is how the endpoint is reached.
type through struct {
	URL   string            `json:"url,omitempty"`
	Token string            `json:"token,omitempty"`
	Argv  []string          `json:"argv,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
}

func calls(tool string, args ...map[string]any) (all []endpointCall) {
	for _, a := range args {
		all = append(all, endpointCall{tool, a})
	}
	return all
}

type obj = map[string]any

// endpointServers are the reference servers, one of them by HTTP too, and the
// misfits.
func endpointServers(t *testing.T, dir string) (all []endpointServer) {
	files := filepath.Join(dir, "files")
	if err := os.MkdirAll(files, 0o755); err != nil {
		t.Fatal(err)
	}
	var lines, records strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&lines, "line %d – größer als der Rahmen\n", i+1)
		fmt.Fprintf(&records, ",{\"id\":%d,\"name\":\"record %d\"}", i, i)
	}
	for name, text := range map[string]string{
		"lines.txt": lines.String(), "small.txt": "all is well\n", "records.json": "[" + records.String()[1:] + "]",
	} {
		if err := os.WriteFile(filepath.Join(files, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	graph := `{"type":"entity","name":"a","entityType":"t","observations":["one","two"]}` + "\n" + `{"type":"relation","from":"a","to":"a","relationType":"r"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "memory.jsonl"), []byte(graph), 0o644); err != nil {
		t.Fatal(err)
	}
	at := func(name string) obj { return obj{"path": filepath.Join(files, name)} }
	everything := append(calls("echo", obj{"message": "Grüße 😀"}, obj{"message": strings.Repeat("0123456789 ", 3000)}, obj{"wrong": true}),
		endpointCall{"get-sum", obj{"a": 1, "b": 2}}, endpointCall{"get-tiny-image", obj{}}, endpointCall{"get-structured-content", obj{"location": "Chicago"}},
		endpointCall{"get-annotated-message", obj{"messageType": "debug", "includeImage": true}}, endpointCall{"get-resource-links", obj{"count": 5}},
		endpointCall{"get-resource-reference", obj{"resourceType": "Text", "resourceId": 3}})
	web := httptest.NewServer(&misfitWeb{sessions: map[string]bool{}})
	t.Cleanup(web.Close)
	forms := []endpointCall{}
	for _, form := range []string{"plain", "crlf", "multiline", "comments", "tight", "others", "notes", "bytewise"} {
		forms = append(forms, endpointCall{"stream_" + form, obj{}})
	}
	var odd []endpointCall
	for _, tool := range []string{"read_text_file", "twice", "blocks", "fails", "null_id"} {
		odd = append(odd, endpointCall{tool, obj{}})
	}
	odd = append(odd, calls("bulk", obj{"size": 1 << 20}, obj{"size": 16 << 20})...)
	steady := steadyEnv(t)
	all = []endpointServer{
		{
			Name: "filesystem", Env: steady, Argv: server(t, "filesystem", files), Clashes: []string{"read_text_file"},
			Calls: append(calls("read_text_file", at("lines.txt"), at("small.txt"), at("records.json"), at("absent")),
				endpointCall{"list_directory", obj{"path": files}}, endpointCall{"directory_tree", obj{"path": files}},
				endpointCall{"read_multiple_files", obj{"paths": []string{filepath.Join(files, "small.txt"), filepath.Join(files, "absent")}}}),
		},
		{Name: "memory", Env: steady, Argv: server(t, "memory"), Calls: append(calls("search_nodes", obj{"query": "a"}), endpointCall{"read_graph", obj{}}, endpointCall{"open_nodes", obj{"names": []string{"a"}}})},
		{Name: "everything", Env: steady, Argv: server(t, "everything", "stdio"), Clashes: true, Interactive: true, perSession: true, Calls: everything},
		{Name: "remote", URL: remoteEverything(t, dir), Clashes: true, Interactive: true, Calls: everything},
		{Name: "odd", Argv: []string{self(t)}, Env: map[string]string{roleVar: "misfit", "PEERTEST_MILD": "1"}, Clashes: []string{"read_text_file"}, Hides: []string{"ask"}, Calls: odd, misfit: true},
		{Name: "web", URL: web.URL, Calls: forms, misfit: true},
	}
	if err := withGitHub(t); err != nil {
		t.Log("without GitHub's server: ", err)
		return all
	}
	repo := func(more obj) obj {
		more["owner"], more["repo"] = "acme", "portal"
		return more
	}
	return append(all, endpointServer{
		Name: "github", Argv: []string{os.Getenv("SPILLWAY_PEER_GITHUB"), "stdio"},
		Env: map[string]string{"GITHUB_HOST": os.Getenv("SPILLWAY_PEER_GITHUB_HOST"), "GITHUB_PERSONAL_ACCESS_TOKEN": "none"},
		Calls: append(calls("list_issues", repo(obj{"state": "OPEN"})), endpointCall{"list_commits", repo(obj{})}, endpointCall{"get_me", obj{}},
			endpointCall{"search_code", obj{"query": "deprecatedCharge org:acme"}}, endpointCall{"list_releases", repo(obj{})},
			endpointCall{"pull_request_read", repo(obj{"method": "get_files", "pullNumber": 612})}, endpointCall{"get_file_contents", repo(obj{"path": "CHANGELOG.md"})}),
	})
}

// steadyEnv lets a server's clock and dice stand still.
func steadyEnv(t *testing.T) map[string]string {
	return map[string]string{"NODE_OPTIONS": "--import=" + filepath.Join(scripts(t), "steady.mjs")}
}

// remoteEverything starts the reference server that is reached by HTTP.
func remoteEverything(t *testing.T, dir string) string {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	argv := server(t, "everything", "streamableHttp")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = append(isolated(t, dir), "PORT="+port), dir
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		killGroup(cmd)
		cmd.Wait()
	})
	url := "http://127.0.0.1:" + port + "/mcp"
	await(t, "the server by HTTP listens", func() bool {
		resp, err := http.Get(url)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	})
	return url
}

// endpointConfig is the configuration with these servers.
func endpointConfig(t *testing.T, servers []endpointServer) string {
	t.Helper()
	entries := map[string]any{}
	var b strings.Builder
	b.WriteString("servers:\n")
	for _, s := range servers {
		entry := obj{}
		if s.URL != "" {
			entry["url"] = s.URL
		} else {
			entry["command"], entry["args"], entry["env"] = s.Argv[0], append([]string{}, s.Argv[1:]...), s.Env
			if s.Env == nil {
				delete(entry, "env")
			}
			if s.perSession {
				entry["per_session"] = true
			}
		}
		entries[s.Name] = entry
		text, err := json.Marshal(entry) // JSON is YAML
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "  %s: %s\n", s.Name, text)
	}
	b.WriteString("rules: {default: {max_bytes: 20k}, odd: {default: {pass: true}}}\n")
	return b.String()
}

// The reference servers, one of them by HTTP, and servers with bad habits behind
// one endpoint, under the TypeScript clients of both lines, over HTTP to serve
// and on the streams of run: each gives what it gives by itself.
func TestOneEndpointForAll_K22_K24_K43_K65_RED41(t *testing.T) {
	need(t)
	dir := t.TempDir()
	servers := endpointServers(t, dir)
	configuration := endpointConfig(t, servers)
	s := serve(t, dir, configuration, isolated(t, dir), "ts1", "ts2", "go")
	steady := steadyEnv(t)
	for _, client := range []string{"1", "2"} {
		ways := map[string]through{
			"serve": {URL: s.base + "/mcp", Token: s.token["ts"+client]},
			"run":   {Argv: []string{spillway(t), "run", "-c", filepath.Join(dir, "spillway.yaml")}, Env: steady},
		}
		for name, way := range ways {
			t.Run(fmt.Sprintf("TypeScript %s.x %s", client, name), func(t *testing.T) {
				site := struct {
					Through through          `json:"through"`
					Roots   []string         `json:"roots"`
					Own     bool             `json:"own"` // every server is the client's own
					Servers []endpointServer `json:"servers"`
				}{way, []string{filepath.Join(dir, "files")}, name == "run", servers}
				text, err := json.Marshal(site)
				if err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(t.TempDir(), "site.json")
				if err := os.WriteFile(file, text, 0o644); err != nil {
					t.Fatal(err)
				}
				for _, pair := range home(dir) {
					name, value, _ := strings.Cut(pair, "=")
					t.Setenv(name, value)
				}
				tap(t, "endpoint.mjs", "--client", client, "--site", file)
			})
		}
	}
	for name, way := range map[string]mcp.Transport{
		"serve": overHTTPWith(s.base+"/mcp", s.token["go"]),
		"run":   overStdioOf(isolated(t, dir), spillway(t), "run", "-c", filepath.Join(dir, "spillway.yaml")),
	} {
		t.Run("go-sdk "+name, func(t *testing.T) { goClient(t, dir, servers, way) })
	}
}
