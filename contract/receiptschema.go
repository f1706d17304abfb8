package contract

import (
	_ "embed"
	"encoding/json"
)

//go:embed receipt.schema.json
var receiptSchema []byte

// ReceiptSchema returns the published JSON Schema (2020-12) of every receipt's
// JSON, whatever the face.
func ReceiptSchema() json.RawMessage { return append(json.RawMessage(nil), receiptSchema...) }
