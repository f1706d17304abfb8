package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
)

// upstream is the service with customers.
type upstream struct {
	*httptest.Server

	mu        sync.Mutex
	customers int
	byKey     map[string]answer
	drop      bool // commit, then lose the answer
}

type answer struct {
	params string
	body   []byte
}

func newUpstream() *upstream {
	u := &upstream{byKey: map[string]answer{}}
	u.Server = httptest.NewServer(u)
	return u
}

// lose says whether answers are lost from now on.
func (u *upstream) lose(drop bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drop = drop
}

// count returns how many customers there are.
func (u *upstream) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.customers
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/customers" || r.ParseForm() != nil {
		http.Error(w, `{"error":{"type":"invalid_request_error"}}`, http.StatusNotFound)
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	key, params := r.Header.Get("Idempotency-Key"), r.PostForm.Encode()
	had, replay := u.byKey[key]
	switch {
	case key != "" && replay && had.params != params:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"type":"idempotency_error"}}`)
		return
	case key == "" || !replay:
		u.customers++
		body, _ := json.Marshal(map[string]string{"id": fmt.Sprintf("cus_%d", u.customers), "email": r.PostForm.Get("email")})
		had = answer{params, body}
		u.byKey[key] = had
	}
	if u.drop {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(had.body)
}
