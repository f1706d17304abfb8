package journal_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/spillway-mcp/spillway/contract"
	"github.com/spillway-mcp/spillway/internal/journal"
)

// The test binary runs itself as another process of the journal: the variable
// holds its path, the argument the number of keys.
const childEnv = "SPILLWAY_JOURNAL_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if err := claimAll(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// claimAll claims key after key and says which it won, once that is durable.
func claimAll(path string) error {
	j, err := journal.Open(path)
	if err != nil {
		return err
	}
	defer j.Close()
	n := 0
	if _, err := fmt.Sscan(os.Args[len(os.Args)-1], &n); err != nil {
		return err
	}
	for i := 0; n == 0 || i < n; i++ {
		r := record(fmt.Sprint("k", i))
		_, ok, err := j.Claim(context.Background(), r)
		if err != nil {
			return err
		}
		if ok {
			fmt.Println(r.Key)
		}
	}
	return nil
}

func child(t *testing.T, path string, keys int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], fmt.Sprint(keys))
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func TestC12_M06_ProcessesClaimOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	const keys = 200
	won := map[string]int{}
	type run struct {
		cmd *exec.Cmd
		out *bufio.Scanner
	}
	var runs []run
	for range 3 {
		cmd, out := child(t, path, keys)
		runs = append(runs, run{cmd, out})
	}
	for _, r := range runs {
		for r.out.Scan() {
			won[r.out.Text()]++
		}
		if err := r.cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if len(won) != keys {
		t.Errorf("%d keys won of %d", len(won), keys)
	}
	for k, n := range won {
		if n != 1 {
			t.Errorf("%s was won %d times", k, n)
		}
	}
}

func TestC10_ClaimsSurviveKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	for round := range 5 {
		cmd, out := child(t, path, 0)
		var last string
		for n := 0; n <= 20*(round+1) && out.Scan(); n++ {
			last = out.Text()
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for out.Scan() {
			last = out.Text()
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child was not killed")
		}
		if last == "" {
			t.Fatal("the child claimed nothing")
		}
		j := open(t, path)
		if _, err := j.Get(context.Background(), contract.ID{Caller: "alice", Operation: "create", Key: last}); err != nil {
			t.Errorf("%s was claimed, then the process killed: %v", last, err)
		}
		if _, err := j.Get(context.Background(), contract.ID{Caller: "alice", Operation: "create", Key: "never"}); !errors.Is(err, contract.ErrNoRecord) {
			t.Error(err)
		}
	}
}
