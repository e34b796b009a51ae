package ancestry

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMarkIsInherited: what a marked process starts is known when all between them have
// ended, in a session of its own and with an empty environment; and what was started
// before is not.
func TestMarkIsInherited(t *testing.T) {
	if k, _ := Of(0); k != Unmarked {
		t.Skip("the tests themselves are below an agent")
	}
	cmd := exec.Command("sh", "-c", `sleep 60 & echo $!; read go; (env -i setsid sh -c 'sleep 60 & echo $!' &); read end`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	number := func() int {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(n, syscall.SIGKILL) })
		return n
	}
	before := number()
	Mark(cmd.Process.Pid)
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	daemon := number()
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	if k, agent := Of(daemon); k != Agent || agent != cmd.Process.Pid {
		t.Errorf("the daemon: %d, agent %d, want that of %d", k, agent, cmd.Process.Pid)
	}
	if k, _ := Of(before); k != Unmarked {
		t.Errorf("what was started before: %d", k)
	}
	Mark(daemon)
	if _, agent := Of(daemon); agent != cmd.Process.Pid {
		t.Errorf("marked again: agent %d", agent)
	}
	lower := unix.Rlimit{Cur: 1000, Max: 1000}
	if err := unix.Prlimit(daemon, unix.RLIMIT_RTTIME, &lower, nil); err != nil {
		t.Fatal(err)
	}
	if k, _ := Of(daemon); k != Lowered {
		t.Errorf("with a lowered limit: %d", k)
	}
}
