package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asCounter {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestCounting plays a small round: each way counts what there is.
func TestCounting(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, options{pages: 30, size: 10, rounds: 2}); err != nil {
		t.Fatal(err)
	}
	for _, w := range ways {
		if !strings.Contains(out.String(), w.name) {
			t.Errorf("no line for %s:\n%s", w.name, &out)
		}
	}
}

// TestC07_MemoryOfAPage: what a read holds at its end is what it held at page
// ten, but for less than a page's bytes: pages that were read are gone.
func TestC07_MemoryOfAPage(t *testing.T) {
	server, _, bytes := releases(options{pages: 600, size: 100})
	defer server.Close()
	s, err := count("1", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if grown := s.Live[1] - s.Live[0]; grown > 5*bytes {
		t.Errorf("after 590 more pages of %d bytes the heap holds %d bytes more", bytes, grown)
	}
}
