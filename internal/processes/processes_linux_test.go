package processes

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"carrel/internal/procfs"

	"golang.org/x/sys/unix"
)

func TestCensus(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 61 & wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() {
		for _, p := range Below(cmd.Process.Pid) {
			_ = unix.Kill(p.PID, unix.SIGKILL)
		}
	}()
	for len(Below(cmd.Process.Pid)) < 2 {
		runtime.Gosched()
	}
	below := Below(os.Getpid())
	if _, ok := below[cmd.Process.Pid]; !ok || below.Command(os.Getpid()).Parent != os.Getpid() {
		t.Errorf("below this: %v", below)
	}
	if now, p := TicksNow(), below[cmd.Process.Pid]; p.Start > now || p.Start+60*ticksPerSecond < now {
		t.Errorf("started at %d, now is %d", p.Start, now)
	}
	if got := len(below.Line(cmd.Process.Pid, os.Getpid())); got != 1 {
		t.Errorf("%d generations", got)
	}
	if argv := Argv(cmd.Process.Pid); len(argv) != 3 || argv[0] != "sh" {
		t.Errorf("its command: %q", argv)
	}
}

func TestProcessFrom(t *testing.T) {
	for threads, gone := range map[int]bool{1: true, 2: false} {
		s := procfs.Stat{State: 'Z', Parent: 1, Group: 2, Session: 3, Front: 5, Threads: threads, Start: 19}
		if got, want := processFrom(7, &s), (Process{PID: 7, Parent: 1, Group: 2, Session: 3, Front: 5, Start: 19, Gone: gone}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if got := processFrom(7, &procfs.Stat{}); got != (Process{}) {
		t.Errorf("of none: %+v", got)
	}
}
