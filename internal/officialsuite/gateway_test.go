//go:build unix

package officialsuite

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// config is the gateway as people set it up, with one upstream and no rules.
const config = `servers: {suite: %s}
serve: {listen: "127.0.0.1:0", auth: none}
stash: {path: %q}
ledger: {path: %q}
`

// gateway is a spillway serve that runs.
type gateway struct {
	*process
	url string
	log string // the file of its log
}

// startTime is how long a server may take until it serves.
const startTime = 20 * time.Second

// startGateway puts spillway serve, with its files in dir, in front of upstream,
// an entry of its configuration.
func startGateway(spillway, dir, upstream string) (*gateway, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "spillway.yaml")
	text := fmt.Sprintf(config, upstream, filepath.Join(dir, "stash"), filepath.Join(dir, "ledger.jsonl"))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return nil, err
	}
	g := &gateway{log: filepath.Join(dir, "spillway.log")}
	log, err := os.Create(g.log)
	if err != nil {
		return nil, err
	}
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(spillway, "serve", "-c", file, "--log", "json")
	cmd.Env = isolated(dir)
	cmd.Stderr = to
	g.process, err = startProcess(cmd)
	to.Close()
	if err != nil {
		return nil, err
	}
	serving := make(chan string, 1)
	go func() {
		defer log.Close()
		defer from.Close()
		lines := bufio.NewScanner(io.TeeReader(from, log))
		for lines.Scan() {
			var line struct{ Msg, URL string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
				serving <- line.URL
				break
			}
		}
		_, _ = io.Copy(log, from) // else spillway would wait for somebody to read it
	}()
	select {
	case g.url = <-serving:
		return g, nil
	case <-g.done:
		return nil, fmt.Errorf("spillway serve ended with %v\n%s", g.err, tail(g.log))
	case <-time.After(startTime):
		return nil, errors.Join(fmt.Errorf("spillway serve does not serve after %v\n%s", startTime, tail(g.log)), g.stop())
	}
}

// requests is how many requests of clients the gateway has answered.
func (g *gateway) requests() (int, error) {
	resp, err := http.Get(strings.TrimSuffix(g.url, "/mcp") + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n := 0
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if !strings.HasPrefix(name, "spillway_request_duration_seconds_count{") {
			continue
		}
		count, err := strconv.Atoi(value)
		if err != nil {
			return 0, err
		}
		n += count
	}
	return n, lines.Err()
}
