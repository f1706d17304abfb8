package record

import (
	"bytes"
	"regexp"
)

// secretNames are the members whose strings are never recorded, whatever the
// configuration says. Names are compared without case, "-" and "_".
var secretNames = map[string]bool{
	"password": true, "passwd": true, "passphrase": true, "secret": true, "clientsecret": true,
	"apikey": true, "authorization": true, "accesstoken": true, "refreshtoken": true, "idtoken": true, "authtoken": true,
	"privatekey": true, "secretkey": true, "secretaccesskey": true, "credential": true, "credentials": true,
	"cookie": true, "setcookie": true, "bearer": true, "sessiontoken": true,
}

func isSecretName(name []byte) bool {
	if len(name) > 24 {
		return false
	}
	var b [24]byte
	n := 0
	for _, c := range name {
		switch {
		case c == '-' || c == '_':
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		b[n] = c
		n++
	}
	return secretNames[string(b[:n])]
}

// form is a credential that can be told by its form: a literal that all of its
// kind have, and what has to follow it.
type form struct {
	literal string
	back    int // bytes before the literal that belong to it
	rest    *regexp.Regexp
}

// forms are looked for in every text. Literals are found fast; an expression
// over the whole text would take most of the time of a recording.
var forms = func() (all []form) {
	add := func(rest string, back int, literals ...string) {
		for _, literal := range literals {
			all = append(all, form{literal, back, regexp.MustCompile("^(?:" + rest + ")")})
		}
	}
	add(`\s+[A-Za-z0-9._~+/=-]{16,}`, 1, "earer", "EARER")
	add(`\s+[A-Za-z0-9+/=]{16,}`, 1, "asic", "ASIC")
	add(`[A-Za-z0-9]{20,}`, 0, "ghp_", "gho_", "ghu_", "ghs_", "ghr_")
	add(`[A-Za-z0-9_]{20,}`, 0, "github_pat_")
	add(`[A-Za-z0-9_-]{16,}`, 0, "glpat-")
	add(`[abeoprs]-[A-Za-z0-9-]{10,}`, 0, "xox")
	add(`[A-Za-z0-9_-]{20,}`, 0, "sk-")
	add(`[0-9A-Z]{16}`, 0, "AKIA")
	add(`[A-Za-z0-9_-]{30,}`, 0, "AIza")
	add(`[A-Za-z0-9_-]{5,}\.eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*`, 0, "eyJ")
	add(`[A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)`, 0, "-----BEGIN ")
	add(`[^/\s:@"]+:[^@\s/"]+@`, 0, "://")
	// In the query of a URL, as of one that is signed.
	add(`[A-Za-z0-9._~%+/=-]{16,}`, 0, "token=", "oken%3D", "api_key=", "apikey=", "ignature=", "sig=", "secret=", "password=")
	return all
}()

// within returns the forms whose literals stand somewhere in a document: for
// most there is then nothing to look for in each of its strings.
func within(src []byte) (all []form) {
	if bytes.Contains(src, []byte(`\u00`)) || bytes.Contains(src, []byte(`:\/`)) {
		return forms // a literal may be written in escapes
	}
	for _, f := range forms {
		if bytes.Contains(src, []byte(f.literal)) {
			all = append(all, f)
		}
	}
	return all
}

// secrets calls found for each credential in a text that is of one of the forms.
func secrets(text []byte, of []form, found func(from, to int)) {
	for _, f := range of {
		for at := 0; ; {
			i := bytes.Index(text[at:], []byte(f.literal))
			if i < 0 {
				break
			}
			from := at + i
			at = from + len(f.literal)
			if m := f.rest.FindIndex(text[at:]); m != nil && from >= f.back {
				found(from-f.back, at+m[1])
				at += m[1]
			}
		}
	}
}
