package peertest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/fixture"
)

// bare is a Node server without a library. Like any server it writes its result
// anew for each call, as text and as structuredContent; no two are the same. With
// the argument "ready" it has the result's bytes ready, but for a number, and does
// nothing but send them: no server is faster.
const bare = `
const data = JSON.parse(require('fs').readFileSync(process.argv[1], 'utf8'));
const answers = {
  initialize: () => ({protocolVersion: '2025-11-25', capabilities: {tools: {}}, serverInfo: {name: 'bare', version: '1'}}),
  'tools/list': () => ({tools: [{name: 'search_code', inputSchema: {type: 'object'}}]}),
  'tools/call': () => { data.total_count++; return {content: [{type: 'text', text: JSON.stringify(data)}], structuredContent: data}; },
};
let n = 100000000, ready;
if (process.argv[2] === 'ready') {
  data.total_count = 777000776;
  ready = JSON.stringify(answers['tools/call']()).split('777000777');
}
let read = '';
process.stdin.on('data', d => {
  read += d;
  for (let i; (i = read.indexOf('\n')) >= 0; read = read.slice(i + 1)) {
    const m = JSON.parse(read.slice(0, i));
    if (ready && m.method === 'tools/call') process.stdout.write('{"jsonrpc":"2.0","id":' + JSON.stringify(m.id) + ',"result":' + ready.join(String(n++)) + '}\n');
    else if (answers[m.method]) process.stdout.write(JSON.stringify({jsonrpc: '2.0', id: m.id, result: answers[m.method]()}) + '\n');
  }
});
`

// manyRows is a list of about size bytes whose rows are short and have many
// small fields: a document of more tokens than a code search of that size.
func manyRows(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"total_count":0,"items":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		n := strconv.Itoa(i)
		b.WriteString(`{"id":` + strconv.Itoa(100_000+i) + `,"name":"device-` + n + `","email":"user` + n + `@example.com","active":` + strconv.FormatBool(i%2 == 0) +
			`,"score":` + strconv.Itoa(i%97) + `.25,"tags":["alpha","beta","gamma"],"address":{"street":"` + n + ` Main St","city":"town ` + strconv.Itoa(i%40) +
			`","zip":"` + strconv.Itoa(10_000+i) + `"},"created_at":"2026-01-02T03:04:05Z","note":"said \"hello\"\nand left"}`)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// BenchmarkJSON2MB times one tool result of 2 MB of JSON, text and structured
// copies together, from the request's first byte written to the response's last
// byte read: from a bare Node server direct, and through `spillway run` with a
// rule that cuts nothing, without rules, and with a projection of all rows and
// of 25. The sides take turns. cpu-ms is what the side's own process took of the
// processor for one call, its server left out; it moves less than the clock where
// the machine has other work.
//
//	SPILLWAY_TEST_PEERS=1 go test -run '^$' -bench JSON2MB -benchtime 60x ./internal/peertest
func BenchmarkJSON2MB(b *testing.B) {
	need(b)
	for _, c := range []struct {
		name, keep string
		payload    []byte
		server     []string
	}{
		{"search", "items[*].{repo: repository.full_name, path: path, url: html_url}", fixture.Payload(950_000), nil},
		{"rows", "items[*].{id: id, name: name, city: address.city}", manyRows(900_000), nil},
		{"ready", "items[*].{id: id, name: name, city: address.city}", manyRows(900_000), []string{"ready"}},
	} {
		b.Run(c.name, func(b *testing.B) { benchJSON(b, c.payload, c.keep, c.server) })
	}
}

func benchJSON(b *testing.B, payload []byte, keep string, server []string) {
	dir := b.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
		return path
	}
	argv := append([]string{"node", "-e", bare, write("data.json", string(payload))}, server...)
	through := func(rules string) []string {
		front := []string{spillway(b), "run", "--server", "bare"}
		if rules != "" {
			front = append(front, "--rules", rules)
		}
		return append(append(front, "--"), argv...)
	}
	rule := func(name, text string) string { return write(name, "bare: {search_code: {"+text+"}}\n") }
	sides := []struct {
		name string
		s    *session
	}{
		{"direct", start(b, dir, argv...)},
		{"pass", start(b, dir, through(rule("pass.yaml", "pass: true"))...)},
		{"cut", start(b, dir, through("")...)},
		{"project", start(b, dir, through(rule("project.yaml", "keep: \""+keep+"\", max_bytes: 20k"))...)},
		{"project25", start(b, dir, through(rule("project25.yaml", "keep: \""+keep+"\", max_rows: 25, max_bytes: 20k"))...)},
	}
	asked := 0
	read := func(side int) time.Duration {
		s := sides[side].s
		s.seen = nil
		asked++ // a call that is repeated is not compressed again
		begin := time.Now()
		s.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search_code","arguments":{"q":"` + strconv.Itoa(asked) + `"}}}` + "\n")
		for {
			if line, ok := s.next(); !ok || strings.HasPrefix(line, `{"jsonrpc":"2.0","id":7`) {
				return time.Since(begin)
			}
		}
	}
	for side := range sides {
		s := sides[side].s
		s.initialize("2025-11-25", `{}`)
		s.send(`{"jsonrpc":"2.0","id":"l","method":"tools/list"}` + "\n")
		s.answer(`"l"`)
		for range 8 {
			read(side)
		}
	}
	before := make([]time.Duration, len(sides))
	for side := range sides {
		before[side] = processorTime(sides[side].s.cmd.Process.Pid)
	}
	times := map[string][]time.Duration{}
	for b.Loop() {
		for side := range sides {
			times[sides[side].name] = append(times[sides[side].name], read(side))
		}
	}
	report(b, times)
	for side := range sides {
		if took := processorTime(sides[side].s.cmd.Process.Pid) - before[side]; took > 0 {
			b.ReportMetric(float64(took.Microseconds())/1000/float64(len(times["direct"])), sides[side].name+"-cpu-ms")
		}
	}
}

// processorTime is what a process has taken of the processor, in user and system
// mode; 0 where the system has no /proc to tell it. It counts by 10 ms.
func processorTime(pid int) time.Duration {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The name, in brackets, may have spaces; state is the field behind it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}
