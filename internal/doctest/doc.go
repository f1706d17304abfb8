// Package doctest runs the examples of docs/ and holds the pages to what comes
// out. It has tests only; the pages are written anew with
//
//	go test ./internal/doctest -update
//
// What a fence is for stands in its info string, behind the language, where a
// reader of the rendered page does not see it:
//
//	yaml rules                 a rules file, in force until the next one
//	json sends                 a payload: structuredContent, and text that mirrors it
//	json sends text            a payload: text alone
//	text sends                 a text, also in structuredContent with "mirrored"
//	json sends result          a whole CallToolResult
//	json reads SERVER TOOL     what the model reads of the last thing sent
//	text lists SERVER          names and descriptions in tools/list of the demo server
//	text calls SERVER TOOL     the text that a call is answered with
//	console                    commands behind "$ ", and what they print
//
// Behind SERVER TOOL may stand schema (the tool has an output schema) and, to
// the end of the line, args and the arguments of the call as JSON. A ref in
// arguments or commands that no example has printed becomes the last one that was. Long inputs
// are abbreviated as a person would: see expandJSON and expandText. What the
// model reads is shown in lines, see legible.
package doctest
