package access

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-mcp/spillway/internal/httpmcp"
)

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func caller(s *Store, authorization ...string) (string, error) {
	return s.Authenticate(&http.Request{Header: http.Header{"Authorization": authorization}})
}

func TestRED23_ATokenIsAPrincipalAndNeverStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "tokens.json")
	s := open(t, path)
	secret, err := s.Add("ci")
	if err != nil {
		t.Fatal(err)
	}
	if len(secret) != len(prefix)+43 || !strings.HasPrefix(secret, prefix) {
		t.Errorf("the token has %d characters", len(secret))
	}
	if got, err := caller(s, "Bearer "+secret); got != "token:ci" || err != nil {
		t.Error(got, err)
	}
	if got, err := caller(s, "bearer  "+secret); got != "token:ci" || err != nil {
		t.Error(got, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), secret[len(prefix):]) || !strings.Contains(string(data), `"hash": "sha256:`) {
		t.Errorf("%s", data)
	}
	if info, _ := os.Stat(path); runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Error(info.Mode())
	}
	again, err := s.Add("zz")
	if err != nil || again == secret {
		t.Error(err)
	}
	if tokens, err := s.List(); err != nil || len(tokens) != 2 || tokens[0].Name != "ci" || tokens[0].Created.IsZero() {
		t.Error(tokens, err)
	}
}

func TestDenied(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "tokens.json"))
	secret, _ := s.Add("ci")
	for _, c := range [][]string{
		nil, {""}, {"Bearer"}, {"Bearer "}, {"Basic " + secret}, {secret}, {"Bearer " + secret + "x"}, {"Bearer " + secret[:len(secret)-1]},
		{"Bearer " + secret, "Bearer " + secret}, {"Bearer " + strings.ToUpper(secret)},
	} {
		got, err := caller(s, c...)
		var d *httpmcp.Denied
		if got != "" || !errors.As(err, &d) || d.Status != 401 || !strings.HasPrefix(d.Challenge, "Bearer") || strings.Contains(err.Error()+d.Challenge, secret[:20]) {
			t.Errorf("%.12q: %q %v", c, got, err)
		}
	}
	var none *Store = open(t, filepath.Join(t.TempDir(), "tokens.json"))
	if got, err := caller(none, "Bearer "); err == nil {
		t.Error(got)
	}
}

// What one process changes another that serves notices.
func TestChangesAreNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	serving, admin := open(t, path), open(t, path)
	now := time.Now()
	serving.now = func() time.Time { return now }
	secret, err := admin.Add("ci")
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(checkEvery)
	if got, err := caller(serving, "Bearer "+secret); got != "token:ci" {
		t.Error(got, err)
	}
	if err := admin.Revoke("ci"); err != nil {
		t.Fatal(err)
	}
	now = now.Add(checkEvery)
	if got, err := caller(serving, "Bearer "+secret); err == nil {
		t.Error("still known:", got)
	}
	if err := admin.Revoke("ci"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	renewed, err := admin.Add("ci")
	if err != nil || renewed == secret {
		t.Error(err)
	}
	if _, err := admin.Add("ci"); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	now = now.Add(checkEvery)
	if got, _ := caller(serving, "Bearer "+renewed); got != "token:ci" {
		t.Error(got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	now = now.Add(checkEvery)
	if got, err := caller(serving, "Bearer "+renewed); err == nil {
		t.Error("without the file still known:", got)
	}
}

func TestABrokenFileLeavesTheLastGoodTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	s := open(t, path)
	var log bytes.Buffer
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	now := time.Now()
	s.now = func() time.Time { return now }
	secret, _ := s.Add("ci")
	if err := os.WriteFile(path, []byte(`{"version":1,"tokens":[{"name":"x","hash":"`+secret+`"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		now = now.Add(checkEvery)
		if got, err := caller(s, "Bearer "+secret); got != "token:ci" {
			t.Error(got, err)
		}
	}
	if n := strings.Count(log.String(), "tokens not reloaded"); n != 1 || strings.Contains(log.String(), secret) {
		t.Error(log.String())
	}
	if _, err := s.List(); err == nil || strings.Contains(err.Error(), secret) {
		t.Error(err)
	}
	if _, err := s.Add("b"); err == nil {
		t.Error("a file that cannot be read was replaced")
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	hash := "sha256:" + strings.Repeat("ab", 32)
	for text, want := range map[string]string{
		"":                                "no file of tokens",
		"{}":                              "has version 0",
		`{"version":2,"tokens":[]}`:       "has version 2",
		`{"version":1,"tokens":null}`:     "",
		`{"version":1,"tokens":[],"x":1}`: "newer version",
		`{"version":1,"tokens":[{"name":"a b","hash":"` + hash + `"}]}`:                                  "letters, digits",
		`{"version":1,"tokens":[{"name":"a","hash":"` + hash[:70] + `"}]}`:                               "64 hex digits",
		`{"version":1,"tokens":[{"name":"a","hash":"md5:` + hash[7:] + `"}]}`:                            "64 hex digits",
		`{"version":1,"tokens":[{"name":"a","hash":"` + hash + `"},{"name":"a","hash":"` + hash + `"}]}`: "twice",
	} {
		path := filepath.Join(t.TempDir(), "tokens.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	path := filepath.Join(t.TempDir(), "tokens.json")
	s := open(t, path)
	_, _ = s.Add("a")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
}

func TestManyProcessesAdd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	var wg sync.WaitGroup
	for i := range 10 {
		s := open(t, path)
		wg.Go(func() {
			if _, err := s.Add(fmt.Sprint("t", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	tokens, err := open(t, path).List()
	if err != nil || len(tokens) != 10 {
		t.Error(len(tokens), err)
	}
	if names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".tokens-*")); len(names) > 0 {
		t.Error(names)
	}
	if _, err := os.Stat(path + ".lock"); err == nil {
		t.Error("the lock is left")
	}
}

func TestLastUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	s := open(t, path)
	now := time.Now()
	secret, _ := s.Add("ci")
	_, _ = s.Add("idle")
	s.now = func() time.Time { return now.Add(2 * time.Hour) }
	for range 2 {
		if _, err := caller(s, "Bearer "+secret); err != nil {
			t.Fatal(err)
		}
	}
	tokens, err := open(t, path).List()
	if err != nil || !tokens[0].LastUse.Equal(now.Add(2*time.Hour).UTC().Truncate(time.Hour)) || !tokens[1].LastUse.IsZero() {
		t.Error(tokens, err)
	}
	// A token that is made anew under the name is not the one that was used.
	s.now = func() time.Time { return now.Add(4 * time.Hour) }
	if err := s.Revoke("ci"); err != nil {
		t.Fatal(err)
	}
	_, _ = s.Add("ci")
	if tokens, _ := s.List(); !tokens[0].LastUse.IsZero() {
		t.Error(tokens)
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"ci", "a.b-C_9", strings.Repeat("x", 64)} {
		if err := CheckName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "a b", "a:b", "ü", "a\n", strings.Repeat("x", 65)} {
		if CheckName(name) == nil {
			t.Errorf("%q passes", name)
		}
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "tokens.json"))
	if err != nil {
		b.Fatal(err)
	}
	var secret string
	for i := range 100 {
		secret, _ = s.Add(fmt.Sprint("t", i))
	}
	r := &http.Request{Header: http.Header{"Authorization": {"Bearer " + secret}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Authenticate(r); err != nil {
			b.Fatal(err)
		}
	}
}
