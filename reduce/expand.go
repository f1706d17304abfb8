package reduce

// ExpandRequest is what reducer_expand is asked for (RED-25).
type ExpandRequest struct {
	Ref    string
	Rows   string   // "26-50", "26-", "-10", "7": 1-based, inclusive
	Fields []string // names of the projection, or dotted paths of a row
	Query  string   // JMESPath over the original payload
	Lines  string   // as Rows, over the lines of a text payload
	Block  *int     // one content block, 0-based
	Offset int64    // where the next part starts, in bytes of what was asked for
}

// ParseExpandRequest reads the arguments of a reducer_expand call. The error
// names the argument, what was given and what is allowed (RED-28).
func ParseExpandRequest(args []byte) (ExpandRequest, error) {
	return ExpandRequest{}, nil
}

// Expand answers q from the original as the stash kept it, as a
// CallToolResult of at most budget bytes a view. The rule is the one that cut
// the original; a nil r stands for one without expressions.
func (r *Reducer) Expand(original []byte, q ExpandRequest, budget int) ([]byte, error) {
	return original, nil
}

// Markers returns the refs that cut markers inside args, the JSON of a
// tools/call's arguments, name (RED-49).
func Markers(args []byte) []string { return nil }

// Ref returns the ref of a result and the hash it is the start of (RED-22).
func Ref(result []byte) (ref string, canonical [32]byte, err error) {
	return "", canonical, nil
}
