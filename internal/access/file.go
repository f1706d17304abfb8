package access

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is how tokens are written down.
type file struct {
	Version int     `json:"version"`
	Tokens  []entry `json:"tokens"`
}

type entry struct {
	Name    string    `json:"name"`
	Hash    string    `json:"hash"` // "sha256:" and 64 hex digits
	Created time.Time `json:"created"`
}

const (
	version    = 1
	hashPrefix = "sha256:"
	maxFile    = 16 << 20
)

// load reads the file. One that is not there is empty; what info tells of it is
// nil then.
func load(path string) (tokens []Token, info fs.FileInfo, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, nil, err
	}
	if err := ownerOnly(path, info); err != nil {
		return nil, nil, err
	}
	if info.Size() > maxFile {
		return nil, nil, fmt.Errorf("%s has %d bytes, over the limit of %d", path, info.Size(), maxFile)
	}
	data := make([]byte, info.Size())
	if n, err := f.ReadAt(data, 0); n < len(data) {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	tokens, err = parse(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return tokens, info, nil
}

// parse reads what [format] writes. Its errors hold nothing of the hashes.
func parse(data []byte) ([]Token, error) {
	var f file
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, errors.New("is no file of tokens, or was written by a newer version")
	}
	if f.Version != version {
		return nil, fmt.Errorf("has version %d, want %d", f.Version, version)
	}
	var tokens []Token
	for _, e := range f.Tokens {
		if err := CheckName(e.Name); err != nil {
			return nil, err
		}
		t := Token{Name: e.Name, Created: e.Created}
		digits, ok := strings.CutPrefix(e.Hash, hashPrefix)
		raw, err := hex.DecodeString(digits)
		if !ok || err != nil || len(raw) != len(t.hash) {
			return nil, fmt.Errorf("the hash of token %q is not sha256: and 64 hex digits", e.Name)
		}
		copy(t.hash[:], raw)
		if slices.ContainsFunc(tokens, func(o Token) bool { return o.Name == t.Name }) {
			return nil, fmt.Errorf("the token %q is there twice", e.Name)
		}
		tokens = append(tokens, t)
	}
	slices.SortFunc(tokens, func(a, b Token) int { return cmp.Compare(a.Name, b.Name) })
	return tokens, nil
}

func format(tokens []Token) []byte {
	f := file{Version: version, Tokens: []entry{}}
	for _, t := range tokens {
		f.Tokens = append(f.Tokens, entry{t.Name, hashPrefix + hex.EncodeToString(t.hash[:]), t.Created})
	}
	data, _ := json.MarshalIndent(f, "", "  ")
	return append(data, '\n')
}

// replace puts data in the place of the file, so that a reader sees the old or
// the new one whole, also after a crash.
func replace(path string, data []byte) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(path), ".tokens-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	if _, err = temp.Write(data); err != nil {
		return err
	}
	if err = temp.Sync(); err != nil {
		return err
	}
	if err = temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

const (
	lockWait  = 5 * time.Second
	lockStale = 30 * time.Second // a change takes milliseconds
)

// lock keeps other processes from changing the file until unlock is called.
func lock(path string) (unlock func(), err error) {
	name := path + ".lock"
	for deadline := time.Now().Add(lockWait); ; {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			_ = f.Close()
			return func() { _ = os.Remove(name) }, nil
		}
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > lockStale {
			_ = os.Remove(name)
			continue
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s is locked by another process (or could not be made): remove it if none is at work", name)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
