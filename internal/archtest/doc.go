// Package archtest holds the repository to its own rules: which package may
// import which, what the pure packages may not touch, that each package says
// what it is, and a few habits of the source. It has tests only.
package archtest
