package server

import (
	"net/http"
	"strconv"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
)

// Header values, shared so that no request allocates them.
var (
	typeJSON     = []string{"application/json"}
	typeStream   = []string{"text/event-stream"}
	noBuffering  = []string{"no"}
	noTransform  = []string{"no-cache, no-transform"}
	allowPost    = []string{"POST"}
	closeConn    = []string{"close"}
	aSecondLater = []string{"1"}
)

// refuse answers a request whose message reaches nobody.
func refuse(w http.ResponseWriter, status int, e *httpmcp.Error) { refuseID(w, status, e, nil) }

func refuseID(w http.ResponseWriter, status int, e *httpmcp.Error, id []byte) {
	body := e.Response(id)
	h := w.Header()
	h["Content-Type"] = typeJSON
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func busy(w http.ResponseWriter, what string, id []byte) {
	w.Header()["Retry-After"] = aSecondLater
	refuseID(w, http.StatusTooManyRequests, httpmcp.Errorf(CodeBusy, "too many %s of this caller at once", what), id)
}

func notAllowed(w http.ResponseWriter) {
	w.Header()["Allow"] = allowPost
	refuse(w, http.StatusMethodNotAllowed, httpmcp.Errorf(httpmcp.CodeInvalidRequest, "method not allowed"))
}
