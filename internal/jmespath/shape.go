package jmespath

// Shape is what can be said of an expression's result without data.
type Shape struct {
	// Base selects the array that the leftmost projection walks: items in
	// items[*].{path: path}. It is nil where nothing is projected.
	Base *Expr
	// Aligned reports that nothing between Base and the rows filters,
	// flattens, slices or reorders: row i of the result is element i of Base,
	// unless nulls were dropped.
	Aligned bool
	// Projected reports that the result is made by a projection (an array of
	// rows), as opposed to a single value or object.
	Projected bool
	// Fields are the members of the multi-select hash that a row (or, with
	// no projection, the result) is made of, in order. It is empty for others.
	Fields []Field
}

// Field is one selected member.
type Field struct {
	Name string
	// Path is the plain path from the row (or the payload) that the member
	// is taken from; nil where it is computed otherwise.
	Path []string
}

// Shape analyses e.
func (e *Expr) Shape() Shape { return Shape{} }
