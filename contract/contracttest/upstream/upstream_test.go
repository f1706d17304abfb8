package upstream

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// post sends {"name": name} as an item.
func post(t *testing.T, c *http.Client, url, name string, header ...string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequest("POST", url+"/items", strings.NewReader(`{"name":"`+name+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// both runs a test over HTTP and within the process.
func both(t *testing.T, f func(t *testing.T, fake *Fake, c *http.Client, url string)) {
	t.Run("http", func(t *testing.T) {
		fake := New(nil)
		url, stop := fake.Serve()
		defer stop()
		f(t, fake, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, url)
	})
	t.Run("in process", func(t *testing.T) {
		fake := New(nil)
		f(t, fake, &http.Client{Transport: fake.Transport()}, "http://fake")
	})
}

func TestKeysAreTakenAndReferencesAreNot(t *testing.T) {
	both(t, func(t *testing.T, fake *Fake, c *http.Client, url string) {
		_, first, _ := post(t, c, url, "a", "Idempotency-Key", "k")
		status, again, err := post(t, c, url, "a", "Idempotency-Key", "k")
		if err != nil || status != 201 || again != first || len(fake.Effects()) != 1 {
			t.Fatalf("the same key: %d %s %v, first %s, %d effects", status, again, err, first, len(fake.Effects()))
		}
		if status, _, _ := post(t, c, url, "b", "Idempotency-Key", "k"); status != 422 {
			t.Fatalf("the same key with other parameters: %d", status)
		}
		_, _, _ = post(t, c, url, "a", "X-Ref", "r")
		_, _, _ = post(t, c, url, "a", "X-Ref", "r")
		if n := len(fake.Effects()); n != 3 {
			t.Fatalf("a reference does not protect: want 3 effects, have %d", n)
		}
	})
}

func TestRetentionEnds(t *testing.T) {
	now := time.Unix(0, 0)
	fake := New(func() time.Time { return now })
	fake.KeyRetention = time.Hour
	c := &http.Client{Transport: fake.Transport()}
	_, _, _ = post(t, c, "http://fake", "a", "Idempotency-Key", "k")
	now = now.Add(time.Hour)
	_, _, _ = post(t, c, "http://fake", "a", "Idempotency-Key", "k")
	if n := len(fake.Effects()); n != 2 {
		t.Fatalf("after its retention a key protects no more: want 2 effects, have %d", n)
	}
}

func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		fault   Fault
		status  int
		err     error
		effects int
	}{
		"none":           {Fault{On: OnRef("other")}, 201, nil, 1},
		"refuse":         {Fault{Refuse: 429}, 429, nil, 0},
		"lose request":   {Fault{LoseRequest: true}, 0, io.EOF, 0},
		"lose answer":    {Fault{LoseAnswer: true}, 0, io.EOF, 1},
		"reset":          {Fault{LoseAnswer: true, Reset: true}, 0, syscall.ECONNRESET, 1},
		"answer 500":     {Fault{Answer: 500}, 500, nil, 1},
		"twice":          {Fault{Twice: true}, 201, nil, 2},
		"refuse in full": {Fault{Refuse: 409, Body: `{"x":1}`}, 409, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, fake *Fake, c *http.Client, url string) {
				fake.Script(test.fault)
				status, _, err := post(t, c, url, "a")
				ok := errors.Is(err, test.err) || test.err == io.EOF && errors.Is(err, io.ErrUnexpectedEOF)
				if status != test.status || !ok {
					t.Errorf("want %d, %v; have %d, %v", test.status, test.err, status, err)
				}
				if n := len(fake.Effects()); n != test.effects {
					t.Errorf("want %d effects, have %d", test.effects, n)
				}
			})
		})
	}
}
