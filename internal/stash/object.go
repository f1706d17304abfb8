package stash

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	objectSuffix = ".zst"
	tempPrefix   = "tmp-"
)

// hash is SHA-256 of an original's bytes, the name of its object. It is not
// the canonical hash of its ref: two originals that differ in _meta alone have
// one ref and two objects, so that no caller reads another one's _meta.
type hash [sha256.Size]byte

func (h hash) file() string { return hex.EncodeToString(h[:]) + objectSuffix }

// hashOfFile is the reverse of file.
func hashOfFile(name string) (h hash, ok bool) {
	digits, ok := strings.CutSuffix(name, objectSuffix)
	if !ok || len(digits) != 2*len(h) {
		return h, false
	}
	_, err := hex.Decode(h[:], []byte(digits))
	return h, err == nil
}

func (s *Store) path(h hash) string { return filepath.Join(s.objects(), h.file()) }

// packed is an original ready to be kept: compressed, in memory or in a
// temporary file.
type packed struct {
	hash   hash
	size   int64 // of the original
	stored int64
	buf    *[]byte // compressed bytes; nil once they are in a file
	temp   string  // path of the temporary file; "" once it is in place
}

// pack compresses original and, if it is to be a file, writes that under a
// temporary name. The caller must call discard.
func (s *Store) pack(original []byte) (*packed, error) {
	p := &packed{size: int64(len(original))}
	if len(original) < 64_000 {
		p.hash = sha256.Sum256(original)
		p.buf = compress(original)
	} else { // both take a millisecond or so for each megabyte
		sum := make(chan hash, 1)
		go func() { sum <- sha256.Sum256(original) }()
		p.buf = compress(original)
		p.hash = <-sum
	}
	p.stored = int64(len(*p.buf))
	if limit := min(s.max, s.perOne); p.stored > limit {
		p.discard()
		return nil, fmt.Errorf("stash: %w: %d bytes, %d as stored; the quota is %d", ErrTooLarge, len(original), p.stored, limit)
	}
	if p.stored <= fileThreshold {
		return p, nil
	}
	f, err := os.CreateTemp(s.objects(), tempPrefix) // mode 0600
	if errors.Is(err, fs.ErrNotExist) {              // the directory was removed while we ran
		if err = s.makeDirs(); err == nil {
			f, err = os.CreateTemp(s.objects(), tempPrefix)
		}
	}
	if err == nil {
		p.temp = f.Name()
		_, err = f.Write(*p.buf)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		p.discard()
		return nil, fmt.Errorf("stash: %w", err)
	}
	putBuffer(p.buf)
	p.buf = nil
	return p, nil
}

// discard removes what was not put in place.
func (p *packed) discard() {
	if p.buf != nil {
		putBuffer(p.buf)
		p.buf = nil
	}
	if p.temp != "" {
		os.Remove(p.temp)
		p.temp = ""
	}
}

// intact reports whether a kept object can be counted on: not known to be
// damaged and, if it is a file, there in its full length.
func (s *Store) intact(h hash, o *object) bool {
	if o.bad || !o.file {
		return !o.bad
	}
	fi, err := os.Stat(s.path(h))
	return err == nil && fi.Mode().IsRegular() && fi.Size() == o.stored
}

// object is a row of objects.
type object struct {
	id     int64
	stored int64
	file   bool
	bad    bool
}

// keep makes p an object: a file is renamed into place within
// the transaction, so that whoever deletes files under the same lock sees both
// or neither.
func (s *Store) keep(t *tx, p *packed) (id int64, err error) {
	var data any
	if p.temp != "" {
		if err := os.Rename(p.temp, s.path(p.hash)); err != nil {
			return 0, fmt.Errorf("stash: %w", err)
		}
		p.temp = ""
	} else {
		data = *p.buf
	}
	return t.count("INSERT INTO objects (hash, size, stored, data) VALUES (?, ?, ?, ?) RETURNING id", p.hash[:], p.size, p.stored, data)
}

// sweep deletes up to n files whose objects are gone and reports how many
// there were. A file that cannot be deleted (Windows: it is being read) stays
// on the list.
func (s *Store) sweep(t *tx, n int) (gone int, err error) {
	hashes, err := t.hashes("SELECT hash FROM doomed LIMIT ?", n)
	if err != nil {
		return 0, err
	}
	for _, h := range hashes {
		if err := os.Remove(s.path(h)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("stash file cannot be deleted; it will be tried again", "err", err)
			continue
		}
		if err := t.exec("DELETE FROM doomed WHERE hash = ?", h[:]); err != nil {
			return gone, err
		}
		gone++
	}
	return gone, nil
}
