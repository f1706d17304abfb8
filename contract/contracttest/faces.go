package contracttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/contract/contracttest/upstream"
)

var faceCases = []Case{
	{"A01", "byte-equal receipts", nil, equalReceipts},
	{"A02", "exit code, error and isError go with the outcome", nil, outcomesOfFaces},
	{"A03", "the key is visible before the submission", []Feature{HasAnnounce}, announced},
	{"A04", "malformed input is rejected alike", nil, malformed},
	{"A05", "every field of the definition survives the face", []Feature{HasDescribe}, definitionsSurvive},
}

// equalReceipts holds the bytes that a face gives against those that Go writes
// of the same receipt.
func equalReceipts(s *scene) {
	p, q := s.open(alice), s.open(alice)
	s.put("c", 70)
	s.Upstream.Script(upstream.Fault{On: upstream.OnBody(func(b []byte) bool { return bytes.Contains(b, []byte(`"name":"b"`)) }), LoseAnswer: true})
	for _, a := range []Answer{
		p.do(OpCreate, "k1", params("name", "<&> ü \u2028", "amount", json.Number("9007199254740993"))),
		q.get(OpCreate, "k1"),
		p.do(OpCreate, "k2", params("name", "b")),
		q.get(OpCreate, "k2"),
		p.do(OpMembers, "k3", params("team", "t", "members", []string{"x", "y"})),
		p.do(OpCreate, "k2", params("name", "other")),
		p.do(OpCreate, "k4", params("name", 5)),
		p.read(OpCount, collection("c")),
	} {
		if a.Receipt == nil {
			s.failf("no receipt: %s", a.Text)
			continue
		}
		var back contract.Receipt
		if err := json.Unmarshal(a.Raw, &back); err != nil {
			s.failf("%v: %s", err, a.Raw)
			continue
		}
		if !bytes.Equal(canonical(back.JSON()), canonical(a.Raw)) {
			s.failf("the face gives\n%s\nand Go\n%s", canonical(a.Raw), canonical(back.JSON()))
		}
		if !bytes.Contains(a.Raw, []byte(`"amount":9007199254740993`)) && a.Receipt.OperationID == "k1" && a.Outcome() == contract.Completed {
			s.failf("the digits of the result changed: %s", a.Raw)
		}
	}
	x, y := p.get(OpCreate, "k2"), q.get(OpCreate, "k2")
	if !bytes.Equal(x.Raw, y.Raw) {
		s.failf("two processes give\n%s\nand\n%s", x.Raw, y.Raw)
	}
}

// canonical sorts members and keeps numbers as they are written.
func canonical(raw []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}

func outcomesOfFaces(s *scene) {
	p := s.open(alice)
	s.put("c", 70)
	s.Upstream.PutItem("i1", map[string]rawJSON{})
	check := func(what string, a Answer, exit int, kind error) {
		if a.Receipt == nil {
			s.failf("%s: no receipt: %s", what, a.Text)
			return
		}
		if got := a.Receipt.ExitCode(); got != exit {
			s.failf("%s: want the exit code %d, have %d: %s", what, exit, got, a.Raw)
		}
		if a.Exit >= 0 && a.Exit != exit {
			s.failf("%s: want the exit code %d, the command gave %d: %s", what, exit, a.Exit, a.Raw)
		}
		if a.IsError != nil && *a.IsError != a.Receipt.IsError() {
			s.failf("%s: isError %t: %s", what, *a.IsError, a.Raw)
		}
		if a.Exit < 0 && a.IsError == nil && !errors.Is(a.Err, kind) {
			s.failf("%s: want the error %v, have %v", what, kind, a.Err)
		}
		if kind != nil && a.Receipt.OperationID != "" && a.Err != nil {
			if e, ok := errors.AsType[*contract.Error](a.Err); !ok || e.OperationID != a.Receipt.OperationID {
				s.failf("%s: the error has lost the operation id: %v", what, a.Err)
			}
		}
	}
	check("completed", p.do(OpCreate, "k1", params("name", "a")), contract.ExitCompleted, nil)
	check("replayed", p.do(OpCreate, "k1", params("name", "a")), contract.ExitCompleted, nil)
	check("usage", p.do(OpCreate, "k2", params("name", 1)), contract.ExitUsage, contract.ErrInvalid)
	check("key conflict", p.do(OpCreate, "k1", params("name", "b")), contract.ExitConflict, contract.ErrKeyConflict)
	s.Upstream.Script(upstream.Fault{Refuse: 422})
	check("rejected", p.do(OpCreate, "k3", params("name", "c")), contract.ExitRejected, contract.ErrRejected)
	check("not found", p.get(OpCreate, "k-never"), contract.ExitRejected, contract.ErrNotFound)
	if s.has(HasRevision) {
		stale := Call{Verb: VerbDo, Operation: OpUpdate, Key: "k4", Params: params("id", "i1", "value", "v"), Revision: "7"}
		check("precondition", p.call(stale), contract.ExitConflict, contract.ErrPrecondition)
	}
	s.Upstream.Script(upstream.Fault{On: upstream.OnBody(func(b []byte) bool { return bytes.Contains(b, []byte("ben")) }), Refuse: 422})
	check("partial", p.do(OpMembers, "k5", params("team", "t", "members", []string{"ann", "ben"})), contract.ExitPartial, contract.ErrPartial)
	s.Upstream.Script(upstream.Fault{LoseAnswer: true})
	check("unknown", p.do(OpCreate, "k6", params("name", "d")), contract.ExitUnknown, contract.ErrUnknownOutcome)
	check("incomplete", p.read(OpCount, collection("c")), contract.ExitIncomplete, contract.ErrIncomplete)
	came, release := s.hold(upstream.Fault{})
	done := p.start(Call{Verb: VerbDo, Operation: OpCreate, Key: "k7", Params: params("name", "e")})
	s.await(came, "the submission")
	check("pending", s.open(alice).do(OpCreate, "k7", params("name", "e")), contract.ExitPending, nil)
	release()
	check("completed", s.answer(done), contract.ExitCompleted, nil)
	if s.has(HasPolicy) {
		s.Policy.Refuse(func(a contract.Access) bool { return true })
		check("unauthorized", p.do(OpCreate, "k8", params("name", "f")), contract.ExitUnauthorized, contract.ErrUnauthorized)
	}
}

func announced(s *scene) {
	p := s.open(alice)
	for _, key := range []string{"k1", ""} {
		shown := make(chan string, 4)
		seen := ""
		s.Upstream.Script(upstream.Fault{Before: func(upstream.Arrival) {
			select {
			case seen = <-shown:
			case <-time.After(patience / 10):
			}
		}})
		a := p.call(Call{Verb: VerbDo, Operation: OpCreate, Key: key, Params: params("name", "a"+key),
			Announce: func(id string) {
				select {
				case shown <- id:
				default:
				}
			}})
		s.want(a, contract.Completed)
		if seen == "" || seen != a.Receipt.OperationID || key != "" && seen != key {
			s.failf("the operation id was shown as %q before the submission, and is %q", seen, a.Receipt.OperationID)
		}
	}
}

func malformed(s *scene) {
	p := s.open(alice)
	for i, x := range []struct{ operation, params, parameter string }{
		{OpCreate, `{}`, "name"},
		{OpCreate, `{"name":""}`, "name"},
		{OpCreate, `{"name":7}`, "name"},
		{OpCreate, `{"name":null}`, "name"},
		{OpCreate, `{"name":"a","account":true}`, "account"},
		{OpCreate, `{"name":"a","colour":"red"}`, "colour"},
		{OpCreate, `{"name":"a","amount":1.5}`, "amount"},
		{OpMembers, `{"team":"t","members":[]}`, "members"},
		{OpMembers, `{"team":"t","members":["a",5]}`, "members"},
		{OpCount, `{}`, "collection"},
		{OpCount, `{"collection":["c"]}`, "collection"},
	} {
		key := fmt.Sprint("k", i)
		a := p.call(Call{Verb: VerbDo, Operation: x.operation, Key: key, Params: rawJSON(x.params)})
		if a.Outcome() != contract.Rejected || a.Reason() != contract.ReasonInvalid || a.Receipt.Effect != contract.EffectNone {
			s.failf("%s %s: %s %s", x.operation, x.params, a.Raw, a.Text)
			continue
		}
		if !strings.Contains(a.Receipt.Parameter+a.Receipt.Message, x.parameter) {
			s.failf("%s %s: the refusal does not name %s: %s", x.operation, x.params, x.parameter, a.Raw)
		}
		if x.operation != OpCount {
			s.want(p.get(x.operation, key), contract.Rejected, contract.ReasonNotFound) // C-11: no record
		}
	}
	for _, key := range []string{strings.Repeat("k", 256), "with space", "k\u00fc"} {
		a := p.do(OpCreate, key, params("name", "a"))
		s.want(a, contract.Rejected, contract.ReasonInvalid)
	}
	s.wantSubmissions(0)
	if n := len(s.Upstream.Arrivals()); n != 0 {
		s.failf("malformed input reached the upstream %d times", n)
	}
}

// definitionsSurvive holds what a face says of each operation against the
// definition itself, member by member.
func definitionsSurvive(s *scene) {
	p := s.open(alice)
	defs, err := Definitions(s.URL, nil)
	if err != nil {
		s.fatalf("%v", err)
	}
	for _, d := range defs {
		a := p.call(Call{Verb: VerbDescribe, Operation: d.ID()})
		if a.Doc == nil {
			s.failf("no description of %s: %s", d.ID(), a.Text)
			continue
		}
		var want, have map[string]any
		if json.Unmarshal(d.Describe(), &want) != nil || json.Unmarshal(a.Doc, &have) != nil {
			s.failf("not JSON: %s", a.Doc)
			continue
		}
		for _, diff := range missing("", want, have) {
			s.failf("%s: %s", d.ID(), diff)
		}
	}
}

// missing lists the members of want that have does not hold alike. A step's
// classify may be there in one form of a definition and not in the other.
func missing(path string, want, have any) []string {
	switch w := want.(type) {
	case map[string]any:
		h, _ := have.(map[string]any)
		var all []string
		for k, v := range w {
			if k != "classify" {
				all = append(all, missing(path+"/"+k, v, h[k])...)
			}
		}
		return all
	case []any:
		h, _ := have.([]any)
		if len(h) != len(w) {
			return []string{fmt.Sprintf("%s: want %d elements, have %d", path, len(w), len(h))}
		}
		var all []string
		for i := range w {
			all = append(all, missing(fmt.Sprint(path, "/", i), w[i], h[i])...)
		}
		return all
	}
	if want != have {
		return []string{fmt.Sprintf("%s: want %v, have %v", path, want, have)}
	}
	return nil
}
