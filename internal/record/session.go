package record

// Session is a recorded session. Its events stand in the order in which they
// ended.
type Session struct {
	Path     string // as given to Load
	Header   Header
	Events   []Event
	Torn     bool // the file ends within a line: the process was killed, or the disk was full
	Skipped  int  // lines that could not be read
	Declared Declared
}

// Declared is what a person, or the program that made a recording, has said of
// the session: what it was for and what it came to. It stands in a file beside
// the recording whose name ends in .expect.yaml or .expect.json in place of
// .jsonl.zst or .jsonl.
type Declared struct {
	// Task is what the model was asked. What it names was known without any
	// result.
	Task string
	// FinalAnswer is what the session came to, as one text or as a list of
	// strings, each of which is then evidence as a whole.
	FinalAnswer []string
	// Listed reports that FinalAnswer was given as a list.
	Listed      bool
	Expect      []Expect
	ExpectState []ExpectState
}

// Expect is a check of results or of the final answer. One of Tool and Answer
// is set.
type Expect struct {
	Name string // for reports; by default the query
	// Tool names a tool, as TOOL or SERVER/TOOL. Query is then evaluated over
	// the original payload of each of its calls, or of the Call-th one, from 1.
	// true is a check that holds; other values are evidence, each string and
	// number of which has to be in what the rules show.
	Tool  string
	Call  int
	Query string
	// Answer is evaluated over the final answer: over its value where it is
	// JSON, else over its text. It has to give something that is true.
	Answer string
}

// ExpectState is a check of a read that was recorded at the end of a session
// under a name (Event.State): Query over its payload has to give something that
// is true, or with Equals that JSON value.
type ExpectState struct {
	Name   string
	Query  string
	Equals string // compact JSON; ""
}
