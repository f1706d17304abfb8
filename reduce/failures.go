package reduce

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// What an upstream says of a write that did not go well must reach the model
// whole (RED-30): here is how that is recognised. Where it is in doubt, the
// result is not confirmed.

// isReport names a member beside the written list that reports items which
// were not written.
func isReport(key jsontape.Value) bool {
	return key.Is("failed") || key.Is("failures") || key.Is("errors") || key.Is("rejected")
}

// settled reports that what the object of a list says of failures is told by
// the failed items, bad of them, that are kept whole: a count of them is, a text
// or another count is not.
func settled(v jsontape.Value, bad int) bool {
	for it := v.Iter(); it.Next(); {
		report, value := isReport(it.Key()), it.Value()
		switch {
		case report && value.Kind() == jsontape.Array: // kept whole
		case report && value.Kind() == jsontape.Number:
			if n, err := strconv.Atoi(string(value.Raw())); err != nil || n != bad {
				return false
			}
		case report && says(value), it.Key().Is("error") && says(value):
			return false
		}
	}
	return !denied(v)
}

// says reports a value that is more than a way to write "nothing".
func says(v jsontape.Value) bool {
	switch v.Kind() {
	case jsontape.String:
		return len(v.Raw()) > 2
	case jsontape.Object, jsontape.Array:
		return v.Len() > 0
	case jsontape.True:
		return true
	}
	return false
}

// warns reports an object that warns of something.
func warns(v jsontape.Value) bool {
	return says(v.Get("warning")) || says(v.Get("warnings"))
}

// denied reports an object that says no: success: false and its like.
func denied(v jsontape.Value) bool {
	for _, name := range []string{"success", "ok", "accepted"} {
		if v.Get(name).Kind() == jsontape.False {
			return true
		}
	}
	return false
}

// failed recognises a thing that the upstream itself reports as not written: by
// an error, a denial, a status code, or by a status word where it has no
// identifier or gives a reason. A status word alone may be the application's
// own: a device can be in the state "failed" and well written.
func failed(v jsontape.Value) bool {
	if v.Kind() != jsontape.Object {
		return false
	}
	for _, name := range []string{"error", "errors", "failed", "failures", "rejected"} {
		if says(v.Get(name)) {
			return true
		}
	}
	if denied(v) || statusOf(v) >= 400 {
		return true
	}
	if e := v.Get("error"); e.Kind() == jsontape.Number && string(e.Raw()) != "0" {
		return true
	}
	for _, name := range []string{"status", "state", "result"} {
		if failureWord(v.Get(name)) {
			return !identifier(v).Exists() || givesReason(v)
		}
	}
	return false
}

func failureWord(v jsontape.Value) bool {
	if v.Kind() != jsontape.String {
		return false
	}
	switch strings.ToLower(v.Str()) {
	case "failed", "failure", "error", "rejected":
		return true
	}
	return false
}

func givesReason(v jsontape.Value) bool {
	for _, name := range []string{"message", "reason", "detail", "details", "code"} {
		if r := v.Get(name); says(r) || r.Kind() == jsontape.Number {
			return true
		}
	}
	return false
}

// keptAfterAll reports the answer to a delete that says that nothing was.
func keptAfterAll(v jsontape.Value) bool {
	if v.Kind() == jsontape.False {
		return true
	}
	for _, name := range []string{"deleted", "deleted_count", "deletedCount", "affected", "affected_rows", "rowCount", "count"} {
		if d := v.Get(name); d.Kind() == jsontape.False || d.Kind() == jsontape.Number && string(d.Raw()) == "0" {
			return true
		}
	}
	return false
}

// readsAsFailure looks for the words of a refusal in the text that a delete
// was answered with.
func readsAsFailure(text []byte) bool {
	t := bytes.ToLower(text)
	for _, word := range []string{"error", "fail", "not found", "no such", "could not", "cannot", "unable", "denied", "refused", "not deleted", "nothing"} {
		if bytes.Contains(t, []byte(word)) {
			return true
		}
	}
	s := string(bytes.TrimSpace(t))
	return s == "" || s == "false" || s == "null" || s == "0"
}
