package tokens

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// The test binary is the external program of its own tests.
func TestMain(m *testing.M) {
	if how := os.Getenv("SPILLWAY_TEST_ESTIMATOR"); how != "" {
		estimate(how)
		return
	}
	os.Exit(m.Run())
}

func estimate(how string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var q struct {
			ID    int
			Texts []string
		}
		if json.Unmarshal(in.Bytes(), &q) != nil {
			os.Exit(3)
		}
		switch how {
		case "words":
			fmt.Printf(`{"id":%d,"counts":[%d]}`+"\n", q.ID, len(strings.Fields(q.Texts[0])))
		case "silent":
		case "wrong":
			fmt.Println(`{"id":99,"counts":[1]}`)
		case "noise":
			fmt.Println(`loading the vocabulary`)
		case "refuses":
			fmt.Printf(`{"id":%d,"error":"no such model"}`+"\n", q.ID)
		case "dies":
			fmt.Fprintln(os.Stderr, "out of memory")
			os.Exit(1)
		}
	}
}

func command(t *testing.T, how string) *Command {
	t.Helper()
	t.Setenv("SPILLWAY_TEST_ESTIMATOR", how)
	c, err := NewCommand([]string{os.Args[0]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestRED46_CommandCounts(t *testing.T) {
	c := command(t, "words")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			text := strings.Repeat("word ", i+1) + "\xff\n\"quoted\""
			if got := c.Count([]byte(text)); got != i+3 {
				t.Errorf("%d words, counted %d", i+3, got)
			}
		})
	}
	wg.Wait()
	if err := c.Err(); err != nil {
		t.Error(err)
	}
	if c.Count(nil) != 0 {
		t.Error("nothing has tokens")
	}
}

// A program that fails is said, and what it did not count is not guessed.
func TestCommandFails(t *testing.T) {
	for how, want := range map[string]string{
		"silent":  "no answer within",
		"wrong":   "answered id 99",
		"noise":   "no JSON object with",
		"refuses": "no such model",
		"dies":    "out of memory",
	} {
		t.Run(how, func(t *testing.T) {
			c := command(t, how)
			if how == "silent" {
				c.timeout = 50 * time.Millisecond
			}
			if n := c.Count([]byte("a text")); n != 0 {
				t.Errorf("counted %d", n)
			}
			if err := c.Err(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q in it", err, want)
			}
		})
	}
	missing, err := NewCommand([]string{"/nowhere/estimator"})
	if err != nil {
		t.Fatal(err)
	}
	if missing.Count([]byte("x")); missing.Err() == nil {
		t.Error("a program that is not there counts")
	}
}
