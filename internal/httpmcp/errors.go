package httpmcp

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/spillway-mcp/spillway/internal/wire"
)

// The codes of JSON-RPC and MCP errors that decide an HTTP status.
const (
	CodeParse               = -32700
	CodeInvalidRequest      = -32600
	CodeMethodNotFound      = -32601
	CodeInvalidParams       = -32602
	CodeInternal            = -32603
	CodeHeaderMismatch      = -32020
	CodeMissingCapability   = -32021
	CodeUnsupportedRevision = -32022
)

// An Error is a JSON-RPC error: what an edge answers where a message never
// reaches what stands behind it.
type Error struct {
	Code    int
	Message string
	Data    []byte // JSON; nil for none
}

func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// Errorf makes an Error without data.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Response writes the error as the response to the request with this raw id;
// none is null.
func (e *Error) Response(id []byte) []byte {
	if len(id) == 0 {
		id = []byte("null")
	}
	b := make([]byte, 0, 96+len(id)+len(e.Message)+len(e.Data))
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(e.Code), 10)
	b = append(b, `,"message":`...)
	b = appendQuoted(b, e.Message)
	if len(e.Data) > 0 {
		b = append(append(b, `,"data":`...), e.Data...)
	}
	return append(b, '}', '}')
}

// Status is the HTTP status that the modern revisions want for a response with
// this error code; other errors travel under 200.
func Status(code int) int {
	switch code {
	case CodeMethodNotFound:
		return http.StatusNotFound
	case CodeInvalidParams, CodeHeaderMismatch, CodeMissingCapability, CodeUnsupportedRevision, CodeParse, CodeInvalidRequest:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// ErrorCode returns the code of a response that is an error, whose spans are m,
// and whether it is one. Codes written as -32000.0 are -32000.
func ErrorCode(msg []byte, m wire.Message) (int, bool) {
	if m.Kind != wire.Response || !m.Error.Present() || m.Result.Present() {
		return 0, false
	}
	code, err := strconv.ParseFloat(string(wire.Member(msg, m.Error, "code").Of(msg)), 64)
	if err != nil || code != float64(int(code)) {
		return 0, true
	}
	return int(code), true
}

// Denied refuses a request for who sent it.
type Denied struct {
	Status    int    // 401 or 403
	Challenge string // the WWW-Authenticate header, such as "Bearer"
	Reason    string // told to the client; holds no credential
}

func (d *Denied) Error() string { return d.Reason }
