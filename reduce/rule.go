package reduce

// Rule is what may be done to the results of one tool. The zero Rule does
// nothing.
type Rule struct {
	// Keep is a JMESPath expression, the projection of the payload.
	Keep string
	// Always names fields (or dotted paths) at the payload's top level that
	// survive any projection; "!name" takes one out of the built-in list
	// (RED-08), which is always added.
	Always []string
	// MaxRows is how many rows are kept, from the first; nil means all.
	MaxRows *int
	// Rows is a JMESPath expression to the array that MaxRows counts, in the
	// kept value.
	Rows string
	// MaxBytes caps each of the two views of a result, in bytes, note
	// included (RED-15); 0 means no cap, the smallest is MinMaxBytes.
	MaxBytes int
	// Text says which lines of a text payload stay: "head" (also ""),
	// "tail" or "ends".
	Text string
	// Strip lists the binary content to replace: "image", "audio", "blob",
	// "base64".
	Strip []string
	// AllowMarkers lifts the refusal of arguments that hold a cut marker
	// (RED-49). The reducer itself does not look at it.
	AllowMarkers bool
	// Pass exempts the tool: Reduce returns every result as it came.
	Pass bool

	// Write, LightKey, Heavy and TokenParam belong to the write envelope and
	// the probe.
	Write      string
	LightKey   []string
	Heavy      bool
	TokenParam bool
}

// MinMaxBytes is the smallest legal cap: below it a note does not fit.
const MinMaxBytes = 600

// RuleError says which key of a rule cannot be used, and why.
type RuleError struct {
	Key    string // as in a rules file: "keep"
	Offset int    // in bytes into the expression, or -1
	Msg    string
}

func (e *RuleError) Error() string { return e.Key + ": " + e.Msg }
