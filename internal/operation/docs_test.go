package operation

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jsontape"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(operations:\n.*?)```")

// examples are the operations files of the page.
func examples(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range yamlBlock.FindAllStringSubmatch(string(page), -1) {
		name, _, _ := strings.Cut(strings.TrimSpace(strings.Split(m[1], "\n")[1]), "@")
		all[name] = m[1]
	}
	if len(all) != 5 {
		t.Fatalf("%d examples", len(all))
	}
	return all
}

// Every example is taken, and leaves nothing open that it could say.
func TestExamplesOfThePage(t *testing.T) {
	for name, text := range examples(t) {
		set, err := Parse(name, []byte(text), Options{Lookup: func(string) (string, bool) { return "x", true }})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if len(set.Warnings) > 0 {
			t.Errorf("%s", set.Warnings)
		}
	}
}

// Every key that the reader takes is on the page.
func TestEveryKeyIsOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"builder.go", "read.go", "mutation.go", "call.go", "http.go", "classify.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`field\{"([a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
			if !regexp.MustCompile(`[\x60{ ]` + m[1] + `[\x60:]`).Match(page) {
				t.Errorf("%s: the key %s is not on docs/operations.md", file, m[1])
			}
		}
	}
}

func releasePage(page, of int) string {
	var rows []string
	if page <= of {
		for i := range 10 {
			rows = append(rows, fmt.Sprintf(`{"id":%d,"draft":false,"prerelease":%t}`, 9007199254740993+page*10+i, i%2 == 0))
		}
	}
	return "[" + strings.Join(rows, ",") + "]"
}

func TestC01_TheFirstExampleOverATool(t *testing.T) {
	var asked []string
	caller := tools(func(server, tool string, args, meta []byte) (string, error) {
		asked = append(asked, server+"/"+tool+string(args))
		return string(jsontape.AppendQuote([]byte(`{"content":[{"type":"text","text":`), releasePage(len(asked), 3))) + `}]}`, nil
	})
	c := open(t, examples(t)["count_stable_releases"], "", caller)
	r := do(t, c, "count_stable_releases", "", `{"owner":"cli","repo":"cli"}`)
	if !r.Complete || string(r.Result) != `{"stableReleases":15}` || r.RecordsExamined != 30 || r.Pages != 4 {
		t.Errorf("%s", r.JSON())
	}
	want := []string{
		`github/list_releases{"owner":"cli","repo":"cli","page":1,"perPage":10}`,
		`github/list_releases{"owner":"cli","repo":"cli","page":2,"perPage":10}`,
	}
	if len(asked) != 4 || asked[0] != want[0] || asked[1] != want[1] {
		t.Errorf("asked %q", asked)
	}
}

func TestTheMutationExampleOverHTTP(t *testing.T) {
	var lost atomic.Bool
	lost.Store(true)
	s := newService(t, func(r request) (int, string) {
		switch {
		case r.Method == "GET" && lost.Load():
			return 200, `{"data":[{"id":"cus_1","email":"a@b.c","more":1}]}`
		case r.Method == "POST" && lost.Load():
			return 0, ""
		}
		return 402, `{}`
	})
	c := open(t, strings.ReplaceAll(examples(t)["create_customer"], "https://api.example.com", "URL"), s.url, nil)
	if r := do(t, c, "create_customer", "k1", `{"email":"a@b.c"}`); r.Outcome != contract.Unknown || r.Replay != "safe" {
		t.Fatalf("%s", r.JSON())
	}
	r, err := c.Reconcile(t.Context(), contract.Ref{Key: "k1"})
	if err != nil || string(r.Result) != `{"id":"cus_1","email":"a@b.c"}` {
		t.Errorf("%s, %v", r.JSON(), err)
	}
	lost.Store(false)
	if r := do(t, c, "create_customer", "k2", `{"email":"a@b.c"}`); r.Reason != "card_declined" || r.Effect != contract.EffectNone {
		t.Errorf("%s", r.JSON())
	}
}

func TestC19_TheItemsExampleOverTools(t *testing.T) {
	var invited []string
	fail := "b@x"
	c := open(t, examples(t)["invite_team"], "", tools(func(_, tool string, args, _ []byte) (string, error) {
		switch tool {
		case "create_team":
			return `{"content":[],"structuredContent":{"id":"t1"}}`, nil
		case "invite":
			if strings.Contains(string(args), fail) {
				return `{"content":[],"isError":true}`, nil
			}
			invited = append(invited, string(args))
			return `{"content":[],"structuredContent":{"id":"i"}}`, nil
		}
		return `{"content":[],"structuredContent":{}}`, nil // nothing is found
	}))
	params := `{"name":"n","members":[{"email":"a@x"},{"email":"b@x"},{"email":"c@x"}]}`
	if r := do(t, c, "invite_team", "k", params); r.Outcome != contract.Unknown || len(r.Steps) < 3 {
		t.Fatalf("%s", r.JSON())
	}
	if r, err := c.Reconcile(t.Context(), contract.Ref{Key: "k"}); r.Outcome != contract.Partial {
		t.Fatalf("%s, %v", r.JSON(), err)
	}
	fail = "nobody"
	if r := do(t, c, "invite_team", "k", params); r.Outcome != contract.Completed || len(invited) != 3 {
		t.Errorf("%s, invited %q", r.JSON(), invited)
	}
}
