package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
