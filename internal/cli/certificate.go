package cli

import (
	"crypto/tls"
	"os"
	"sync"
	"time"
)

// certificate is a pair of files that is read again when it has changed, so that a renewed certificate needs no restart.
type certificate struct {
	cert, key string

	mu      sync.Mutex
	loaded  *tls.Certificate
	written time.Time
	looked  time.Time
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded != nil && time.Since(c.looked) < time.Minute {
		return c.loaded, nil
	}
	c.looked = time.Now()
	info, err := os.Stat(c.cert)
	if err == nil && c.loaded != nil && info.ModTime().Equal(c.written) {
		return c.loaded, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		if c.loaded != nil {
			return c.loaded, nil // half written, perhaps
		}
		return nil, err
	}
	c.loaded = &pair
	if info != nil {
		c.written = info.ModTime()
	}
	return c.loaded, nil
}
