package operation

import (
	"os"
	"testing"
)

func TestGoodFile(t *testing.T) {
	data, err := os.ReadFile("testdata/good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	set, err := Parse("good.yaml", data, Options{Lookup: func(string) (string, bool) { return "secret", true }})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range set.Definitions {
		t.Logf("%s %s", d.ID(), d.Describe())
	}
	t.Log(set.Warnings)
}
