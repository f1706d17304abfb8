package proxy

import (
	"encoding/json"
	"testing"

	"github.com/spillway-mcp/spillway/internal/tokens"
)

func TestRED25_ExpandDefinitionCostsLittle(t *testing.T) {
	if !json.Valid([]byte(expandDefinition)) {
		t.Fatal("the definition is no JSON")
	}
	c, err := tokens.ByName("cl100k_base")
	if err != nil {
		t.Fatal(err)
	}
	if n := c.Count([]byte(expandDefinition)); n > 140 {
		t.Errorf("the definition costs %d tokens, at most 140 are allowed", n)
	} else {
		t.Logf("%d tokens", n)
	}
}
