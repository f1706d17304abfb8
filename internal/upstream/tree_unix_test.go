//go:build unix

package upstream

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// processScripts are the servers that need what Windows has not.
var processScripts = map[string]func(){
	"deaf": func() {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	},
	"self-kill": func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Hour)
	},
	"proxy": runProxy,
}

// runProxy stands for Spillway: it starts a server, prints the pids it was
// told, and waits to be killed.
func runProxy() {
	c, err := Start(Command{Name: "x", Argv: []string{"sh", "-c", os.Getenv("SHELL_SCRIPT")}, Env: append(os.Environ(), "SCRIPT=")})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, _ = io.Copy(os.Stdout, c.Stdout())
	<-c.Done()
}

// alive reports whether a process runs; one that waits to be reaped does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func waitGone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for _, pid := range pids {
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d of %v is still there", pid, pids)
			}
			exec.Command("true").Run() // a breath
		}
	}
}

// shell starts two grandchildren, one of them in a session of its own whose
// parent has ended, prints all pids and waits.
const shell = `sleep 1000 & echo $!
(setsid sleep 1000 & echo $!)
echo $$
exec sleep 1000`

func TestK62_NoProcessOutlivesAKilledProxy(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid here:", err)
	}
	proxy := exec.Command(os.Args[0])
	proxy.Env = append(os.Environ(), "SCRIPT=proxy", "SHELL_SCRIPT="+shell)
	out, err := proxy.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	pids := readPids(t, out, 3)
	if err := proxy.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = proxy.Wait()
	waitGone(t, pids)
}

func readPids(t *testing.T, r io.Reader, n int) (pids []int) {
	t.Helper()
	lines := bufio.NewScanner(r)
	for len(pids) < n && lines.Scan() {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatalf("the server said %q", lines.Text())
		}
		if !alive(pid) {
			t.Fatalf("process %d never ran", pid)
		}
		pids = append(pids, pid)
	}
	if len(pids) < n {
		t.Fatalf("only %v of %d processes", pids, n)
	}
	return pids
}

func TestK62_StopEndsGrandchildren(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid here:", err)
	}
	cmd := Command{Argv: []string{"sh", "-c", shell}, Grace: time.Millisecond, TermGrace: time.Millisecond}
	c, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	pids := readPids(t, c.Stdout(), 3)
	c.Stop()
	waitGone(t, pids)
	c.Stdout().Close()
}

func TestK62_GrandchildrenGoWithAServerThatExits(t *testing.T) {
	c, err := Start(Command{Argv: []string{"sh", "-c", "sleep 1000 & echo $!; read x; exit 4"}, TermGrace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	pids := readPids(t, c.Stdout(), 1)
	fmt.Fprintln(c.Stdin())
	<-c.Done()
	if c.Exit().Code != 4 {
		t.Errorf("ended with %+v, want status 4", c.Exit())
	}
	waitGone(t, pids)
	c.Stop()
	c.Stdout().Close()
}

func TestStopKillsTheDeaf(t *testing.T) {
	cmd := command("deaf")
	cmd.Grace, cmd.TermGrace = time.Millisecond, 5*time.Millisecond
	c, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(c.Stdout()).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	c.Stop()
	if c.Exit().Signal != 9 || c.Exit().Status() != 137 {
		t.Errorf("ended with %+v, want signal 9", c.Exit())
	}
	c.Stdout().Close()
}

func TestSignalIsTold(t *testing.T) {
	c, err := Start(command("self-kill"))
	if err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if got, want := c.Exit().Error(), "server x was ended by signal 9 (killed), without a word on stderr"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c.Stop()
	c.Stdout().Close()
}

func TestK62_ServerGoesWithItsSupervisor(t *testing.T) {
	c, err := Start(Command{Name: "x", Argv: []string{"sh", "-c", "echo $$; exec sleep 1000"}})
	if err != nil {
		t.Fatal(err)
	}
	pids := readPids(t, c.Stdout(), 1)
	if err := c.proc.(*supervised).reaper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if c.Exit().Signal != 9 {
		t.Errorf("ended with %+v, want signal 9", c.Exit())
	}
	waitGone(t, pids)
	c.Stop()
	c.Stdout().Close()
}
