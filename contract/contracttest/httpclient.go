package contracttest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/spillway-mcp/spillway/contract"
)

// upstreamClient is how the definitions reach the fake.
type upstreamClient struct {
	url  string
	host string
	http *http.Client
}

// send makes a request with a header, where that has a value. A status that is
// no success comes back as the failure that it means by default.
func (h *upstreamClient) send(ctx context.Context, method, path string, body []byte, header ...string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, h.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	// Without it the transport cannot repeat the request by itself: it does so
	// where it finds an Idempotency-Key, and nobody counts that attempt.
	req.GetBody = nil
	if len(header) == 2 && header[1] != "" {
		req.Header.Set(header[0], header[1])
	}
	resp, err := h.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		return nil, contract.ClassifyHTTP(resp.StatusCode)
	}
	return got, nil
}

// findOne reads {"items": […]}: the first is the one that was made, none means
// that nothing was.
func (h *upstreamClient) findOne(ctx context.Context, path string) (contract.Finding, error) {
	raw, err := h.send(ctx, "GET", path, nil)
	if err != nil {
		return contract.Finding{State: contract.Undetermined}, err
	}
	var found struct{ Items []json.RawMessage }
	if err := json.Unmarshal(raw, &found); err != nil {
		return contract.Finding{State: contract.Undetermined}, err
	}
	if len(found.Items) == 0 {
		return contract.Finding{State: contract.Absent}, nil
	}
	return contract.Finding{State: contract.Present, Result: found.Items[0]}, nil
}
