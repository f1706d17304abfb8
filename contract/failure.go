package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
)

// Failure is a classified error of an upstream. Submit and Fetch return it
// where they know what an error means.
type Failure struct {
	// Rejected: the upstream definitely did nothing. Otherwise the outcome is
	// unknown.
	Rejected bool
	Denied   bool   // the upstream refused us access
	Stale    bool   // the upstream refused the revision; implies Rejected
	Reason   string // for the receipt; "" is ReasonUpstream or ReasonNoAnswer
	Code     string // what Retry.On names: "429", "5xx", "timeout", "reset", "refused", "isError", ...
	Message  string // for people; must hold no parameter values
	Err      error
}

func (f *Failure) Error() string {
	word := "outcome unknown"
	if f.Rejected || f.Stale {
		word = "rejected"
	}
	switch {
	case f.Message != "":
		return word + ": " + f.Message
	case f.Err != nil:
		return word + ": " + f.Err.Error()
	case f.Code != "":
		return word + ": " + f.Code
	}
	return word
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Reject makes the Failure of a definite refusal.
func Reject(reason, format string, args ...any) *Failure {
	return &Failure{Rejected: true, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// ClassifyHTTP is the default meaning of an HTTP status that is no success
// (M19). 4xx refuse, but 408 and 425, after which the request may be under
// way or queued, and 409, which may speak of our own earlier attempt; 5xx
// leave the outcome unknown, but 501 and 505, which are given before anything
// is done. 412 and 428 are stale revisions; 401, 403 and 407 deny access.
func ClassifyHTTP(status int) *Failure {
	f := &Failure{Code: strconv.Itoa(status), Message: "HTTP status " + strconv.Itoa(status)}
	switch {
	case status == 408 || status == 409 || status == 425:
	case status == 412 || status == 428:
		f.Rejected, f.Stale, f.Reason = true, true, ReasonPrecondition
	case status == 401 || status == 403 || status == 407:
		f.Rejected, f.Denied, f.Reason = true, true, "upstream_denied"
	case status == 404 || status == 410:
		f.Rejected, f.Reason = true, "upstream_not_found"
	case status == 429:
		f.Rejected, f.Reason = true, "upstream_busy"
	case status >= 400 && status < 500 || status == 501 || status == 505:
		f.Rejected = true
	}
	return f
}

// ClassifyError is the default meaning of an error that is no *Failure (M19).
// An address that does not resolve and a refused connection are refusals:
// nothing was sent. All else leaves the outcome unknown.
func ClassifyError(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	f := &Failure{Code: "error", Err: err}
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &dns), errors.Is(err, syscall.ECONNREFUSED):
		f.Rejected, f.Code, f.Reason = true, "refused", "upstream_unreachable"
	case errors.Is(err, context.Canceled):
		f.Code, f.Reason, f.Message = "cancelled", ReasonCancelled, "cancelled before an answer came"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		f.Code, f.Message = "timeout", "no answer in time"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f.Code, f.Message = "reset", "the connection ended before an answer came"
	}
	return f
}
