package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/ledger"
	"github.com/spillway-mcp/spillway/internal/record"
	"github.com/spillway-mcp/spillway/internal/replay"
	reports "github.com/spillway-mcp/spillway/internal/report"
	"github.com/spillway-mcp/spillway/internal/stash"
)

// docs/cli.md carries two of the help texts, word for word.
func TestDocsCarryTheHelpTexts(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "cli.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for topic, help := range map[string]string{"exit-codes": helpExitCodes, "environment": helpEnvironment} {
		block := regexp.MustCompile("(?s)(The text of `spillway help " + topic + "`:\n\n```\n).*?(```\n)")
		want := block.ReplaceAllString(text, "${1}"+strings.ReplaceAll(help, "$", "$$")+"${2}")
		if !block.MatchString(text) {
			t.Errorf("%s has no block for help %s", path, topic)
		}
		if text != want && !*update {
			t.Errorf("%s: help %s differs; write it with -update", path, topic)
		}
		text = want
	}
	if *update && text != string(page) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// Every status that a command can end with is in the table that people read.
func TestExitCodesAreListed(t *testing.T) {
	for _, status := range []string{"0", "1", "2", "3", "4", "126", "127", "128"} {
		if !regexp.MustCompile(`\b` + status + `\b`).MatchString(helpExitCodes) {
			t.Errorf("help exit-codes does not tell of %s", status)
		}
	}
}

// A field that is not in docs/json.md is no promise, and one that goes missing there would be broken unseen.
func TestJSONFieldsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(string(page), -1) {
		parts := strings.FieldsFunc(name[1], func(r rune) bool { return strings.ContainsRune(".…[]", r) })
		for _, part := range parts {
			documented[part] = true
		}
	}
	for _, v := range []any{
		dryRun{}, checked{}, explained{}, stashEntry{}, stash.GCReport{}, ledger.Report{}, ledger.Line{}, benchReport{}, writesReport{}, gatewayReport{}, build{},
		contract.Receipt{}, contract.Preview{}, opListed{}, opRecord{}, opSwept{}, reports.Report{},
		replay.Report{}, record.Header{}, record.Env{}, record.Sizes{}, record.Cut{},
	} {
		for _, name := range jsonFields(reflect.TypeOf(v), nil) {
			if !documented[name] {
				t.Errorf("%T: the field %s is not in docs/json.md", v, name)
			}
		}
	}
}

// jsonFields returns the names of the fields of a type and of what it holds, as encoding/json writes them.
func jsonFields(t reflect.Type, names []string) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return jsonFields(t.Elem(), names)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if tag != "" {
				names = append(names, tag)
			}
			if tag != "" || f.Anonymous {
				names = jsonFields(f.Type, names)
			}
		}
	}
	return names
}
