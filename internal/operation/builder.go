package operation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/jsontape"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
)

// builder makes a Set of a file's tree, and gathers what is wrong with it.
type builder struct {
	opt  Options
	http *httpCaller
	set  *Set
	errs yamlpos.Errors

	// Of the operation that is being read: where its fields stand, by the
	// names that contract.DefinitionError gives them, and what it calls.
	places    map[string]*yamlpos.Node
	upstreams []string
	steps     []string // names of the steps that stand before
	unset     string   // an environment variable that it needs and that is not set
}

// field is one key of a map and what reads its value.
type field struct {
	name string
	read func(n *yamlpos.Node)
}

// fields reads a map that has no other keys than these, and reports whether n
// is a map.
func (b *builder) fields(n *yamlpos.Node, what string, fields ...field) bool {
	if n.Kind != yamlpos.Map {
		b.errs.At(n, "", "%s needs a map, got %s", what, n.Given())
		return false
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	for _, p := range n.Pairs {
		i := slices.Index(names, p.Key.Text)
		switch {
		case i < 0:
			hint := yamlpos.DidYouMean(p.Key.Text, names)
			if hint == "" {
				hint = "it takes " + strings.Join(names, ", ")
			}
			b.errs.At(p.Key, hint, "unknown key %q in %s", p.Key.Text, what)
		case p.Value.Kind == yamlpos.Null:
			b.errs.At(p.Value, "leave the key out for its default", "%s has no value", p.Key.Text)
		default:
			fields[i].read(p.Value)
		}
	}
	return true
}

// file reads the map of operations.
func (b *builder) file(root *yamlpos.Node) {
	if root.Kind == yamlpos.Null {
		b.set.Warnings.At(root, "", "the file has no operations")
		return
	}
	var list *yamlpos.Node
	b.fields(root, "the operations file", field{"operations", func(n *yamlpos.Node) { list = n }})
	switch {
	case list == nil && len(b.errs) == 0:
		b.errs.At(root, "", "the file needs the key operations")
		return
	case list == nil:
		return
	case list.Kind != yamlpos.Map:
		b.errs.At(list, "", "operations needs a map from name@major.minor to definitions, got %s", list.Given())
		return
	}
	majors := map[string]*yamlpos.Node{}
	for _, p := range list.Pairs {
		name, version, ok := strings.Cut(p.Key.Text, "@")
		if !ok {
			b.errs.At(p.Key, "write "+p.Key.Text+"@1.0", "an operation is named name@major.minor, got %q", p.Key.Text)
			continue
		}
		major, _, _ := strings.Cut(version, ".")
		if first := majors[name+"@"+major]; first != nil {
			b.errs.At(p.Key, "only other major versions can stand beside one another",
				"the major version %s of %q stands here a second time; the first is at %d:%d", major, name, first.Line, first.Col)
			continue
		}
		majors[name+"@"+major] = p.Key
		b.operation(name, version, p)
	}
}

// operation reads one definition.
func (b *builder) operation(name, version string, p yamlpos.Pair) {
	n := p.Value
	before := len(b.errs)
	b.upstreams, b.steps, b.unset = nil, nil, ""
	b.places = map[string]*yamlpos.Node{"Name": p.Key, "Version": p.Key, "": p.Key, "Scope": p.Key, "Read": p.Key, "Mutation": p.Key}
	spec := contract.Spec{Name: name, Version: version, Source: b.json(n)}
	var read, mutation *yamlpos.Node
	mark := func(place string, read func(*yamlpos.Node)) func(*yamlpos.Node) {
		return func(n *yamlpos.Node) { b.places[place] = n; read(n) }
	}
	if !b.fields(n, fmt.Sprintf("the operation %q", p.Key.Text),
		field{"title", func(n *yamlpos.Node) { spec.Title = b.text(n, "title") }},
		field{"scope", mark("Scope", func(n *yamlpos.Node) { spec.Scope = b.text(n, "scope") })},
		field{"effects", mark("Effects", func(n *yamlpos.Node) {
			spec.Effects = contract.Effects(b.word(n, "effects", "read", "create", "update", "delete"))
		})},
		field{"idempotent", mark("Idempotent", func(n *yamlpos.Node) {
			spec.Idempotent = contract.Idempotency(b.word(n, "idempotent", "natural", "key", "none"))
		})},
		field{"key_retention", func(n *yamlpos.Node) { spec.KeyRetention = b.retention(n, "key_retention") }},
		field{"params", mark("Params", func(n *yamlpos.Node) { spec.Params = b.schema(n, "params") })},
		field{"result", mark("Result", func(n *yamlpos.Node) { spec.Result = b.schema(n, "result") })},
		field{"bounds", mark("Bounds", func(n *yamlpos.Node) { spec.Bounds = b.bounds(n) })},
		field{"retry", mark("Retry", func(n *yamlpos.Node) { spec.Retry = b.retry(n) })},
		field{"target", func(n *yamlpos.Node) { spec.Target = b.target(n) }},
		field{"read", mark("Read", func(n *yamlpos.Node) { read = n })},
		field{"mutation", mark("Mutation", func(n *yamlpos.Node) { mutation = n })},
	) {
		return
	}
	if n.Get("effects") == nil {
		b.errs.At(p.Key, "", "%q needs effects: one of read, create, update, delete", p.Key.Text)
	}
	switch reads := spec.Effects == contract.Reads; {
	case spec.Effects == "":
	case reads && mutation != nil:
		b.errs.At(mutation, "use read, or other effects", "%q has the effects read and no mutation", p.Key.Text)
	case reads && read == nil:
		b.errs.At(p.Key, "", "%q has the effects read and needs the key read", p.Key.Text)
	case !reads && read != nil:
		b.errs.At(read, "use mutation, or effects: read", "%q has the effects %s and cannot have read", p.Key.Text, spec.Effects)
	case !reads && mutation == nil:
		b.errs.At(p.Key, "", "%q has the effects %s and needs the key mutation", p.Key.Text, spec.Effects)
	}
	if read != nil {
		spec.Read = b.read(read)
	}
	if mutation != nil {
		spec.Mutation = b.mutation(mutation, &spec)
	}
	spec.Upstream = strings.Join(b.upstreams, ", ")
	if name := b.unset; name != "" { // said before anything is claimed: no id is spent on it (C-11)
		spec.Target = func(*contract.Invocation) (string, error) {
			return "", fmt.Errorf("the environment variable %s is not set", name)
		}
	}
	if len(b.errs) > before {
		return
	}
	def, err := contract.Define(spec)
	if err != nil {
		b.definitionFault(p.Key, err)
		return
	}
	b.set.Definitions = append(b.set.Definitions, def)
	b.warn(p.Key, def)
}

// definitionFault reports what contract.Define has against a definition, where
// it stands in the file.
func (b *builder) definitionFault(key *yamlpos.Node, err error) {
	var de *contract.DefinitionError
	if !errors.As(err, &de) {
		b.errs.At(key, "", "%v", err)
		return
	}
	var schema *jsonschema.SchemaValidationError
	if n := b.places[de.Field]; n != nil && errors.As(de.Err, &schema) {
		b.schemaFault(n, strings.ToLower(de.Field), schema)
		return
	}
	msg := de.Msg
	if de.Err != nil {
		msg += ": " + de.Err.Error()
	}
	at := key
	for place := de.Field; place != ""; place = place[:strings.LastIndexAny(place, ".[")] {
		if n := b.places[place]; n != nil {
			at = n
			break
		}
		if strings.LastIndexAny(place, ".[") < 0 {
			break
		}
	}
	words := strings.ToLower(de.Field)
	if at.Kind == yamlpos.String && at != key && de.Offset > 0 {
		b.errs.AtOffset(at, de.Offset, "", "%s: %s", words, msg)
		return
	}
	b.errs.At(at, "", "%s: %s", words, msg)
}

// schemaFault says where a JSON Schema is none.
func (b *builder) schemaFault(n *yamlpos.Node, name string, err *jsonschema.SchemaValidationError) {
	var at *jsonschema.ValidationError
	if !errors.As(err.Err, &at) {
		b.errs.At(n, "", "%s is no JSON Schema: %v", name, err.Err)
		return
	}
	for len(at.Causes) > 0 {
		at = at.Causes[0]
	}
	for _, step := range at.InstanceLocation {
		below := n.Get(step)
		if i, err := strconv.Atoi(step); err == nil && n.Kind == yamlpos.List && i < len(n.Items) {
			below = n.Items[i]
		}
		if below == nil {
			break
		}
		n = below
	}
	where := strings.Join(append([]string{name}, at.InstanceLocation...), ".")
	b.errs.At(n, "", "%s is no JSON Schema: %s", where, at.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
}

// text reads a string that is not empty.
func (b *builder) text(n *yamlpos.Node, name string) string {
	if n.Kind != yamlpos.String || strings.TrimSpace(n.Text) == "" {
		b.errs.At(n, "", "%s needs a text, got %s", name, n.Given())
		return ""
	}
	return strings.TrimSpace(n.Text)
}

// word reads one of some words.
func (b *builder) word(n *yamlpos.Node, name string, words ...string) string {
	if n.Kind == yamlpos.String && slices.Contains(words, n.Text) {
		return n.Text
	}
	b.errs.At(n, yamlpos.DidYouMean(n.Text, words), "%s must be one of %s, got %s", name, strings.Join(words, ", "), n.Given())
	return ""
}

func (b *builder) truth(n *yamlpos.Node, name string) bool {
	if n.Kind != yamlpos.Bool {
		b.errs.At(n, "", "%s needs true or false, got %s", name, n.Given())
	}
	return n.Text == "true"
}

// count reads a whole number, units such as 10k and 1MiB included.
func (b *builder) count(n *yamlpos.Node, name string, least, most int64) int {
	v, ok := yamlpos.ParseSize(n.Text)
	if n.Kind != yamlpos.Int && n.Kind != yamlpos.String || !ok || v < least || v > most {
		b.errs.At(n, "", "%s needs a whole number from %d to %d, got %s", name, least, most, n.Given())
		return 0
	}
	return int(v)
}

// duration reads a time such as 30s, 24h or 7d.
func (b *builder) duration(n *yamlpos.Node, name string) time.Duration {
	text := n.Text
	if days, ok := strings.CutSuffix(text, "d"); ok && n.Kind == yamlpos.String {
		if hours, err := time.ParseDuration(days + "h"); err == nil && hours > 0 && hours < 24*3660*time.Hour {
			return 24 * hours
		}
	}
	d, err := time.ParseDuration(text)
	if n.Kind != yamlpos.String || err != nil || d <= 0 {
		b.errs.At(n, "", "%s needs a time such as 500ms, 30s, 24h or 7d, got %s", name, n.Given())
		return 0
	}
	return d
}

// retention reads how long an upstream keeps a key; "forever" is allowed.
func (b *builder) retention(n *yamlpos.Node, name string) time.Duration {
	if n.Kind == yamlpos.String && n.Text == "forever" {
		return contract.Forever
	}
	return b.duration(n, name)
}

func (b *builder) bounds(n *yamlpos.Node) (out contract.Bounds) {
	b.fields(n, "bounds",
		field{"max_pages", func(n *yamlpos.Node) { out.MaxPages = b.count(n, "max_pages", 1, 1_000_000) }},
		field{"max_records", func(n *yamlpos.Node) { out.MaxRecords = b.count(n, "max_records", 1, 1_000_000_000) }},
		field{"max_result_bytes", func(n *yamlpos.Node) { out.MaxResultBytes = b.count(n, "max_result_bytes", 64, 64<<20) }},
		field{"deadline", func(n *yamlpos.Node) { out.Deadline = b.duration(n, "deadline") }},
	)
	return out
}

func (b *builder) retry(n *yamlpos.Node) (out contract.Retry) {
	b.fields(n, "retry",
		field{"max", func(n *yamlpos.Node) { out.Max = b.count(n, "max", 0, 100) }},
		field{"backoff", func(n *yamlpos.Node) { out.Backoff = b.duration(n, "backoff") }},
		field{"on", func(n *yamlpos.Node) {
			if n.Kind != yamlpos.List {
				b.errs.At(n, "", "on needs a list such as [429, 5xx, timeout, reset], got %s", n.Given())
			}
			for _, item := range n.Items {
				if item.Kind != yamlpos.String && item.Kind != yamlpos.Int {
					b.errs.At(item, "", "on holds codes such as 429, 5xx, timeout, reset, refused and isError, got %s", item.Given())
				}
				out.On = append(out.On, item.Text)
			}
		}},
	)
	if out.Max > 0 && len(out.On) == 0 && n.Kind == yamlpos.Map {
		b.errs.At(n, "add on: [429, 5xx, timeout, reset] or some of them", "retry with max and without on retries nothing")
	}
	return out
}

// schema reads a JSON Schema, written as YAML.
func (b *builder) schema(n *yamlpos.Node, name string) json.RawMessage {
	if n.Kind != yamlpos.Map {
		b.errs.At(n, "", "%s needs a JSON Schema, got %s", name, n.Given())
		return nil
	}
	return b.json(n)
}

// json writes a value of the file as JSON; numbers keep their digits.
func (b *builder) json(n *yamlpos.Node) []byte { return b.appendJSON(nil, n) }

func (b *builder) appendJSON(dst []byte, n *yamlpos.Node) []byte {
	switch n.Kind {
	case yamlpos.Null:
		return append(dst, "null"...)
	case yamlpos.String:
		return jsontape.AppendQuote(dst, n.Text)
	case yamlpos.Map:
		dst = append(dst, '{')
		for i, p := range n.Pairs {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(jsontape.AppendQuote(dst, p.Key.Text), ':')
			dst = b.appendJSON(dst, p.Value)
		}
		return append(dst, '}')
	case yamlpos.List:
		dst = append(dst, '[')
		for i, item := range n.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = b.appendJSON(dst, item)
		}
		return append(dst, ']')
	}
	if !json.Valid([]byte(n.Text)) {
		b.errs.At(n, "write it as JSON does", "the number %s has no form in JSON", n.Text)
		return append(dst, "null"...)
	}
	return append(dst, n.Text...)
}

// syntax reports a JMESPath error where it is in the file; shift is where the
// expression starts within n.
func (b *builder) syntax(n *yamlpos.Node, shift int, name string, err error) {
	var syntax *jmespath.SyntaxError
	if errors.As(err, &syntax) {
		b.errs.AtOffset(n, max(0, min(len(n.Text), shift+syntax.Offset)), "", "%s: %s", name, syntax.Msg)
		return
	}
	b.errs.At(n, "", "%s: %v", name, err)
}
