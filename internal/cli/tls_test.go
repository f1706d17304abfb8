package cli

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pair writes a certificate for 127.0.0.1 and its key, and returns the certificate.
func pair(t *testing.T, cert, key string) *x509.Certificate {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<60))
	template := &x509.Certificate{
		SerialNumber: serial, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Over TLS a call arrives, and neither a client without TLS nor one of an old
// version of it gets an answer.
func TestServeOverTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	made := pair(t, cert, key)
	s := serving(t, fmt.Sprintf("servers: {demo: DEMO}\nserve: {tls: {cert: %q, key: %q}}\n", cert, key))
	if !strings.HasPrefix(s.url, "https://") || !strings.Contains(s.err.String(), fmt.Sprintf("%q: %q", "url", s.url)) {
		t.Errorf("%s is not what a client is told:\n%s", s.url, s.err.String())
	}
	s.token = s.err.find(t, `"Authorization": "Bearer ([^"]+)"`)
	trust := x509.NewCertPool()
	trust.AddCert(made)
	post := func(url string, c *tls.Config) (*http.Response, error) {
		r, _ := http.NewRequest("POST", url, strings.NewReader(initialize))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer "+s.token)
		way := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}
		t.Cleanup(way.CloseIdleConnections)
		return (&http.Client{Transport: way}).Do(r)
	}
	resp, err := post(s.url, &tls.Config{RootCAs: trust})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 || resp.ProtoMajor != 2 || !bytes.Contains(body, []byte(`"protocolVersion":"2025-11-25"`)) {
		t.Errorf("%d over HTTP %d: %s", resp.StatusCode, resp.ProtoMajor, body)
	}
	if resp, err := post("http"+strings.TrimPrefix(s.url, "https"), nil); err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS: %d", resp.StatusCode)
		}
	}
	if resp, err := post(s.url, &tls.Config{RootCAs: trust, MaxVersion: tls.VersionTLS11}); err == nil {
		resp.Body.Close()
		t.Errorf("with TLS 1.1: %d", resp.StatusCode)
	}
}

// A renewed certificate is picked up within a minute; a half-written one is not.
func TestCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	c := &certificate{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
	synctest.Test(t, func(t *testing.T) {
		renewed := time.Unix(1_000_000, 0)
		renew := func() *x509.Certificate {
			made := pair(t, c.cert, c.key)
			renewed = renewed.Add(time.Hour)
			if err := os.Chtimes(c.cert, renewed, renewed); err != nil {
				t.Fatal(err)
			}
			return made
		}
		want := func(when string, made *x509.Certificate) {
			t.Helper()
			got, err := c.get(nil)
			if err != nil || !bytes.Equal(got.Certificate[0], made.Raw) {
				t.Errorf("%s: another certificate, or %v", when, err)
			}
		}
		first := renew()
		want("at first", first)
		second := renew()
		want("at once", first)
		time.Sleep(time.Minute)
		want("after a minute", second)
		third := renew()
		whole, _ := os.ReadFile(c.cert)
		if err := os.WriteFile(c.cert, whole[:len(whole)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		want("half written", second)
		if err := os.WriteFile(c.cert, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		want("written", third)
	})
}

// Behind something that has TLS, and so reached by others, figures and names
// are for who shows a token; that it is there and ready, for everybody.
func TestServeTellsOthersOnlyThatItIsThere(t *testing.T) {
	s := serving(t, "servers: {demo: DEMO}\nserve: {behind_tls: true}\n")
	s.token = s.err.find(t, `"Authorization": "Bearer ([^"]+)"`)
	for end := time.Now().Add(20 * time.Second); !ready(s); {
		if time.Now().After(end) {
			t.Fatalf("not ready: %s", s.err.String())
		}
	}
	for _, c := range []struct {
		path, token string
		status      int
		want        string
	}{
		{"/healthz", "", 200, "ok\n"},
		{"/readyz", "", 200, "{}\n"},
		{"/readyz", "wrong", 401, "token"},
		{"/readyz", s.token, 200, `"server":"demo"`},
		{"/metrics", "", 401, "token"},
		{"/metrics", s.token, 200, `spillway_upstream_up{server="demo"}`},
	} {
		r, _ := http.NewRequest("GET", strings.TrimSuffix(s.url, endpoint)+c.path, nil)
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || !strings.Contains(string(body), c.want) || c.status != 200 && strings.Contains(string(body), "demo") {
			t.Errorf("%s with token %q: %d %s", c.path, c.token, resp.StatusCode, body)
		}
	}
}

func ready(s *served) bool {
	resp, err := http.Get(strings.TrimSuffix(s.url, endpoint) + "/readyz")
	if err != nil {
		s.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode == 200
}
