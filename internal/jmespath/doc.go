// Package jmespath compiles JMESPath expressions and evaluates them over a
// jsontape, with the same bytes out for the same bytes in: numbers keep their
// digits, members their order, and nothing goes through a map's iteration.
//
// It owns the language: the official specification and the community edition
// (let, ternary, arithmetic, $, string functions, group_by, ...), as both
// compliance suites have it; of the one case where they differ, the raw string
// '\\', it takes the official side. It does not read JSON or compare numbers;
// jsontape does.
//
// Start with [Compile], then [Expr.AppendJSON], or [Expr.Search] to look at a
// result before it is written.
//
// # Where the specification leaves room
//
//   - Members stand in the document's order. Of duplicate keys a lookup sees
//     the last; keys(), values(), items(), merge(), length() and * see one
//     member, at the place of the first and with the value of the last. An
//     object that passes through whole keeps its bytes, duplicates and all.
//   - A number that passes through keeps its digits. +, -, *, sum(), abs(),
//     ceil() and floor() are exact. / and avg() are exact where the quotient
//     is a finite decimal of at most 34 digits, else the nearest float64
//     in its shortest form. // rounds down, and % has the sign of its divisor.
//     A result of more than 1,000 digits is an error, not a wait.
//   - == compares exact decimals: 1 and 1.0 are equal. <, <=, > and >= order
//     two numbers, or two strings by code points; of anything else they are
//     null.
//   - ! takes the whole path after it: !a.b is !(a.b).
//   - A multi-select right after a projection ends it, as in every engine:
//     a[*].{n: b}[0] is the first row, and a[*].{n: b}.n is null.
//   - Unknown functions, wrong counts of arguments, undefined variables and
//     slices with a step of 0 are errors of Compile, wherever they stand.
//   - length(), reverse(), slices and the string functions count code points;
//     a lone surrogate escape is one, and so is each byte that is not UTF-8.
//
// # Limits
//
// An expression nests up to 1,000 levels, in brackets as in chains such as
// a|a|a. One evaluation takes up to four million steps and 64 more for each
// token of the document, and makes up to 32 MiB of JSON and four times the
// document, 256 MiB at most; what goes over is an error with [CodeLimit]. The
// limits count work, not time: they strike in the same place on any machine.
package jmespath
