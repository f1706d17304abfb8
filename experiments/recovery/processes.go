package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/journal"
	"github.com/spillway-mcp/spillway/internal/wire"
)

// post is what both Go programs do: one request, as a program without a
// contract would make it.
func post(ctx context.Context, base, key, email string) ([]byte, error) {
	form := url.Values{"email": {email}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/customers", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.GetBody = nil // net/http would send it again by itself
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, contract.ClassifyHTTP(resp.StatusCode)
	}
	return body, nil
}

// plainHTTP is a program that posts a customer: URL KEY EMAIL.
func plainHTTP(w io.Writer, args []string) error {
	body, err := post(context.Background(), args[0], args[1], args[2])
	var refused *contract.Failure
	switch {
	case err == nil:
		_, err = fmt.Fprintf(w, "created %s", id(body))
	case errors.As(err, &refused):
		_, err = fmt.Fprintf(w, "refused, %s", refused.Code)
	default:
		_, err = fmt.Fprint(w, "an error: "+cause(err))
	}
	return err
}

func cause(err error) string {
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err.Error()
	}
	return err.Error()
}

func id(body []byte) string {
	var v struct{ ID string }
	_ = json.Unmarshal(body, &v)
	return v.ID
}

// noTools is a server that spillway stands in front of, without a tool.
func noTools(in io.Reader, out io.Writer) error {
	r, w := wire.NewReader(in, 0), wire.NewWriter(out)
	for {
		frame, err := r.Next()
		if err != nil {
			return nil
		}
		body := frame.Body()
		if m, err := wire.Scan(body); err == nil && m.Kind == wire.Request {
			if err := w.Frame([]byte(`{"jsonrpc":"2.0","id":`), m.ID.Of(body), []byte(`,"result":{"tools":[]}}`)); err != nil {
				return err
			}
		}
	}
}

type customer struct {
	ID    string `json:"id"`
	Email string `json:"email"`
}

type params struct {
	Email string `json:"email"`
}

// withSDK is a program that creates a customer by an operation: URL KEY EMAIL
// JOURNAL. Without a key one is minted, which nobody keeps.
func withSDK(w io.Writer, args []string) error {
	base := args[0]
	create, err := contract.Mutation[params, customer]{
		Name: "create_customer", Version: "1.0", Scope: "One customer.", Upstream: "customers",
		Effects: contract.Creates, Idempotent: contract.ByKey, KeyRetention: 24 * time.Hour,
		Submit: func(ctx context.Context, at *contract.Invocation, p params) (customer, error) {
			var c customer
			body, err := post(ctx, base, at.StepKey, p.Email)
			if err != nil {
				return c, err
			}
			return c, json.Unmarshal(body, &c)
		},
	}.Define()
	if err != nil {
		return err
	}
	store, err := journal.Open(args[3])
	if err != nil {
		return err
	}
	defer store.Close()
	sealer, err := journal.Sealer(args[3] + ".key")
	if err != nil {
		return err
	}
	c, err := contract.New(contract.Options{Store: store, Sealer: sealer, Caller: "experiment"})
	if err != nil {
		return err
	}
	_, r, _ := create.Do(context.Background(), c, params{args[2]}, contract.Call{Key: args[1]})
	if r == nil {
		return errors.New("no receipt")
	}
	_, err = io.WriteString(w, told(r))
	return err
}

// told says in a few words what a receipt says.
func told(r *contract.Receipt) string {
	switch {
	case r.Outcome == contract.Completed:
		return "created " + id(r.Result)
	case r.Outcome == contract.Rejected:
		return "refused, " + r.Reason
	}
	return string(r.Outcome) + ", " + string(r.NextAction)
}
