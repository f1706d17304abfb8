package contract

import (
	"encoding/json"
	"time"
)

// Preview is what a call would do, as seen now (C-22).
type Preview struct {
	OperationID string          `json:"operationId"`
	Operation   string          `json:"operation"`
	Digest      string          `json:"digest"`
	Scope       string          `json:"scope,omitempty"`
	Effects     Effects         `json:"effects"`
	Target      string          `json:"target,omitempty"`
	Params      json.RawMessage `json:"params"`               // with defaults
	Prediction  json.RawMessage `json:"prediction,omitempty"` // of the definition's preview
	Revision    string          `json:"revision,omitempty"`   // seen now; the commit can demand it
	// Informational says that the upstream cannot bind the commit to what was
	// seen here.
	Informational bool      `json:"informational"`
	Replay        string    `json:"replay"`    // "safe" or "unsafe"
	Reconcile     string    `json:"reconcile"` // "declared" or "none"
	Steps         []string  `json:"steps,omitempty"`
	Token         string    `json:"token"` // for Call.Preview
	ExpiresAt     time.Time `json:"expiresAt"`
}
