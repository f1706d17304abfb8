package rules

import "github.com/spillway-mcp/spillway/internal/yamlpos"

// Format returns a rules file in its canonical layout: see [yamlpos.Format].
// What the rules say, their order and every comment stay. A file with errors
// of content is formatted too; one that cannot be read gives an [Errors].
func Format(name string, data []byte) ([]byte, error) {
	return yamlpos.Format(name, data)
}
