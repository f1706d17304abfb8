package jmespath

// call is the result of a function. Only calls that succeed count: arguments
// of a wrong type are errors of Search.
func (in *inference) call(n *callNode, cur *typ) *typ {
	args := make([]*typ, len(n.args))
	for i, a := range n.args {
		if ref, ok := a.(*refNode); ok {
			// Evaluated against the elements of the other argument.
			other := n.args[1-min(i, 1)]
			args[i] = in.eval(ref.of, in.elem(in.eval(other, cur)))
			continue
		}
		args[i] = in.eval(a, cur)
	}
	if k, ok := resultKinds[n.fn.name]; ok {
		return plain(k)
	}
	first := anything
	if len(args) > 0 {
		first = args[0]
	}
	switch n.fn.name {
	case "keys", "split":
		return arrayOf(plain(kString))
	case "sort", "sort_by":
		return arrayOf(in.elem(first))
	case "reverse":
		u := &typ{}
		k := in.kinds(first)
		if k&kArray != 0 {
			u = arrayOf(in.elem(first))
		}
		if k&kString != 0 {
			u = union(u, plain(kString))
		}
		return u
	case "max", "min":
		return union(in.elem(first).only(kInt|kFloat|kString), plain(kNull))
	case "max_by", "min_by":
		return union(in.elem(first), plain(kNull))
	case "map":
		return arrayOf(args[0])
	case "values":
		return arrayOf(in.values(first))
	case "items":
		return arrayOf(&typ{kinds: kArray, isTuple: true, tuple: []*typ{plain(kString), in.values(first)}})
	case "from_items":
		return plain(kObject)
	case "group_by":
		return &typ{kinds: kObject, rest: arrayOf(in.elem(first))}
	case "not_null":
		u := plain(kNull)
		for _, a := range args {
			u = union(u, a.only(kAll&^kNull))
		}
		return u
	case "to_array":
		return union(first.only(kArray), in.wrapped(first))
	case "merge":
		return in.merge(args)
	case "zip":
		row := &typ{kinds: kArray, isTuple: true}
		for _, a := range args {
			row.tuple = append(row.tuple, in.elem(a))
		}
		return arrayOf(row)
	}
	return anything
}

// resultKinds are the functions whose result is known without a look at the
// arguments.
var resultKinds = map[string]kinds{
	"abs":         kInt | kFloat,
	"avg":         kInt | kFloat | kNull,
	"ceil":        kInt | kFloat,
	"floor":       kInt | kFloat,
	"sum":         kInt | kFloat,
	"length":      kInt,
	"to_number":   kInt | kFloat | kNull,
	"find_first":  kInt | kNull,
	"find_last":   kInt | kNull,
	"contains":    kBool,
	"starts_with": kBool,
	"ends_with":   kBool,
	"join":        kString,
	"lower":       kString,
	"upper":       kString,
	"pad_left":    kString,
	"pad_right":   kString,
	"replace":     kString,
	"to_string":   kString,
	"trim":        kString,
	"trim_left":   kString,
	"trim_right":  kString,
	"type":        kString,
}

// wrapped is the array that to_array makes of what is none.
func (in *inference) wrapped(t *typ) *typ {
	if rest := t.only(kAll &^ kArray); in.kinds(rest) != 0 {
		return arrayOf(rest)
	}
	return &typ{}
}

// merge joins objects whose members are all known; later ones win.
func (in *inference) merge(args []*typ) *typ {
	t := &typ{kinds: kObject, closed: true}
	for _, a := range args {
		if !a.closed || a.alts != nil {
			return plain(kObject)
		}
		for _, f := range a.fields {
			t.setField(f)
		}
	}
	return t
}

func (t *typ) setField(f typField) {
	for i := range t.fields {
		if t.fields[i].name == f.name {
			if !f.required {
				f = typField{f.name, union(t.fields[i].typ, f.typ), t.fields[i].required}
			}
			t.fields[i] = f
			return
		}
	}
	t.fields = append(t.fields, f)
}
