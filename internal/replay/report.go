package replay

// Report is what replaying sessions came to. Its fields are a promise, see
// docs/json.md. The same sessions, rules and estimator give the same bytes.
type Report struct {
	Version   int      `json:"version"` // 1
	Estimator string   `json:"estimator"`
	Sessions  int      `json:"sessions"`
	Rules     Side     `json:"rules"`   // under the rules that are judged
	Against   *Side    `json:"against"` // under those that they are compared with; null without
	Changes   []Change `json:"changes"` // by tool, between the two
}

// Side is what one rule set makes of the sessions.
type Side struct {
	File       string    `json:"file"` // "" of built-in rules
	Digest     string    `json:"digest"`
	All        Figures   `json:"all"`         // of results
	PerSession Figures   `json:"per_session"` // of sessions, each the sum of its results
	Tools      []Tool    `json:"tools"`
	PerFile    []Session `json:"per_file"` // in the order given
	PerRule    []Rule    `json:"per_rule"` // every rule of the file, in its order, then those that came in without being written
	Evidence   Tally     `json:"evidence"`
	Missed     []Miss    `json:"missed"`
	Checks     []Check   `json:"checks"`
}

// Figures are distributions over results, or over sessions.
type Figures struct {
	Results int  `json:"results"` // results, or sessions
	Changed int  `json:"changed"` // of which something was cut, or that were confirmed
	Text    View `json:"text"`
	// Structured is the same for a host that shows structuredContent, and the
	// text where there is none.
	Structured View `json:"structured"`
}

// View is what one kind of host shows.
type View struct {
	BytesBefore  Spread   `json:"bytes_before"`
	BytesAfter   Spread   `json:"bytes_after"`
	TokensBefore Spread   `json:"tokens_before"`
	TokensAfter  Spread   `json:"tokens_after"`
	Saved        Fraction `json:"saved"` // of the bytes
}

// Spread is a sum and its distribution, by nearest rank; the worst is the
// largest.
type Spread struct {
	Total  int64 `json:"total"`
	Median int64 `json:"median"`
	P90    int64 `json:"p90"`
	Worst  int64 `json:"worst"`
}

// Fraction is what was saved of each, six digits, rounded down; the worst is the
// least. Null where there was nothing to save.
type Fraction struct {
	Median *float64 `json:"median"`
	P90    *float64 `json:"p90"`
	Worst  *float64 `json:"worst"`
}

// Tool is the figures of one tool.
type Tool struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Figures
	Evidence Tally `json:"evidence"`
}

// Session is one recording.
type Session struct {
	File    string `json:"file"` // the last element of its path
	Server  string `json:"server"`
	Started string `json:"started"`
	Results int    `json:"results"`
	Changed int    `json:"changed"`
	Dropped int    `json:"dropped"` // results that were not kept, so that nothing can be said of them
	Errors  int    `json:"errors"`  // calls without a result to reduce: failed, refused, stopped
	Torn    bool   `json:"torn"`    // the recording ends within a line
	Skipped int    `json:"skipped"` // lines that could not be read

	BytesBefore            int64 `json:"bytes_before"` // text
	BytesAfter             int64 `json:"bytes_after"`
	TokensBefore           int64 `json:"tokens_before"`
	TokensAfter            int64 `json:"tokens_after"`
	StructuredBytesBefore  int64 `json:"structured_bytes_before"`
	StructuredBytesAfter   int64 `json:"structured_bytes_after"`
	StructuredTokensBefore int64 `json:"structured_tokens_before"`
	StructuredTokensAfter  int64 `json:"structured_tokens_after"`

	Evidence Tally `json:"evidence"`
}

// Rule is what one rule did.
type Rule struct {
	Rule     string        `json:"rule"` // SERVER.TOOL, "SERVER.default" or "default"
	When     string        `json:"when"` // its condition; "" without
	Digest   string        `json:"digest"`
	Results  int           `json:"results"` // that it applied to; 0: it never fired
	Changed  int           `json:"changed"` // of these, that it changed
	Evidence Tally         `json:"evidence"`
	Fields   []MissedField `json:"fields"` // what it took away that was needed
}

// MissedField is a field that later calls or the answer needed and that a rule
// did not show.
type MissedField struct {
	Field      string `json:"field"` // a path in the original, as items[*].sha, or "text"
	Missed     int    `json:"missed"`
	Expandable int    `json:"expandable"` // of these, that one expand would have brought back
}

// Tally counts evidence: values that a session used and that an earlier result
// held.
type Tally struct {
	Needed     int `json:"needed"`
	Shown      int `json:"shown"`
	Expandable int `json:"expandable"` // not shown, one expand away
	Lost       int `json:"lost"`       // neither
	// Survival is Shown over Needed, six digits, rounded down; null where
	// nothing was needed.
	Survival *float64 `json:"survival"`
}

// Miss is one value that was needed and not shown.
type Miss struct {
	Session string `json:"session"` // as Session.File
	Rule    string `json:"rule"`    // that took it away
	When    string `json:"when"`
	Server  string `json:"server"` // the result that held it
	Tool    string `json:"tool"`
	Call    int    `json:"call"`  // which call of the session, from 1
	Field   string `json:"field"` // where in it
	Row     int    `json:"row"`   // from 1; 0 where it stands in no row
	NeededBy
	Expand string `json:"expand"` // "whole", "fields", "rows" or "lines": what one expand would have had to ask for; "" none
	Value  string `json:"value"`  // the value; "" unless asked for, as recordings may be private
}

// NeededBy is what used a value.
type NeededBy struct {
	By       string `json:"by"`       // "argument", "answer" or "expect"
	ByCall   int    `json:"by_call"`  // of an argument: the call, from 1
	ByTool   string `json:"by_tool"`  // of an argument
	Argument string `json:"argument"` // its path, or the name of the check
}

// Check is a declared check.
type Check struct {
	Session string `json:"session"`
	Kind    string `json:"kind"` // "expect" or "expect_state"
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Why     string `json:"why"` // where it is not
}

// Change is what became of one tool between two rule sets.
type Change struct {
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	Results int    `json:"results"`
	Differ  int    `json:"differ"` // results that are shown differently

	BytesAgainst  int64 `json:"bytes_against"` // text, after the older rules
	BytesRules    int64 `json:"bytes_rules"`   // text, after those that are judged
	TokensAgainst int64 `json:"tokens_against"`
	TokensRules   int64 `json:"tokens_rules"`

	NewlyMissed []string `json:"newly_missed"` // fields that were needed and shown, and no longer are
	NewlyShown  []string `json:"newly_shown"`
}
