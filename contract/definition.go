package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Definition is a checked, immutable Spec: what Client.Do takes, whether it
// was written in Go or in operations.yaml.
type Definition struct {
	spec         Spec
	major, minor int
	digest       string
	described    []byte
	params       *schema
	result       *schema
	read         *readPlan
}

// DefinitionError says what is wrong with a Spec.
type DefinitionError struct {
	Operation string
	Field     string // a path of field names, "Read.Where", "Mutation.Steps[1].Submit"
	Offset    int    // in an expression, in bytes; else 0
	Msg       string
	Err       error
}

func (e *DefinitionError) Error() string {
	s := fmt.Sprintf("operation %q: %s: %s", e.Operation, e.Field, e.Msg)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns ErrInvalid and the cause.
func (e *DefinitionError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrInvalid}
	}
	return []error{ErrInvalid, e.Err}
}

// Name returns the name without the version.
func (d *Definition) Name() string { return d.spec.Name }

// Version returns "major.minor".
func (d *Definition) Version() string { return d.spec.Version }

// Major returns the major version: the one that binds keys and continuations.
func (d *Definition) Major() int { return d.major }

// ID returns "name@major.minor".
func (d *Definition) ID() string { return d.spec.Name + "@" + d.spec.Version }

// Digest returns the hex SHA-256 of Describe and of the Source.
func (d *Definition) Digest() string { return d.digest }

// Spec returns what Define was given, with defaults filled in. Its slices and
// maps must not be changed.
func (d *Definition) Spec() Spec { return d.spec }

// IsRead reports whether the operation is a read.
func (d *Definition) IsRead() bool { return d.spec.Read != nil }

// Replay says what a repetition of an unknown mutation meets (C-17): "safe"
// where each of its steps can be answered for, by the upstream's key within a
// stated retention or by a declared reconcile; else "unsafe". Of a read it is
// "safe".
func (d *Definition) Replay() string {
	if d.IsRead() {
		return "safe"
	}
	for i := range d.spec.Mutation.Steps {
		s := &d.spec.Mutation.Steps[i]
		if s.Reconcile == nil && !(d.idempotency(s) == ByKey && d.keyRetention(s) != 0) {
			return "unsafe"
		}
	}
	return "safe"
}

// Reconciles says "declared" where every step has a reconcile, "some" where
// one has, else "none"; of a read "none".
func (d *Definition) Reconciles() string {
	if d.IsRead() {
		return "none"
	}
	n := 0
	for i := range d.spec.Mutation.Steps {
		if d.spec.Mutation.Steps[i].Reconcile != nil {
			n++
		}
	}
	switch n {
	case 0:
		return "none"
	case len(d.spec.Mutation.Steps):
		return "declared"
	}
	return "some"
}

// Describe returns the whole definition as JSON: all that is data, and of
// functions whether they are there.
func (d *Definition) Describe() []byte { return d.described }

func (d *Definition) effect(s *Step) Effects {
	if s.Effect != "" {
		return s.Effect
	}
	return d.spec.Effects
}

func (d *Definition) idempotency(s *Step) Idempotency {
	if s.Idempotent != "" {
		return s.Idempotent
	}
	return d.spec.Idempotent
}

func (d *Definition) keyRetention(s *Step) time.Duration {
	if s.Retention != 0 {
		return s.Retention
	}
	return d.spec.KeyRetention
}

var (
	nameForm    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	versionForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$`)
)

// Define checks a Spec: names, bounds, schemas, expressions, and what is there
// for what the operation says it does. The error is a *DefinitionError.
func Define(spec Spec) (*Definition, error) {
	d := &Definition{spec: spec}
	if err := d.check(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Definition) fault(field, format string, args ...any) error {
	return &DefinitionError{Operation: d.spec.Name, Field: field, Msg: fmt.Sprintf(format, args...)}
}

func (d *Definition) check() error {
	s := &d.spec
	if !nameForm.MatchString(s.Name) {
		return d.fault("Name", "%q is no name: a letter, then up to 63 letters, digits, _ and -", s.Name)
	}
	m := versionForm.FindStringSubmatch(s.Version)
	if m == nil {
		return d.fault("Version", "%q is no version: want major.minor", s.Version)
	}
	d.major, _ = strconv.Atoi(m[1])
	d.minor, _ = strconv.Atoi(m[2])
	if strings.TrimSpace(s.Scope) == "" {
		return d.fault("Scope", "missing: say in words what the operation covers")
	}
	if s.Bounds.MaxPages < 0 || s.Bounds.MaxRecords < 0 || s.Bounds.MaxResultBytes < 0 || s.Bounds.Deadline < 0 {
		return d.fault("Bounds", "negative; 0 means the default")
	}
	if s.Retry.Max < 0 || s.Retry.Max > 100 || s.Retry.Backoff < 0 {
		return d.fault("Retry", "max must be 0 to 100, and backoff not negative")
	}
	setDefault(&s.Bounds.MaxPages, 100)
	setDefault(&s.Bounds.MaxRecords, 100_000)
	setDefault(&s.Bounds.MaxResultBytes, 1<<20)
	setDefault(&s.Bounds.Deadline, time.Minute)
	if s.Params == nil {
		s.Params = json.RawMessage(`{"type":"object","additionalProperties":false}`)
	}
	var err error
	if d.params, err = compileSchema(s.Params); err != nil {
		return &DefinitionError{Operation: s.Name, Field: "Params", Msg: "not a JSON Schema", Err: err}
	}
	if s.Result != nil {
		if d.result, err = compileSchema(s.Result); err != nil {
			return &DefinitionError{Operation: s.Name, Field: "Result", Msg: "not a JSON Schema", Err: err}
		}
	}
	switch s.Effects {
	case Reads:
		setDefault(&s.Idempotent, Natural)
		if s.Read == nil || s.Mutation != nil {
			return d.fault("Read", "an operation with effects read has Read and no Mutation")
		}
		err = d.checkRead()
	case Creates, Updates, Deletes:
		setDefault(&s.Idempotent, NotIdempotent)
		if s.Mutation == nil || s.Read != nil {
			return d.fault("Mutation", "an operation with effects %s has Mutation and no Read", s.Effects)
		}
		err = d.checkMutation()
	default:
		return d.fault("Effects", "%q; want read, create, update or delete", s.Effects)
	}
	if err != nil {
		return err
	}
	d.described = d.describe()
	h := sha256.New()
	h.Write(d.described)
	h.Write([]byte{0})
	h.Write(s.Source)
	d.digest = hex.EncodeToString(h.Sum(nil))
	return nil
}

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

func (d *Definition) checkMutation() error {
	s := &d.spec
	copied := *s.Mutation
	copied.Steps = append([]Step(nil), copied.Steps...)
	s.Mutation = &copied
	if len(copied.Steps) == 0 {
		return d.fault("Mutation.Steps", "none; a mutation has at least one step")
	}
	if copied.Settle < 0 || copied.Retention < 0 {
		return d.fault("Mutation", "negative duration")
	}
	setDefault(&s.Mutation.Retention, 30*24*time.Hour)
	if p := copied.Precondition; p != nil && p.Current == nil && !p.Enforced {
		return d.fault("Mutation.Precondition", "neither a read of the current revision nor enforced by the upstream: it would check nothing")
	}
	seen := map[string]bool{}
	for i := range copied.Steps {
		st := &copied.Steps[i]
		field := fmt.Sprintf("Mutation.Steps[%d]", i)
		if st.Name == "" && len(copied.Steps) == 1 {
			st.Name = "submit"
		}
		if !nameForm.MatchString(st.Name) {
			return d.fault(field+".Name", "%q is no name", st.Name)
		}
		if seen[st.Name] {
			return d.fault(field+".Name", "%q is there twice", st.Name)
		}
		seen[st.Name] = true
		if st.Submit == nil {
			return d.fault(field+".Submit", "missing")
		}
		if st.Effect == Reads {
			return d.fault(field+".Effect", "read; a step has an effect")
		}
		switch d.idempotency(st) {
		case ByKey:
			if st.Key == "" && st.KeyName == "" {
				st.Key, st.KeyName = KeyInHeader, "Idempotency-Key"
			}
			if st.Key == KeyInNothing {
				return d.fault(field+".Key", "the upstream is idempotent by key, and the key travels nowhere")
			}
		case Natural, NotIdempotent:
			setDefault(&st.Key, KeyInNothing)
		default:
			return d.fault(field+".Idempotent", "%q; want natural, key or none", d.idempotency(st))
		}
		switch st.Key {
		case KeyInNothing, KeyInArgument, KeyInHeader, KeyInMeta:
		default:
			return d.fault(field+".Key", "%q; want argument, header, _meta or none", st.Key)
		}
	}
	return nil
}
