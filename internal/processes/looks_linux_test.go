package processes

import (
	"bufio"
	_ "embed"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// generations is a program whose argument says how many, each the child of the one before.
//
//go:embed testdata/generations.c
var generations string

// TestLooksAtOthersChain: many generations of processes that are not below the stage, and
// look as if they might be, make no look long.
func TestLooksAtOthersChain(t *testing.T) {
	const depth = 600
	stage := exec.Command("sleep", "5410")
	if err := stage.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = stage.Process.Kill(), stage.Wait() }()
	program := t.TempDir() + "/chain"
	cc := exec.Command("gcc", "-O1", "-static", "-x", "c", "-o", program, "-")
	cc.Stdin = strings.NewReader(generations)
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	chain := exec.Command(program, strconv.Itoa(depth))
	out, err := chain.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if !sandbox.SetLabel(0) { // from now on all that this starts is looked at
		t.Fatal("no label can be set")
	}
	if err := chain.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = chain.Process.Kill(), chain.Wait() }()
	for in, n := bufio.NewReader(out), 0; n < depth; n++ {
		if _, err := in.ReadByte(); err != nil {
			t.Fatal(err)
		}
	}
	best := time.Hour
	for range 5 {
		begun := time.Now()
		if found := Labelled(stage.Process.Pid, 0); len(found) != 0 {
			t.Fatalf("found %v", found)
		}
		best = min(best, time.Since(begun))
	}
	if best > 120*time.Millisecond {
		t.Errorf("a look takes %s", best)
	}
	t.Log(best)
}

// TestNoDescriptors: while processes cannot be listed or looked at, nobody is told that
// none is left; once they can, they are ended.
func TestNoDescriptors(t *testing.T) {
	const label = 4713
	stage, ok := Read(os.Getpid())
	if !ok {
		t.Fatal("this process cannot be read")
	}
	var old unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		t.Fatal(err)
	}
	limit := func(n uint64) {
		if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: old.Max}, nil); err != nil {
			t.Fatal(err)
		}
	}
	defer limit(old.Cur)
	none := func(uint64) bool { return false }
	for name, end := range map[string]func() error{
		"killLabel":  func() error { return KillLabel(stage.PID, label) },
		"killStrays": func() error { return KillStrays(stage, none) },
	} {
		one := exec.Command("sleep", "5411")
		sandbox.SetLabel(label)
		err := one.Start()
		sandbox.SetLabel(0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = one.Process.Kill() }()
		ended := make(chan struct{})
		go func() {
			_ = one.Wait()
			close(ended)
		}()
		limit(3)
		if _, err := FindLabelled(stage.PID, label); err == nil {
			t.Error("processes are found without descriptors")
		}
		if _, err := strays(stage, none); err == nil {
			t.Error("strays are found without descriptors")
		}
		time.AfterFunc(300*time.Millisecond, func() { limit(old.Cur) })
		if err := end(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		select {
		case <-ended:
		case <-time.After(time.Second): // it is collected a moment later
			t.Errorf("%s says that none is left", name)
		}
		limit(old.Cur)
	}
	// One descriptor is enough for the list, and too few for a look.
	one := exec.Command("sleep", "5411")
	sandbox.SetLabel(label)
	err := one.Start()
	sandbox.SetLabel(0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = one.Process.Kill(), one.Wait() }()
	free, err := unix.Open("/proc", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(free)
	limit(uint64(free) + 1)
	found, err := FindLabelled(stage.PID, label)
	limit(old.Cur)
	if err == nil {
		t.Errorf("with one descriptor: found %v", found)
	}
}
