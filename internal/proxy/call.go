package proxy

import (
	"time"

	"github.com/spillway-mcp/spillway/internal/rules"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// kind is what the answer to a request of the client is looked at for.
type kind uint8

const (
	other      kind = iota // forwarded as it came
	handshake              // initialize, server/discover
	list                   // tools/list
	tool                   // tools/call
	taskResult             // tasks/result: the body is a tool's result
	taskGet                // tasks/get: the member result is a tool's result
	taskList               // tasks/list: operations are tasks too
	listen                 // subscriptions/listen: open for as long as the client likes
	ownPage                // a tools/list of our own
	ownCall                // a tools/call of an operation
)

// call is a request of the client that has no answer yet.
type call struct {
	kind      kind
	key       wire.IDKey
	id        []byte // as the client wrote it
	seq       uint64
	modern    bool // the request says it is of 2026-07-28 or newer
	cancelled bool
	start     time.Time
	answered  time.Time // just before our answer went out; zero until then

	toolCall          // of kind tool; of a task, the call that made it
	cursor     string // of a list
	hasCursor  bool
	taskID     string        // of tasks/result and tasks/get
	listChange bool          // a listen that asked for changes of the tool list
	stop       func()        // of an operation: ends it
	got        chan []byte   // of an ownCall: its answer, once; closed where none will come
	ownTasks   []string      // of a listen: the tasks of ours that it is told of
	over       chan struct{} // of such a listen: closed when it has ended
	answer     *parsed       // of kind tool, while its answer is worked on; nil: it is not parsed
}

// end tells who watches for a subscription that it is over. The session's lock
// is held.
func (c *call) end() {
	if c.over != nil {
		close(c.over)
		c.over = nil
	}
}

// done is when the call was answered, for accounts of it: before the answer went
// out, so that whatever the client did with it is later.
func (c *call) done() time.Time {
	if c.answered.IsZero() {
		return time.Now()
	}
	return c.answered
}

// rawID is the id as the client wrote it; nil of no call.
func (c *call) rawID() []byte {
	if c == nil {
		return nil
	}
	return c.id
}

// toolCall is what a tool's result is reduced by.
type toolCall struct {
	server string
	name   string // as the server knows it
	rule   *rules.Tool
	pick   *rules.Variant // nil: nothing is reduced
	info   toolInfo
	expand string // the expand tool's name as the caller's list has it; "" without
	link   bool   // add a resource_link
	args   map[string]string
	repeat string

	recorded recorded

	sent   []byte // the arguments as the server got them; of a tool that may write
	verify bool   // the caller asked for the full result (RED-33)
	token  bool   // the tool has a parameter for a token (RED-34)
}

// toolInfo is what a tool list said of a tool.
type toolInfo struct {
	name    string       // as the server knows it
	known   bool         // it was listed
	schema  bool         // it has an output schema
	conform *conformance // with that schema; nil without
	ui      bool         // it is an MCP App
	write   bool         // its annotations say readOnlyHint: false
	inputs  inputs
}
