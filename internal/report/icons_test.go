package report

import "testing"

// Pictures of tools are in no cost, as those of results are in none.
func TestDefinitionsAreCountedWithoutIcons(t *testing.T) {
	for given, want := range map[string]string{
		`[{"name":"a","icons":[{"src":"data:image/png;base64,AAAA"}],"inputSchema":{"type":"object"}}, {"icons":[],"name":"b"},{"name":"c", "icons":[]},{"icons":[1]},{"name":"icons"},7]`: `[{"name":"a","inputSchema":{"type":"object"}}, {"name":"b"},{"name":"c"},{},{"name":"icons"},7]`,
		`[]`:          `[]`,
		`[{"icons`:    `[{"icons`,
		`{"icons":1}`: `{"icons":1}`,
	} {
		if got := string(withoutIcons([]byte(given))); got != want {
			t.Errorf("%s\ngives %s\nwant  %s", given, got, want)
		}
	}
}
