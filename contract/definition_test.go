package contract_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/contract"
)

func submits(context.Context, *contract.Invocation) (json.RawMessage, error) { return nil, nil }
func fetches(context.Context, *contract.Invocation) ([]byte, error)          { return nil, nil }

func mutationSpec() contract.Spec {
	return contract.Spec{Name: "create", Version: "1.0", Scope: "x", Effects: contract.Creates,
		Mutation: &contract.MutationSpec{Steps: []contract.Step{{Submit: submits}}}}
}

func readSpec() contract.Spec {
	return contract.Spec{Name: "count", Version: "1.0", Scope: "x", Effects: contract.Reads,
		Read: &contract.ReadSpec{Fetch: fetches, Items: "page.items", Next: "page.next", Aggregates: []contract.Aggregate{{Op: contract.Count}}}}
}

func TestDefineRefuses(t *testing.T) {
	for _, x := range []struct {
		spec   contract.Spec
		change func(*contract.Spec)
		field  string
	}{
		{mutationSpec(), func(s *contract.Spec) { s.Name = "no spaces" }, "Name"},
		{mutationSpec(), func(s *contract.Spec) { s.Version = "1" }, "Version"},
		{mutationSpec(), func(s *contract.Spec) { s.Version = "01.0" }, "Version"},
		{mutationSpec(), func(s *contract.Spec) { s.Scope = " " }, "Scope"},
		{mutationSpec(), func(s *contract.Spec) { s.Effects = "write" }, "Effects"},
		{mutationSpec(), func(s *contract.Spec) { s.Effects = contract.Reads }, "Read"},
		{mutationSpec(), func(s *contract.Spec) { s.Params = json.RawMessage(`{"type":"nothing"}`) }, "Params"},
		{mutationSpec(), func(s *contract.Spec) { s.Params = json.RawMessage(`{"$ref":"https://example.com/s"}`) }, "Params"},
		{mutationSpec(), func(s *contract.Spec) { s.Params = json.RawMessage(`{"$ref":"file:///etc/passwd"}`) }, "Params"},
		{mutationSpec(), func(s *contract.Spec) { s.Mutation.Steps = nil }, "Mutation.Steps"},
		{mutationSpec(), func(s *contract.Spec) { s.Mutation.Steps[0].Submit = nil }, "Mutation.Steps[0].Submit"},
		{mutationSpec(), func(s *contract.Spec) { s.Mutation.Steps = append(s.Mutation.Steps, s.Mutation.Steps[0]) }, "Mutation.Steps[0].Name"},
		{mutationSpec(), func(s *contract.Spec) { s.Mutation.Steps[0].Idempotent = "maybe" }, "Mutation.Steps[0].Idempotent"},
		{mutationSpec(), func(s *contract.Spec) {
			s.Idempotent, s.Mutation.Steps[0].Key = contract.ByKey, contract.KeyInNothing
		}, "Mutation.Steps[0].Key"},
		{mutationSpec(), func(s *contract.Spec) { s.Mutation.Precondition = &contract.Precondition{} }, "Mutation.Precondition"},
		{mutationSpec(), func(s *contract.Spec) { s.Retry.Max = -1 }, "Retry"},
		{readSpec(), func(s *contract.Spec) { s.Read.Where = "a ||" }, "Read.Where"},
		{readSpec(), func(s *contract.Spec) { s.Read.Items = "page[" }, "Read.Items"},
		{readSpec(), func(s *contract.Spec) { s.Read.Next = "" }, "Read.End"},
		{readSpec(), func(s *contract.Spec) { s.Read.Aggregates = nil }, "Read.Aggregates"},
		{readSpec(), func(s *contract.Spec) { s.Read.Aggregates[0].Op = "avg" }, "Read.Aggregates[0].Op"},
		{readSpec(), func(s *contract.Spec) { s.Read.Aggregates[0].Op = contract.Sum }, "Read.Aggregates[0].Of"},
		{readSpec(), func(s *contract.Spec) { s.Read.Fields = map[string]string{"a": "int"} }, "Read.Fields"},
		{readSpec(), func(s *contract.Spec) { s.Read.Fetch = nil }, "Read.Fetch"},
		{readSpec(), func(s *contract.Spec) { s.Bounds.MaxPages = -1 }, "Bounds"},
	} {
		x.change(&x.spec)
		_, err := contract.Define(x.spec)
		de, ok := errors.AsType[*contract.DefinitionError](err)
		if !ok || de.Field != x.field || !errors.Is(err, contract.ErrInvalid) {
			t.Errorf("%s: %v", x.field, err)
		}
	}
}

func TestDefineGivesOffsetsInTheExpressionAsWritten(t *testing.T) {
	for _, where := range []string{"open && ]", "$params.x && ]"} {
		s := readSpec()
		s.Read.Where = where
		_, err := contract.Define(s)
		if de, ok := errors.AsType[*contract.DefinitionError](err); !ok || de.Offset != strings.Index(where, "]") {
			t.Errorf("%s: %+v", where, err)
		}
	}
}

func TestC17_ReplayFollowsFromKeyAndReconcile(t *testing.T) {
	reconcile := func(context.Context, *contract.Invocation) (contract.Finding, error) { return contract.Finding{}, nil }
	for _, x := range []struct {
		name              string
		change            func(*contract.Spec)
		replay, reconcile string
	}{
		{"nothing declared", func(*contract.Spec) {}, "unsafe", "none"},
		{"natural", func(s *contract.Spec) { s.Idempotent = contract.Natural }, "unsafe", "none"},
		{"a key without retention", func(s *contract.Spec) { s.Idempotent = contract.ByKey }, "unsafe", "none"},
		{"a key", func(s *contract.Spec) { s.Idempotent, s.KeyRetention = contract.ByKey, time.Hour }, "safe", "none"},
		{"a key for ever", func(s *contract.Spec) { s.Idempotent, s.KeyRetention = contract.ByKey, contract.Forever }, "safe", "none"},
		{"reconcile", func(s *contract.Spec) { s.Mutation.Steps[0].Reconcile = reconcile }, "safe", "declared"},
		{"one of two", func(s *contract.Spec) {
			s.Mutation.Steps = []contract.Step{{Name: "a", Submit: submits, Reconcile: reconcile}, {Name: "b", Submit: submits}}
		}, "unsafe", "some"},
	} {
		s := mutationSpec()
		x.change(&s)
		d, err := contract.Define(s)
		if err != nil {
			t.Fatal(err)
		}
		if d.Replay() != x.replay || d.Reconciles() != x.reconcile || !strings.Contains(string(d.Describe()), `"replay":"`+x.replay+`","reconcile":"`+x.reconcile+`"`) {
			t.Errorf("%s: %s, %s; %s", x.name, d.Replay(), d.Reconciles(), d.Describe())
		}
	}
}

func TestDigestTellsChanges(t *testing.T) {
	base := must(contract.Define(readSpec())).Digest()
	if again := must(contract.Define(readSpec())).Digest(); again != base || len(base) != 64 {
		t.Errorf("digests %s and %s of one definition", base, again)
	}
	for _, change := range []func(*contract.Spec){
		func(s *contract.Spec) { s.Version = "1.1" }, func(s *contract.Spec) { s.Scope = "y" },
		func(s *contract.Spec) { s.Read.Where = "open" }, func(s *contract.Spec) { s.Read.Dedupe = "id" },
		func(s *contract.Spec) { s.Bounds.MaxPages = 3 }, func(s *contract.Spec) { s.Read.Consistency = contract.Snapshot },
		func(s *contract.Spec) { s.Source = json.RawMessage(`{"url":"x"}`) },
		func(s *contract.Spec) { s.Params = json.RawMessage(`{"type":"object"}`) },
	} {
		s := readSpec()
		change(&s)
		if must(contract.Define(s)).Digest() == base {
			t.Errorf("the digest does not tell %+v", s)
		}
	}
}

func TestParamsAreCanonicalAndFilled(t *testing.T) {
	var seen string
	s := mutationSpec()
	s.Params = json.RawMessage(`{"type":"object","properties":{
		"size":{"type":"integer","default":10},
		"name":{"type":"string"},
		"at":{"$ref":"#/$defs/place"},
		"all":{"type":"array","items":{"$ref":"#/$defs/place"}}},
		"required":["name","size"],"additionalProperties":false,
		"$defs":{"place":{"type":"object","properties":{"x":{"type":"number","default":0.50},"y":{"type":"number"}}}}}`)
	s.Mutation.Steps[0].Submit = func(_ context.Context, in *contract.Invocation) (json.RawMessage, error) {
		seen = string(in.Params)
		return nil, nil
	}
	d := must(contract.Define(s))
	c := newClient(t, contract.Options{})
	first := `{"name":"a","at":{"y":1},"all":[{},{"x":2}]}`
	r, err := c.Do(ctx, d, contract.Call{Key: "k1", Params: json.RawMessage(first)})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	if wanted := `{"all":[{"x":0.50},{"x":2}],"at":{"x":0.50,"y":1},"name":"a","size":10}`; seen != wanted {
		t.Errorf("params %s, want %s", seen, wanted)
	}
	// The same call in other words.
	r, err = c.Do(ctx, d, contract.Call{Key: "k1", Params: json.RawMessage(" { \"size\" : 10, \"all\":[{\"x\":0.50},{\"x\":2}], \"at\":{\"x\":0.50,\"y\":1},\n\"name\":\"\\u0061\"}")})
	want(t, r, err, contract.Completed, contract.EffectCommitted, contract.NextNone)
	if !r.Replayed {
		t.Error("not taken for the same call")
	}
}

func TestM19_Classification(t *testing.T) {
	for status, wants := range map[int]string{
		400: "rejected", 401: "denied", 403: "denied", 404: "rejected", 408: "unknown", 409: "unknown", 410: "rejected", 412: "stale",
		422: "rejected", 425: "unknown", 428: "stale", 429: "rejected", 500: "unknown", 501: "rejected", 502: "unknown", 503: "unknown", 504: "unknown", 505: "rejected",
	} {
		f := contract.ClassifyHTTP(status)
		got := "unknown"
		switch {
		case f.Denied:
			got = "denied"
		case f.Stale:
			got = "stale"
		case f.Rejected:
			got = "rejected"
		}
		if got != wants || f.Code != fmt.Sprint(status) {
			t.Errorf("%d is %s, want %s", status, got, wants)
		}
	}
	for _, x := range []struct {
		err      error
		code     string
		rejected bool
	}{
		{context.DeadlineExceeded, "timeout", false},
		{context.Canceled, "cancelled", false},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, "refused", true},
		{&net.DNSError{Err: "no such host"}, "refused", true},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, "reset", false},
		{fmt.Errorf("post: %w", io.ErrUnexpectedEOF), "reset", false},
		{io.EOF, "reset", false},
		{errors.New("who knows"), "error", false},
		{fmt.Errorf("wrapped: %w", contract.Reject("x", "y")), "", true},
	} {
		if f := contract.ClassifyError(x.err); f.Code != x.code || f.Rejected != x.rejected {
			t.Errorf("%v is %+v", x.err, f)
		}
	}
	// What the classification makes of an operation.
	for _, x := range []struct {
		err     error
		outcome contract.Outcome
		exit    int
	}{
		{contract.ClassifyHTTP(422), contract.Rejected, 3}, {contract.ClassifyHTTP(412), contract.Rejected, 5},
		{contract.ClassifyHTTP(500), contract.Unknown, 7}, {errReset, contract.Unknown, 7},
		{&contract.Failure{Code: "isError"}, contract.Unknown, 7}, {&contract.Failure{Code: "isError", Rejected: true}, contract.Rejected, 3},
	} {
		u := &upstream{fault: func(int) (bool, error) { return false, x.err }}
		_, r, _ := customerOp(t, u, nil).Do(ctx, newClient(t, contract.Options{}), customer{Name: "Ada"}, contract.Call{})
		if r.Outcome != x.outcome || r.ExitCode() != x.exit || x.outcome == contract.Unknown && r.NextAction != contract.NextReconcile {
			t.Errorf("%v: %s", x.err, r.JSON())
		}
	}
	// A step's own word goes before ours.
	u := &upstream{fault: never}
	op := customerOp(t, u, func(m *contract.Mutation[customer, created]) {
		m.Classify = func(err error) *contract.Failure { return contract.Reject("known", "%v", err) }
	})
	if _, r, _ := op.Do(ctx, newClient(t, contract.Options{}), customer{Name: "Ada"}, contract.Call{}); r.Reason != "known" {
		t.Errorf("%s", r.JSON())
	}
}

func TestNoParameterValuesInLogs(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	u, clk := &upstream{fault: drop}, newClock()
	op := customerOp(t, u, func(m *contract.Mutation[customer, created]) {
		withKey(m)
		withReconcile(u)(m)
	})
	c := newClient(t, contract.Options{Log: log, Now: clk.now, Authorize: func(_ context.Context, a contract.Access) error {
		if a.Caller == "mallory" {
			return errors.New("no")
		}
		return nil
	}}, op.Definition)
	p := customer{Name: "S3CRET", Account: "S3CRET"}
	op.Do(ctx, c, p, contract.Call{Key: "k1"})
	op.Do(ctx, c, p, contract.Call{Key: "k1"})
	op.Do(ctx, c, p, contract.Call{Key: "k1", Caller: "mallory"})
	c.Reconcile(ctx, contract.Ref{Key: "k1"})
	store := &failing{Store: contract.NewMemory(), fail: []int{1, 2, 3, 4}}
	op.Do(ctx, newClient(t, contract.Options{Store: store, Log: log}), p, contract.Call{})
	if n := strings.Count(out.String(), "\n"); n < 4 || strings.Contains(out.String(), "S3CRET") || strings.Contains(out.String(), "cus_") {
		t.Errorf("log of %d lines:\n%s", n, out.String())
	}
}

func TestImports(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		src := string(must(os.ReadFile(f)))
		for _, not := range []string{"cli", "proxy", "journal", "operation", "stash"} {
			if strings.HasSuffix(f, "_test.go") || !strings.Contains(src, "spillway/internal/"+not) {
				continue
			}
			t.Errorf("%s imports internal/%s", f, not)
		}
	}
}

func TestRegistry(t *testing.T) {
	v1, v2 := mutationSpec(), mutationSpec()
	v2.Version = "2.3"
	a, b := must(contract.Define(v1)), must(contract.Define(v2))
	c := newClient(t, contract.Options{}, b, a)
	for name, wants := range map[string]*contract.Definition{
		"create": b, "create@1": a, "create@1.0": a, "create@2": b, "create@2.3": b, "create@3": nil, "other": nil, "create@2.1": nil,
	} {
		if got := c.Lookup(name); got != wants {
			t.Errorf("%s is %v", name, got)
		}
	}
	if all := c.Definitions(); len(all) != 2 || all[0] != a {
		t.Errorf("%d definitions", len(all))
	}
	v1.Scope = "another"
	if err := c.Register(must(contract.Define(v1))); !errors.Is(err, contract.ErrInvalid) {
		t.Errorf("two definitions of create@1: %v", err)
	}
}
