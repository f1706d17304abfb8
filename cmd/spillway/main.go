// Command spillway makes the results of MCP servers small, and keeps what it cut within reach.
package main

import (
	"os"

	"github.com/spillway-mcp/spillway/internal/cli"
)

func main() { os.Exit(cli.Main()) }
