// Package schemadoc reads JSON Schemas as jsontape values: which keywords hold
// schemas, and where a local $ref leads. It reads draft-07 and 2020-12 alike,
// fetches nothing, and judges nothing.
package schemadoc

import "github.com/spillway-mcp/spillway/internal/jsontape"

// Class says what the value of a keyword is made of.
type Class uint8

const (
	// Plain is no schema: an assertion's value, an annotation, the unknown.
	Plain Class = iota
	// One is a schema.
	One
	// List is an array of schemas.
	List
	// OneOrList is a schema or an array of them (items of draft-07).
	OneOrList
	// Map is an object whose members are schemas (dependencies may also
	// hold arrays of names).
	Map
)

var classes = map[string]Class{
	"additionalProperties":  One,
	"additionalItems":       One,
	"unevaluatedProperties": One,
	"unevaluatedItems":      One,
	"contains":              One,
	"propertyNames":         One,
	"not":                   One,
	"if":                    One,
	"then":                  One,
	"else":                  One,
	"contentSchema":         One,
	"items":                 OneOrList,
	"allOf":                 List,
	"anyOf":                 List,
	"oneOf":                 List,
	"prefixItems":           List,
	"properties":            Map,
	"patternProperties":     Map,
	"$defs":                 Map,
	"definitions":           Map,
	"dependentSchemas":      Map,
	"dependencies":          Map,
}

// ClassOf returns the class of a keyword's value.
func ClassOf(keyword string) Class { return classes[keyword] }

// IsSchema reports whether v can be a schema: an object or a boolean.
func IsSchema(v jsontape.Value) bool {
	switch v.Kind() {
	case jsontape.Object, jsontape.True, jsontape.False:
		return true
	}
	return false
}

// EmbeddedID reports whether v, not being the root, starts a resource of its
// own: an $id that is more than an anchor of draft-07. References inside it
// are relative to it.
func EmbeddedID(v jsontape.Value) bool {
	id := v.Get("$id")
	if id.Kind() != jsontape.String {
		return false
	}
	s := id.Str()
	return s != "" && s[0] != '#'
}
