package operation

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// row is one line of a classification table.
type row struct {
	when    *expression // nil is always
	as      string      // rejected, unknown, denied, stale
	reason  string
	message string
}

// classes are what a row can make of an error.
var classes = []string{"rejected", "unknown", "denied", "stale"}

// table reads a list of rows, of which the first that holds counts.
func (b *builder) table(n *yamlpos.Node, root names) []row {
	if n.Kind != yamlpos.List || len(n.Items) == 0 {
		b.errs.At(n, "write - {when: \"error.status == `422`\", as: rejected}", "classify needs a list of rows, got %s", n.Given())
		return nil
	}
	var rows []row
	for i, item := range n.Items {
		var r row
		b.fields(item, "a row of classify",
			field{"when", func(n *yamlpos.Node) { r.when = b.expression(n, "when", root) }},
			field{"as", func(n *yamlpos.Node) { r.as = b.word(n, "as", classes...) }},
			field{"reason", func(n *yamlpos.Node) { r.reason = b.text(n, "reason") }},
			field{"message", func(n *yamlpos.Node) { r.message = b.text(n, "message") }},
		)
		if item.Kind == yamlpos.Map && item.Get("as") == nil {
			b.errs.At(item, "", "a row of classify needs as: one of %s", strings.Join(classes, ", "))
		}
		if i > 0 && rows[i-1].when == nil && n.Items[i-1].Get("when") == nil {
			b.errs.At(item, "put the row without when last", "this row of classify is never reached: the one before it has no when")
		}
		rows = append(rows, r)
	}
	return rows
}

// classify says what an error of a call means: by the table, else by default
// (M19).
func classify(rows []row, s *scope, err error) *contract.Failure {
	var f *contract.Failure
	if errors.As(err, &f) {
		return f
	}
	var ce *CallError
	if !errors.As(err, &ce) {
		return contract.ClassifyError(err)
	}
	f = byDefault(ce)
	if len(rows) == 0 || ce.Kind == "start" {
		return f
	}
	root, perr := s.with("error", ce.json(f.Code)).root()
	if perr != nil {
		return f
	}
	for _, r := range rows {
		if r.when != nil {
			got, err := r.when.eval(root)
			if err != nil || !got.Truthy() {
				continue
			}
		}
		f.Rejected, f.Denied, f.Stale, f.Reason = false, false, false, r.reason
		switch r.as {
		case "rejected":
			f.Rejected = true
		case "denied":
			f.Rejected, f.Denied = true, true
		case "stale":
			f.Rejected, f.Stale = true, true
			if f.Reason == "" {
				f.Reason = contract.ReasonPrecondition
			}
		}
		if r.message != "" {
			f.Message = r.message
		}
		return f
	}
	return f
}

// byDefault is the meaning of an error that no table speaks of.
func byDefault(ce *CallError) *contract.Failure {
	switch ce.Kind {
	case "http", "redirect":
		return contract.ClassifyHTTP(ce.Status)
	case "start":
		return &contract.Failure{Rejected: true, Reason: "upstream_unreachable", Code: "refused", Message: "nothing was sent: " + causeText(ce.Err)}
	case "isError":
		return &contract.Failure{Code: "isError", Message: ce.Error()}
	case "rpc":
		// Codes that a server gives before it calls anything.
		before := ce.Code == "-32700" || ce.Code == "-32600" || ce.Code == "-32601" || ce.Code == "-32602"
		return &contract.Failure{Rejected: before, Code: ce.Code, Message: ce.Error()}
	}
	if ce.Err == nil {
		return &contract.Failure{Code: "error", Message: ce.Text}
	}
	f := contract.ClassifyError(ce.Err)
	if f.Message == "" {
		f.Message = "no answer: " + causeText(ce.Err)
	}
	return f
}

func causeText(err error) string {
	if err == nil {
		return "no cause known"
	}
	return err.Error()
}

// json is the member error that a table's expressions see.
func (e *CallError) json(code string) []byte {
	b := jsontape.AppendQuote([]byte(`{"kind":`), e.Kind)
	b = jsontape.AppendQuote(append(b, `,"code":`...), code)
	if e.Status != 0 {
		b = strconv.AppendInt(append(b, `,"status":`...), int64(e.Status), 10)
	}
	b = jsontape.AppendQuote(append(b, `,"text":`...), e.Text)
	if e.Body != nil {
		b = append(append(b, `,"body":`...), e.Body...)
	}
	return append(b, '}')
}
