package contract

import (
	"context"
	"errors"
)

var errStub = errors.New("not built yet")

type readPlan struct{}

func (d *Definition) checkRead() error { return nil }

// StepKey returns the key that travels to the upstream.
func StepKey(id ID, step, item string) string { return "" }

func (c *Client) do(ctx context.Context, def *Definition, call Call) (*Receipt, error) {
	return nil, errStub
}
func (c *Client) get(ctx context.Context, ref Ref) (*Receipt, error)       { return nil, errStub }
func (c *Client) reconcile(ctx context.Context, ref Ref) (*Receipt, error) { return nil, errStub }
func (c *Client) resolve(ctx context.Context, ref Ref, res Resolution) (*Receipt, error) {
	return nil, errStub
}
func (c *Client) resumeRead(ctx context.Context, call Call) (*Receipt, error) { return nil, errStub }
func (c *Client) resumeMutation(ctx context.Context, ref Ref) (*Receipt, error) {
	return nil, errStub
}
func (c *Client) preview(ctx context.Context, def *Definition, call Call) (*Preview, error) {
	return nil, errStub
}
func (c *Client) prepare(ctx context.Context, def *Definition, call Call) (*Preview, error) {
	return nil, errStub
}
func (c *Client) commit(ctx context.Context, ref Ref, call Call) (*Receipt, error) {
	return nil, errStub
}
func (c *Client) records(ctx context.Context, caller string, f Filter) ([]*Record, error) {
	return nil, errStub
}
