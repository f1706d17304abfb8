package upstream

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is the servers of these tests, by the variable SCRIPT.
func TestMain(m *testing.M) {
	switch s := os.Getenv("SCRIPT"); s {
	case "":
		goleak.VerifyTestMain(m)
	case "echo":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "die":
		fmt.Fprintln(os.Stderr, "\x1b[31mno token\x1b[0m")
		os.Exit(3)
	default:
		processScripts[s]()
	}
}

func command(script string) Command {
	return Command{Name: "x", Argv: []string{os.Args[0]}, Env: append(os.Environ(), "SCRIPT="+script)}
}

func TestChildEchoesAndEndsWithItsStdin(t *testing.T) {
	c, err := Start(command("echo"))
	if err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("x", 3<<20)
	go func() {
		fmt.Fprintln(c.Stdin(), big)
		c.Stdin().Close()
	}()
	got, err := io.ReadAll(c.Stdout())
	if err != nil || string(got) != big+"\n" {
		t.Errorf("%d bytes back, %v", len(got), err)
	}
	<-c.Done()
	if e := c.Exit(); e.Code != 0 || e.Signal != 0 {
		t.Errorf("ended with %+v", e)
	}
	c.Stop()
}

func TestExitTellsStatusAndLastWords(t *testing.T) {
	c, err := Start(command("die"))
	if err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if got, want := c.Exit().Error(), "server x exited with status 3; its last words: no token"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c.Stop()
}

func TestStartNamesWhatIsMissing(t *testing.T) {
	_, err := Start(Command{Name: "x", Argv: []string{"no-such-program"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("error %v", err)
	}
	if _, err = Start(Command{}); err == nil {
		t.Error("an empty command started")
	}
	dir := t.TempDir()
	bad := dir + "/bad"
	if err := os.WriteFile(bad, []byte("\x00\x01"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err = Start(Command{Argv: []string{bad}}); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("error %v", err)
	}
}

func TestLastWordsAreBounded(t *testing.T) {
	var w tail
	for i := range 2000 {
		fmt.Fprintf(&w, "line %d\n", i)
	}
	got := w.String()
	if len(got) > wordsKept || !strings.HasSuffix(got, "line 1999") || !strings.HasPrefix(got, "line ") {
		t.Errorf("%d bytes: %.20q … %q", len(got), got, got[len(got)-20:])
	}
	fmt.Fprint(&w, strings.Repeat("y", 3*wordsKept))
	if got := w.String(); got != strings.Repeat("y", wordsKept) {
		t.Errorf("%d bytes of one long line", len(got))
	}
}

func TestBatchLine(t *testing.T) {
	got, err := batchLine(`C:\Program Files\nodejs\npx.cmd`, []string{"-y", "a b", `say "hi"`, `%PATH%`, `c:\dir\`, "a&calc"})
	want := `cmd.exe /e:ON /v:OFF /d /c ""C:\Program Files\nodejs\npx.cmd" "-y" "a b" "say ""hi""" "%%cd:~,%PATH%%cd:~,%" "c:\dir\\" "a&calc""`
	if err != nil || got != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
	if _, err := batchLine(`x.cmd`, []string{"a\nb"}); err == nil {
		t.Error("a line end was taken")
	}
}

// The cost of the supervisor: a child's first byte with it and without.
func BenchmarkStart(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			out, err := exec.Command("echo", "x").Output()
			if err != nil || len(out) != 2 {
				b.Fatal(err)
			}
		}
	})
	b.Run("supervised", func(b *testing.B) {
		for b.Loop() {
			c, err := Start(Command{Argv: []string{"echo", "x"}})
			if err != nil {
				b.Fatal(err)
			}
			if out, err := io.ReadAll(c.Stdout()); err != nil || len(out) != 2 {
				b.Fatal(err)
			}
			<-c.Done()
			c.Stdout().Close()
			c.Stop()
		}
	})
}
