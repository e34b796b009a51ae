package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/fileops"
	"carrel/internal/inside"
)

// helpers are the file helpers that stay in a workspace; a test has one workspace at a time.
func helpers(t *testing.T, d *desk) (pids []int) {
	t.Helper()
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range list {
		line, _ := os.ReadFile(f)
		if string(line) != inside.Dir+"/"+inside.FileHelper+"\x00"+fileops.Stay+"\x00" {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(f, "/")[2])
		if at, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); strings.HasPrefix(at, d.project) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stays wants one helper that has come to stay.
func stays(t *testing.T, d *desk) (pid int) {
	t.Helper()
	eventually(t, "one helper to stay", func() bool {
		list := helpers(t, d)
		if len(list) == 1 {
			pid = list[0]
		}
		return len(list) == 1
	})
	return pid
}

// TestHelperStays: after the first request of a file tool one helper carries out what
// follows, each request as an app and a step of its own.
func TestHelperStays(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.write("f", "text\n")
	d.write("sub/f", "other\n")
	read := func(dir, want string) {
		t.Helper()
		answer, _, err := Files(ctx, d.entry, dir, &fileops.ReadFile{Path: "f"})
		if c, ok := answer.(*fileops.FileContent); err != nil || !ok || !strings.Contains(c.Content, want) {
			t.Fatalf("in %q: %+v: %v", dir, answer, err)
		}
	}
	if got := helpers(t, d); len(got) != 0 {
		t.Fatalf("helpers %v before any request", got)
	}
	read("", "text")
	first := stays(t, d)
	var numbers []uint64
	for _, content := range []string{"1", "2", "3"} {
		_, step, err := Files(ctx, d.entry, "", &fileops.WriteFile{Path: "w", Content: content})
		if err != nil || step == 0 || d.read("w") != content {
			t.Fatalf("write %s: step %d: %v", content, step, err)
		}
		numbers = append(numbers, step)
	}
	if numbers[0] == numbers[1] || numbers[1] == numbers[2] || len(d.steps()) != 3 {
		t.Errorf("steps %v, of %v: want one for each request", numbers, d.steps())
	}
	if got := stays(t, d); got != first {
		t.Errorf("the helper was %d and is %d", first, got)
	}
	apps, err := d.entry.Apps(ctx)
	if err != nil || len(apps) != 4 {
		t.Errorf("apps %+v: %v: want one for each request", apps, err)
	}
	for _, a := range apps {
		if a.Running || a.Processes != 0 || a.Exit != 0 {
			t.Errorf("app %+v, want it over", a)
		}
	}
	if out, err := d.carrel("undo"); err != nil || d.read("w") != "2" {
		t.Errorf("undo: %v: %s", err, out)
	}
	// An app that has ended is not the next one: to end it leaves the helper alone.
	if _, err := d.entry.Call(ctx, api.Request{Op: api.OpKill, App: apps[0].ID}); err != nil {
		t.Errorf("ending an app that has ended: %v", err)
	}
	if got := stays(t, d); got != first {
		t.Errorf("the helper was %d and is %d", first, got)
	}
	// Another directory takes another helper, and what was a directory is looked up anew.
	read(d.project+"/sub", "other")
	eventually(t, "another helper", func() bool { list := helpers(t, d); return len(list) == 1 && list[0] != first })
	second := stays(t, d)
	if err := os.Rename(d.project+"/sub", d.project+"/was"); err != nil {
		t.Fatal(err)
	}
	d.write("sub/f", "new\n")
	read(d.project+"/sub", "new")
	if err := syscall.Kill(second, syscall.SIGKILL); err != nil { // whoever ends it: the next request has its own program
		t.Fatal(err)
	}
	eventually(t, "it to be gone", func() bool { return len(helpers(t, d)) == 0 })
	time.Sleep(100 * time.Millisecond) // until its end has been told
	read(d.project+"/sub", "new")
}

// TestHelperStandsStill: a request that does not come to its end is cancelled with its
// helper, and the next ones are carried out.
func TestHelperStandsStill(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.write("f", "text\n")
	read := func(ctx context.Context) error {
		_, _, err := Files(ctx, d.entry, "", &fileops.ReadFile{Path: "f"})
		return err
	}
	if err := read(ctx); err != nil {
		t.Fatal(err)
	}
	pid := stays(t, d)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until, cancel := context.WithCancel(ctx)
	defer cancel()
	waits := make(chan error)
	eventually(t, "a request to be with the helper", func() bool { // not with a program of its own, before its start was told
		go func() { waits <- read(until) }()
		select {
		case <-waits:
			return false
		case <-time.After(time.Second):
			return true
		}
	})
	if err := read(ctx); err != nil { // a second one does not wait for it
		t.Errorf("beside it: %v", err)
	}
	cancel()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	eventually(t, "the helper to be gone", func() bool { return syscall.Kill(pid, 0) != nil })
	for range 2 {
		if err := read(ctx); err != nil {
			t.Error(err)
		}
	}
}

// TestHelperObeysControl: what may not be changed is not changed by a helper that stays.
func TestHelperObeysControl(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	if _, _, err := Files(ctx, d.entry, "", &fileops.WriteFile{Path: "f", Content: "x"}); err != nil {
		t.Fatal(err)
	}
	stays(t, d)
	if out, err := d.carrel("control", "desk", "read_only"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var why *api.Denial
	_, _, err := Files(ctx, d.entry, "", &fileops.WriteFile{Path: "f", Content: "y"})
	if !errors.As(err, &why) || why.Code != api.CodeControl || d.read("f") != "x" {
		t.Errorf("%v", err)
	}
	if _, _, err := Files(ctx, d.entry, "", &fileops.ReadFile{Path: "f"}); err != nil {
		t.Errorf("reading: %v", err)
	}
}
