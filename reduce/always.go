package reduce

import (
	"slices"
	"strings"

	"github.com/spillway-mcp/spillway/internal/jsontape"
)

// BuiltinAlways are the fields that survive every projection unless a rule
// takes one out with "!name" (RED-08): counts, cursors, and what a server says
// about the result itself.
var BuiltinAlways = []string{
	"total_count", "totalCount", "total", "count", "incomplete_results",
	"next_cursor", "nextCursor", "next_page", "next_page_token", "nextPageToken",
	"next", "cursor", "continuation", "pageInfo", "page_info", "has_more", "hasMore",
	"truncated", "partial", "warning", "warnings", "error", "errors", "message", "note",
}

// maxProtected is the size in bytes up to which a scalar under an always name
// is never cut (RED-08).
const maxProtected = 1000

// fieldTree selects fields by name: a leaf is kept whole, below any other
// node only the named fields are.
type fieldTree struct {
	leaf bool
	kids map[string]*fieldTree
}

func compileAlways(names []string) (*fieldTree, error) {
	set := slices.Clone(BuiltinAlways)
	for _, name := range names {
		if out, ok := strings.CutPrefix(name, "!"); ok {
			set = slices.DeleteFunc(set, func(s string) bool { return s == out })
			continue
		}
		if name == "" || slices.Contains(strings.Split(name, "."), "") {
			return nil, ruleError("always", "%q is not a field name or a dotted path", name)
		}
		set = append(set, name)
	}
	root := new(fieldTree)
	for _, name := range set {
		root.add(strings.Split(name, "."))
	}
	return root, nil
}

func (t *fieldTree) add(path []string) {
	if len(path) == 0 {
		t.leaf = true
		return
	}
	if t.kids == nil {
		t.kids = make(map[string]*fieldTree)
	}
	kid := t.kids[path[0]]
	if kid == nil {
		kid = new(fieldTree)
		t.kids[path[0]] = kid
	}
	kid.add(path[1:])
}

// find returns the node for a member's key, or nil.
func (t *fieldTree) find(key jsontape.Value) *fieldTree {
	if t == nil || t.kids == nil {
		return nil
	}
	return t.kids[string(key.StrBytes(nil))]
}

// appendSelected appends the members of the object v that t selects and skip
// does not hold, each followed by a comma, in v's order; of duplicates the
// last.
func (t *fieldTree) appendSelected(dst []byte, v jsontape.Value, skip jsontape.Value) []byte {
	for it := v.Iter(); it.Next(); {
		key, val := it.Key(), it.Value()
		node := t.find(key)
		if node == nil {
			continue
		}
		name := key.Str()
		if skip.Get(name).Exists() || v.Get(name) != val || name == noteKey {
			continue
		}
		if node.leaf {
			dst = append(append(dst, key.Raw()...), ':')
			dst = append(val.AppendCompact(dst), ',')
			continue
		}
		if val.Kind() != jsontape.Object {
			continue
		}
		mark := len(dst)
		dst = append(append(dst, key.Raw()...), ':', '{')
		inner := len(dst)
		dst = node.appendSelected(dst, val, jsontape.Value{})
		if len(dst) == inner {
			dst = dst[:mark]
			continue
		}
		dst[len(dst)-1] = '}'
		dst = append(dst, ',')
	}
	return dst
}

// protected reports whether a member under node is never cut: a small scalar
// under an always name.
func protected(node *fieldTree, val jsontape.Value) bool {
	return node.leaf && !val.IsContainer() && val.CompactLen() <= maxProtected
}

// appendProtected appends the members of v that are never cut, each followed
// by a comma, those of dotted paths inside their objects.
func (t *fieldTree) appendProtected(dst []byte, v jsontape.Value) []byte {
	for it := v.Iter(); it.Next(); {
		key, val := it.Key(), it.Value()
		node := t.find(key)
		switch {
		case node == nil:
		case protected(node, val):
			dst = append(append(dst, key.Raw()...), ':')
			dst = append(val.AppendCompact(dst), ',')
		case !node.leaf && val.Kind() == jsontape.Object:
			if inner := node.appendProtected([]byte{'{'}, val); len(inner) > 1 {
				dst = append(append(dst, key.Raw()...), ':')
				dst = append(append(dst, closeContainer(inner, true)...), ',')
			}
		}
	}
	return dst
}

// countLeaves returns how many scalars other than null v holds.
func countLeaves(v jsontape.Value) int {
	n := 0
	eachLeaf(v, func([]byte) bool { n++; return true })
	return n
}

// eachLeaf calls f with the bytes of every scalar other than null in v, until
// f returns false; it reports whether it never did.
func eachLeaf(v jsontape.Value, f func([]byte) bool) bool {
	if !v.IsContainer() {
		return !v.Exists() || v.Kind() == jsontape.Null || f(v.Raw())
	}
	for it := v.Iter(); it.Next(); {
		if !eachLeaf(it.Value(), f) {
			return false
		}
	}
	return true
}
