package container

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/sandbox"
)

// fakeEngine is an engine that is a shell script. It gets its arguments, and $dir is a
// directory of the test's.
func fakeEngine(t *testing.T, script string) (e *Engine, dir string) {
	t.Helper()
	dir = t.TempDir()
	program := filepath.Join(dir, "engine")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ndir="+dir+"\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return &Engine{Kind: Podman, Program: program, Env: []string{"PATH=/usr/bin:/bin"}}, dir
}

// TestStartEnds: the engine's program that starts a container ends with the context, and
// with the word of the person.
func TestStartEnds(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		e, dir := fakeEngine(t, "echo $$ >$dir/pid; exec sleep 100\n")
		r := &Run{Engine: e, Workspace: "one"}
		if err := r.Open(t.TempDir()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if interrupted {
			r.Interrupted, cancel = context.WithCancel(context.Background())
			defer cancel()
		}
		ended := make(chan error, 1)
		go func() { ended <- r.Start(ctx, nil, []string{"/stage"}, false) }()
		pid := ""
		for pid == "" {
			text, _ := os.ReadFile(filepath.Join(dir, "pid"))
			pid = strings.TrimSpace(string(text))
			time.Sleep(time.Millisecond)
		}
		cancel()
		err := <-ended
		if err == nil || interrupted != strings.Contains(err.Error(), "interrupted by a signal") {
			t.Errorf("interrupted %v: %v", interrupted, err)
		}
		if _, err := os.Stat("/proc/" + pid); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the engine runs on: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestContainerStaysKnown: the directory of a container that the engine cannot remove stays,
// and the next start removes the container. One that has gone is forgotten.
func TestContainerStaysKnown(t *testing.T) {
	id := strings.Repeat("a1", 32)
	for said, known := range map[string]bool{"the daemon does not answer": true, "No such container: " + id: false} {
		e, dir := fakeEngine(t, "echo \"$@\" >>$dir/calls; [ -e $dir/works ] || { echo 'Error: "+said+"' >&2; exit 1; }\n")
		all := t.TempDir()
		open := func(workspace string) *Run {
			r := &Run{Engine: e, Workspace: workspace}
			if err := r.Open(all); err != nil {
				t.Fatal(err)
			}
			return r
		}
		r := open("one")
		if err := os.WriteFile(filepath.Join(all, "one", cidFile), []byte(id), 0o600); err != nil {
			t.Fatal(err)
		}
		r.Remove()
		if err := r.Close(); (err != nil) != known {
			t.Errorf("%s: closing: %v", said, err)
		}
		if err := open("two").Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(all, "one")); (err == nil) != known {
			t.Errorf("%s: the directory: %v", said, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "works"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := open("three").Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(all); err != nil || len(left) != 0 {
			t.Errorf("%s: left: %v %v", said, left, err)
		}
		calls, err := os.ReadFile(filepath.Join(dir, "calls"))
		if want := strings.Repeat("rm --force --volumes "+id+"\n", map[bool]int{true: 3, false: 1}[known]); err != nil || string(calls) != want {
			t.Errorf("%s: the engine got %q %v", said, calls, err)
		}
	}
}

// TestMountNames: a name that an engine would read as another is no mount.
func TestMountNames(t *testing.T) {
	r := &Run{Engine: &Engine{Kind: Podman}}
	for name, ok := range map[string]bool{"/a,b": true, "/é": true, "/\ufffd": true, "/\xff": false, "/a\xc3": false, "/a\rb": false} {
		if mount, err := r.mount(sandbox.HostBind{Source: name, Target: "/x"}); (err == nil) != ok {
			t.Errorf("%q: %q %v", name, mount, err)
		}
	}
}

// TestRemovalUnderWay: a container that the engine removes by itself is waited for.
func TestRemovalUnderWay(t *testing.T) {
	e, dir := fakeEngine(t, "[ ! -e $dir/asked ] || { echo 'Error response from daemon: No such container: x' >&2; exit 1; }\n"+
		": >$dir/asked; echo 'Error response from daemon: removal of container x is already in progress' >&2; exit 1\n")
	r := &Run{Engine: e, dir: dir}
	if err := os.WriteFile(filepath.Join(dir, cidFile), []byte(strings.Repeat("a1", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r.Remove(); r.left {
		t.Error("it is said to be left")
	}
}
