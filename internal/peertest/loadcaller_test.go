//go:build linux

package peertest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
)

// loadCaller is one caller of the load, with a token of its own. All callers use
// the same ids and progress tokens, so that what is not told apart meets.
type loadCaller struct {
	httpCaller
	load *load
	name string
	nth  int
	ref  atomic.Pointer[string] // of something that it had stashed
	list string                 // its tools, as first listed
}

// begin opens the session and lists.
func (c *loadCaller) begin(ctx context.Context) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	m, _, err := c.ask(ctx, 1, "tools/list", "{}")
	if err == nil && strings.Count(string(m.Result), `"inputSchema"`) != 4*len(loadServers)+1 {
		err = fmt.Errorf("listed %s", m.Result)
	}
	c.list = string(m.Result)
	return err
}

// call calls a tool with a text, under a progress token if that is not empty.
func (c *loadCaller) call(ctx context.Context, id int, tool, say, token string) (message, []message, error) {
	quoted, _ := json.Marshal(say)
	params := fmt.Sprintf(`{"name":%q,"arguments":{"say":%s}}`, tool, quoted)
	if token != "" {
		params = params[:len(params)-1] + `,"_meta":{"progressToken":` + token + `}}`
	}
	return c.ask(ctx, id, "tools/call", params)
}

// run calls until ctx ends. Its first fault ends it and fails the test.
func (c *loadCaller) run(ctx context.Context) {
	for n := 2; ctx.Err() == nil; n++ {
		server := loadServers[(c.nth+n)%len(loadServers)]
		say := fmt.Sprintf("%s, call %d", c.name, n)
		var err error
		switch n % 25 {
		case 3:
			err = c.rows(server, say, n)
		case 9:
			err = c.foreign(n)
		case 14:
			err = c.steps(server, say, n)
		case 18:
			err = c.cancel(server, say, n)
		case 22:
			err = c.again(n)
		default:
			err = c.echo(server, say, n)
		}
		if err != nil {
			c.load.t.Errorf("%s, server %s: %v", say, server, err)
			return
		}
	}
}

// excused tells whether an answer is an error that a kill explains.
func (c *loadCaller) excused(server string, m message) bool {
	f := m.fault()
	switch {
	case !strings.Contains(f.Message, server):
		return false
	case f.Code == -31001:
		c.load.gone.Add(1)
	case f.Code == -31004:
		c.load.down.Add(1)
	default:
		return false
	}
	return true
}

func (c *loadCaller) echo(server, say string, n int) error {
	m, before, err := c.call(context.Background(), n, server+"_echo", say, "")
	if err != nil || c.excused(server, m) {
		return err
	}
	if text, failed := m.text(); text != sealed(server, say) || failed || len(before) != 0 {
		return fmt.Errorf("got %s%s with %d messages before it", m.Result, m.Error, len(before))
	}
	c.load.calls.Add(1)
	return nil
}

// rows has a result cut, and expands it to what it was.
func (c *loadCaller) rows(server, say string, n int) error {
	m, _, err := c.call(context.Background(), n, server+"_rows", say, "")
	if err != nil || c.excused(server, m) {
		return err
	}
	text, failed := m.text()
	ref := refPattern.FindString(text)
	if ref == "" || failed || !strings.Contains(text, row(server, say, 0)) {
		return fmt.Errorf("want a cut with a ref, got %s%s", m.Result, m.Error)
	}
	c.load.calls.Add(1)
	first := rowCount - 3
	m, _, err = c.ask(context.Background(), n, "tools/call", fmt.Sprintf(`{"name":"reducer_expand","arguments":{"ref":%q,"lines":"%d-%d"}}`, ref, first+1, rowCount))
	if err != nil {
		return err
	}
	want := ""
	for i := first; i < rowCount; i++ {
		want += row(server, say, i)
	}
	if text, failed := m.text(); text != want || failed {
		return fmt.Errorf("%s expands to %s%s, want %q", ref, m.Result, m.Error, want)
	}
	c.load.calls.Add(1)
	c.load.cut.Add(1)
	c.ref.Store(&ref)
	return nil
}

// foreign asks for what another caller had stashed.
func (c *loadCaller) foreign(n int) error {
	other := c.load.callers[(c.nth+n)%len(c.load.callers)]
	ref := other.ref.Load()
	if ref == nil || other == c {
		return nil
	}
	m, _, err := c.ask(context.Background(), n, "tools/call", fmt.Sprintf(`{"name":"reducer_expand","arguments":{"ref":%q}}`, *ref))
	if err != nil {
		return err
	}
	if text, failed := m.text(); !failed || strings.Contains(text, other.name+",") {
		return fmt.Errorf("%s of %s gave %s%s", *ref, other.name, m.Result, m.Error)
	}
	c.load.calls.Add(1)
	c.load.refused.Add(1)
	return nil
}

// mine checks that messages before an answer are this call's progress.
func mine(before []message, server, say, token string) error {
	for i, m := range before {
		var p struct {
			ProgressToken json.RawMessage
			Progress      int
			Message       string
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return err
		}
		if m.Method != "notifications/progress" || string(p.ProgressToken) != token || p.Progress != i+1 || p.Message != sealed(server, say) {
			return fmt.Errorf("was told %s %s", m.Method, m.Params)
		}
	}
	return nil
}

func (c *loadCaller) steps(server, say string, n int) error {
	m, before, err := c.call(context.Background(), n, server+"_steps", say, `"t"`)
	if err == nil {
		err = mine(before, server, say, `"t"`)
	}
	if err != nil || c.excused(server, m) {
		return err
	}
	if text, failed := m.text(); text != sealed(server, say) || failed || len(before) != steps {
		return fmt.Errorf("got %s%s with %d messages before it", m.Result, m.Error, len(before))
	}
	c.load.calls.Add(1)
	c.load.told.Add(1)
	return nil
}

// cancel takes a call back as soon as its progress shows that it is at the
// server.
func (c *loadCaller) cancel(server, say string, n int) error {
	var before []message
	var answer *message
	var inner error
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s_hang","arguments":{"say":%q},"_meta":{"progressToken":7}}}`, n, server, say)
	err := c.post(context.Background(), body, func(msg []byte) bool {
		var m message
		if inner = json.Unmarshal(msg, &m); inner != nil {
			return false
		}
		if m.Method == "" {
			answer = &m
			return true
		}
		before = append(before, m)
		inner = c.tell(context.Background(), "notifications/cancelled", fmt.Sprintf(`{"requestId":%d,"reason":"enough"}`, n))
		return inner == nil
	})
	switch {
	case inner != nil:
		return inner
	case err != nil:
		return err
	case answer != nil && c.excused(server, *answer):
		return nil
	case answer == nil || answer.fault().Code != -31007: // which ends the response
		return fmt.Errorf("a cancelled call was answered %v", answer)
	}
	if err := mine(before, server, say, "7"); err != nil {
		return err
	}
	c.load.calls.Add(1)
	c.load.cancelled.Add(1)
	return nil
}

// again lists again: the same bytes, but for a server that is down.
func (c *loadCaller) again(n int) error {
	m, _, err := c.ask(context.Background(), n, "tools/list", "{}")
	if err != nil {
		return err
	}
	if string(m.Result) != c.list && !strings.Contains(string(m.Result), "io.github.spillway-mcp/missing") {
		return fmt.Errorf("listed %s, before %s", m.Result, c.list)
	}
	c.load.lists.Add(1)
	c.load.calls.Add(1)
	return nil
}
