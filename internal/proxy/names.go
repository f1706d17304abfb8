package proxy

import (
	"crypto/sha256"
	"encoding/hex"
)

// maxName is the longest name of a tool that every client takes (RED-41).
const maxName = 64

// LegalName reports whether every client takes name as a tool's name: one to 64
// characters from A-Z, a-z, 0-9, _ and - (RED-41).
func LegalName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for i := range len(name) {
		if !nameByte(name[i]) {
			return false
		}
	}
	return true
}

// ToolName returns the legal name that stands for prefix and name, joined by an
// underscore where there is a prefix. A name that is legal as it is stays. Any
// other has its illegal characters replaced, is shortened, and ends in eight hex
// digits of a hash of the whole, so that it is distinct from its like and the
// same every time (K44).
func ToolName(prefix, name string) string {
	whole := name
	if prefix != "" {
		whole = prefix + "_" + name
	}
	if LegalName(whole) {
		return whole
	}
	sum := sha256.Sum256([]byte(whole))
	suffix := "_" + hex.EncodeToString(sum[:4])
	short := []byte(whole)
	short = short[:min(len(short), maxName-len(suffix))]
	for i, c := range short {
		if !nameByte(c) {
			short[i] = '_'
		}
	}
	return string(short) + suffix
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
