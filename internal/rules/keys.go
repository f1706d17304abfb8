package rules

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jmespath"
	"github.com/spillway-mcp/spillway/internal/yamlpos"
	"github.com/spillway-mcp/spillway/reduce"
)

// key is one key of a rule. read returns the value (a string, an int, a bool
// or a []string), or reports what is wrong with it and returns nil.
type key struct {
	name    string
	read    func(b *builder, name string, n *yamlpos.Node) any
	listing bool // is about the tool in tools/list, not about its results
}

// keys are all keys of a rule, in the order in which they are shown.
var keys = []key{
	{name: "when", read: (*builder).expression},
	{name: "keep", read: (*builder).expression},
	{name: "always", read: (*builder).always},
	{name: "max_rows", read: (*builder).rowCount},
	{name: "rows", read: (*builder).expression},
	{name: "max_bytes", read: (*builder).byteCap},
	{name: "text", read: oneOf("head", "tail", "ends")},
	{name: "strip", read: listOf("image", "audio", "blob", "base64")},
	{name: "write", read: oneOf("auto", "create", "update", "delete", "off")},
	{name: "light_key", read: (*builder).names},
	{name: "heavy", read: (*builder).truth},
	{name: "token_param", read: (*builder).truth},
	{name: "allow_markers", read: (*builder).truth},
	{name: "pass", read: (*builder).truth},
	{name: "rename", read: (*builder).toolName, listing: true},
	{name: "hide", read: (*builder).truth, listing: true},
	{name: "description", read: (*builder).words, listing: true},
}

var keyNames = func() (names []string) {
	for _, k := range keys {
		names = append(names, k.name)
	}
	return names
}()

func isKey(name string) bool { return slices.Contains(keyNames, name) }

// expression checks a JMESPath expression; an error in it is said to be where
// in the file the expression stops making sense.
func (b *builder) expression(name string, n *yamlpos.Node) any {
	if n.Kind != yamlpos.String {
		hint := ""
		if n.Kind == yamlpos.Map || n.Kind == yamlpos.List {
			hint = "put the expression in quotes"
		}
		b.errs.At(n, hint, "%s needs a JMESPath expression, got %s", name, n.Given())
		return nil
	}
	if strings.TrimSpace(n.Text) == "" {
		b.errs.At(n, "", "%s needs a JMESPath expression, got an empty string", name)
		return nil
	}
	if _, err := jmespath.Compile(n.Text); err != nil {
		b.syntax(name, n, err)
		return nil
	}
	return n.Text
}

// always checks field names and dotted paths; !name takes one out (RED-08).
func (b *builder) always(name string, n *yamlpos.Node) any {
	list, ok := b.strings(name, n)
	if !ok {
		return nil
	}
	for i, s := range list {
		bare := strings.TrimPrefix(s, "!")
		switch {
		case slices.Contains(strings.Split(bare, "."), ""):
			b.errs.At(n.Items[i], "", "%s holds names and dotted paths, got %q", name, s)
			return nil
		case slices.Contains(list, "!"+s):
			b.errs.At(n.Items[i], "", "%s both keeps and removes %q", name, s)
			return nil
		}
	}
	return unique(list)
}

func (b *builder) names(name string, n *yamlpos.Node) any {
	list, ok := b.strings(name, n)
	if !ok {
		return nil
	}
	return unique(list)
}

// strings reads a list of strings that are not empty.
func (b *builder) strings(name string, n *yamlpos.Node) (list []string, ok bool) {
	if n.Kind != yamlpos.List {
		hint := ""
		if n.Kind == yamlpos.String {
			hint = "write [" + n.Text + "]"
		}
		b.errs.At(n, hint, "%s needs a list of strings, got %s", name, n.Given())
		return nil, false
	}
	ok = true
	for _, item := range n.Items {
		if item.Kind != yamlpos.String || item.Text == "" {
			b.errs.At(item, "", "%s needs a list of strings, got %s in it", name, item.Given())
			ok = false
		}
		list = append(list, item.Text)
	}
	return list, ok
}

// unique drops repeated strings, and is never nil.
func unique(list []string) []string {
	out := []string{}
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func (b *builder) rowCount(name string, n *yamlpos.Node) any {
	v, ok := yamlpos.ParseSize(n.Text)
	if n.Kind != yamlpos.Int || !ok || v > math.MaxInt32 {
		hint := ""
		if n.Kind == yamlpos.String && ok {
			hint = "write " + n.Text + " without quotes"
		}
		b.errs.At(n, hint, "%s needs a whole number from 0 to %d, got %s", name, math.MaxInt32, n.Given())
		return nil
	}
	return int(v)
}

func (b *builder) byteCap(name string, n *yamlpos.Node) any {
	v, ok := yamlpos.ParseSize(n.Text)
	switch {
	case n.Kind != yamlpos.Int && n.Kind != yamlpos.String || !ok && n.Kind == yamlpos.String:
		b.errs.At(n, "", "%s needs %s, got %s", name, yamlpos.SizeForms, n.Given())
		return nil
	case !ok || v < reduce.MinMaxBytes || v > math.MaxInt32:
		b.errs.At(n, "", "%s must be from %d to %d bytes, got %s", name, reduce.MinMaxBytes, math.MaxInt32, n.Text)
		return nil
	}
	return int(v)
}

// oneOf reads one of some words.
func oneOf(words ...string) func(*builder, string, *yamlpos.Node) any {
	return func(b *builder, name string, n *yamlpos.Node) any {
		if n.Kind == yamlpos.String && slices.Contains(words, n.Text) {
			return n.Text
		}
		hint := yamlpos.DidYouMean(n.Text, words)
		if n.Kind == yamlpos.Bool && n.Text == "false" && slices.Contains(words, "off") {
			hint = `did you mean "off"?`
		}
		b.errs.At(n, hint, "%s must be one of %s, got %s", name, strings.Join(words, ", "), n.Given())
		return nil
	}
}

// listOf reads a list of some words; its order does not count.
func listOf(words ...string) func(*builder, string, *yamlpos.Node) any {
	return func(b *builder, name string, n *yamlpos.Node) any {
		list, ok := b.strings(name, n)
		for i, s := range list {
			if ok && !slices.Contains(words, s) {
				b.errs.At(n.Items[i], yamlpos.DidYouMean(s, words), "%s takes %s, got %q", name, strings.Join(words, ", "), s)
				ok = false
			}
		}
		if !ok {
			return nil
		}
		list = unique(list)
		slices.SortFunc(list, func(x, y string) int { return slices.Index(words, x) - slices.Index(words, y) })
		return list
	}
}

func (b *builder) truth(name string, n *yamlpos.Node) any {
	if n.Kind == yamlpos.Bool {
		return n.Text == "true"
	}
	hint := ""
	switch strings.ToLower(n.Text) {
	case "yes", "on", "y", "true":
		hint = "write true"
	case "no", "off", "n", "false":
		hint = "write false"
	}
	b.errs.At(n, hint, "%s needs true or false, got %s", name, n.Given())
	return nil
}

func (b *builder) words(name string, n *yamlpos.Node) any {
	if n.Kind != yamlpos.String || strings.TrimSpace(n.Text) == "" {
		b.errs.At(n, "", "%s needs a text, got %s", name, n.Given())
		return nil
	}
	return n.Text
}

// ExpandName is the name of the tool that gives stashed parts back. No tool of
// an upstream can be renamed to it.
const ExpandName = "reducer_expand"

var legalName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// toolName checks the name that a tool is to be listed under (RED-41).
func (b *builder) toolName(name string, n *yamlpos.Node) any {
	switch {
	case n.Kind != yamlpos.String:
		b.errs.At(n, "", "%s needs a name, got %s", name, n.Given())
	case len(n.Text) > 64:
		b.errs.At(n, "", "%s needs at most 64 characters, got %d", name, len(n.Text))
	case !legalName.MatchString(n.Text):
		b.errs.At(n, "", "%s needs characters from A-Z a-z 0-9 _ -, got %q", name, n.Text)
	case n.Text == ExpandName:
		b.errs.At(n, "", "%s cannot be %q: that is a tool of Spillway's own", name, n.Text)
	default:
		return n.Text
	}
	return nil
}
