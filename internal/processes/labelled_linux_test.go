package processes

import (
	_ "embed"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// TestLabelledOrphans: what has a label is found at each look, also at one during which
// it loses its parent.
func TestLabelledOrphans(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil { // as a stage is
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	const label = 4711
	stage := os.Getpid()
	for range 300 {
		parent := exec.Command("sh", "-c", "sleep 5409 & sleep 5409 & wait")
		if !sandbox.SetLabel(label) {
			t.Fatal("no label can be set")
		}
		err := parent.Start()
		sandbox.SetLabel(0)
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(10 * time.Second); len(Labelled(stage, label)) != 3; {
			if time.Now().After(end) {
				t.Fatalf("found %v", Labelled(stage, label))
			}
		}
		go func() { _ = parent.Process.Kill() }()
		for range 30 {
			if found := Labelled(stage, label); len(found) < 2 {
				t.Errorf("found %v", found)
			}
		}
		_ = parent.Wait()
		left := Labelled(stage, label)
		Signal(left, syscall.SIGKILL)
		for _, p := range left {
			_, _ = unix.Wait4(p.PID, nil, 0, nil)
		}
		if t.Failed() {
			return
		}
	}
	if found := Labelled(stage, label); len(found) != 0 {
		t.Errorf("left: %v", found)
	}
	// One with the same label that is not below.
	other := exec.Command("sleep", "5409")
	sandbox.SetLabel(label)
	err := other.Start()
	sandbox.SetLabel(0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = other.Process.Kill(), other.Wait() }()
	if found := Labelled(other.Process.Pid, label); len(found) != 0 {
		t.Errorf("not below: %v", found)
	}
	if found := Labelled(stage, label); len(found) != 1 {
		t.Errorf("below: %v", found)
	}
}

// TestNoneIsLeft: what forks and ends all the time, or starts others all the time, with
// its label or without one, is gone when it is said to be.
func TestNoneIsLeft(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil { // as a stage is
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	const label, mark = 4712, "carrel-none-is-left"
	stage, ok := Read(os.Getpid())
	if !ok {
		t.Fatal("this process cannot be read")
	}
	none := func(uint64) bool { return false }
	for name, source := range map[string]string{
		"a chain":  chain,
		"spawners": spawners,
	} {
		program := compiled(t, mark, source)
		for _, labels := range []uint64{label, 0} {
			for try := range 15 {
				r, w, err := os.Pipe() // closed when all have gone
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(program)
				cmd.Stdout = w
				sandbox.SetLabel(labels)
				err = cmd.Start()
				sandbox.SetLabel(0)
				w.Close()
				if err != nil {
					t.Fatal(err)
				}
				reaping, reaped := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(reaped)
					reap(reaping)
				}()
				end := func() error {
					if labels != 0 {
						return KillLabel(stage.PID, label)
					}
					return KillStrays(stage, none)
				}
				gone := func(within time.Duration) bool { // what was killed may take its time on a busy machine
					_ = r.SetReadDeadline(time.Now().Add(within))
					_, err := r.Read(make([]byte, 1))
					return err == io.EOF
				}
				time.Sleep(20 * time.Millisecond)
				if err := end(); err != nil {
					t.Errorf("%s, label %d: %v", name, labels, err)
				}
				left := !gone(2 * time.Second)
				if left {
					t.Errorf("%s, label %d, try %d: some are left", name, labels, try)
					for range 100 { // they would slow down everything else
						if _ = end(); gone(20 * time.Millisecond) {
							break
						}
					}
				}
				close(reaping)
				<-reaped
				r.Close()
				if left {
					return
				}
			}
		}
	}
}

// chain is a program of which one process is there at any time, and none for long.
//
//go:embed testdata/chain.c
var chain string

// spawners are some processes that start others which end soon.
//
//go:embed testdata/spawners.c
var spawners string

// compiled makes a program of C.
func compiled(t *testing.T, name, source string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	cc := exec.Command("gcc", "-O1", "-static", "-x", "c", "-o", program, "-")
	cc.Stdin = strings.NewReader(source)
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// reap collects all children until it is told to end, as a stage does.
func reap(end <-chan struct{}) {
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid > 0 || err == unix.EINTR {
			continue
		}
		select {
		case <-end:
			return
		case <-time.After(100 * time.Microsecond):
		}
	}
}

// TestAChainIsFound: no look says that none is there while a chain goes on, also when
// the numbers of processes begin anew.
func TestAChainIsFound(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	const label = 4713
	cmd := exec.Command(compiled(t, "carrel-a-chain", chain))
	sandbox.SetLabel(label)
	err := cmd.Start()
	sandbox.SetLabel(0)
	if err != nil {
		t.Fatal(err)
	}
	reaping, reaped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(reaped)
		reap(reaping)
	}()
	for look := range 4000 {
		if found, err := FindLabelled(os.Getpid(), label); err == nil && len(found) == 0 {
			t.Errorf("look %d says that none is there", look)
			break
		}
	}
	if err := KillLabel(os.Getpid(), label); err != nil {
		t.Error(err)
	}
	close(reaping)
	<-reaped
}
