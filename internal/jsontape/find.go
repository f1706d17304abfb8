package jsontape

// Find looks for members of an object in one pass: found[i] becomes the one
// under names[i], of duplicates the last, and stays as it was where there is
// none. The names are distinct, and found is as long as names.
func (v Value) Find(names []string, found []Value) {
	if v.Kind() != Object {
		return
	}
	// One bit a length: most keys are passed by without a look at the source.
	var lengths uint64
	for _, name := range names {
		lengths |= 1 << (uint(len(name)) & 63)
	}
	tape := v.d.tape
	i, end := v.i+1, uint32(tape[v.i].extent())-1
	for i+1 < end {
		key := tape[i]
		n := key.extent() - 2
		if key.kind() != String {
			for j := range names {
				if (Value{v.d, i}).Is(names[j]) {
					found[j] = Value{v.d, i + 1}
				}
			}
		} else if lengths>>(uint(n)&63)&1 != 0 {
			at := key.offset() + 1
			text := v.d.src[at : at+n]
			for j := range names {
				if names[j] == string(text) {
					found[j] = Value{v.d, i + 1}
					break
				}
			}
		}
		val := tape[i+1]
		i += 2
		if k := val.kind(); k == Array || k == Object {
			i = uint32(val.extent())
		}
	}
}

// SameKeys reports whether two objects have the same keys, as they are written,
// in the same order.
func SameKeys(a, b Value) bool {
	if a.Kind() != Object || b.Kind() != Object || a.Len() != b.Len() {
		return false
	}
	i, j := a.i+1, b.i+1
	for range a.Len() {
		x, y := a.d.tape[i], b.d.tape[j]
		if x.extent() != y.extent() || string(a.d.src[x.offset():x.offset()+x.extent()]) != string(b.d.src[y.offset():y.offset()+y.extent()]) {
			return false
		}
		i, j = a.d.after(i+1), b.d.after(j+1)
	}
	return true
}
