package container

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"carrel/internal/sandbox"
)

// TestRunArguments: the container has the user's ids, no capability, no network and no path
// but the named ones; the image and the first process come last, and no name is an option.
func TestRunArguments(t *testing.T) {
	for _, kind := range []string{Podman, Docker} {
		r := &Run{Engine: &Engine{Kind: kind}, Image: "name:tag", Workspace: "abc", UID: 1000, GID: 1001, Stage: "/opt/stage", dir: "/state/abc"}
		odd := sandbox.HostBind{Source: `/srv/a,b"c`, Target: "/.carrel/host/x", ReadOnly: true}
		first := []string{sandbox.ContainerStage, sandbox.ContainerArg, "1000", "1001", "1"}
		args, err := r.arguments([]sandbox.HostBind{odd}, first, false)
		if err != nil {
			t.Fatal(err)
		}
		line := strings.Join(args, " ")
		for _, want := range []string{
			"--cap-drop all ", "no-new-privileges ", "--read-only ", "--user 1000:1001 ", "--network none ", "--pull never ", "--no-healthcheck ",
			LabelWorkspace + "=abc ", `type=bind,"source=/srv/a,b""c",target=/.carrel/host/x,readonly`,
			"source=/state/abc/link,target=/.carrel/link,readonly",
		} {
			if !strings.Contains(line, want) {
				t.Errorf("%s: %q is not in %s", kind, want, line)
			}
		}
		for _, not := range []string{"--privileged", "--cap-add", "--init", "--volume", "--network host"} {
			if strings.Contains(line, not) {
				t.Errorf("%s: %q is in %s", kind, not, line)
			}
		}
		if end := args[len(args)-7:]; !slices.Equal(end, append([]string{"--entrypoint", first[0], "name:tag"}, first[1:]...)) {
			t.Errorf("%s: the end is %q", kind, end)
		}
		if _, err := r.arguments([]sandbox.HostBind{{Source: "/a\nb"}}, first, false); err == nil {
			t.Errorf("%s: a line break was taken", kind)
		}
	}
}

// TestContainerID: what stands where the engine writes the id becomes an argument only if
// it is one.
func TestContainerID(t *testing.T) {
	r := &Run{dir: t.TempDir()}
	for text, ok := range map[string]bool{
		strings.Repeat("a1", 32) + "\n": true, "": false, "--all": false, strings.Repeat("a", 63): false, strings.Repeat("G", 64): false,
	} {
		if err := os.WriteFile(filepath.Join(r.dir, cidFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := r.id(); (got != "") != ok {
			t.Errorf("%q gives %q", text, got)
		}
	}
}

// TestSweep: the directory of a container is removed once its workspace is gone. That of one
// that runs stays.
func TestSweep(t *testing.T) {
	all := t.TempDir()
	open := func(id string) *Run {
		r := &Run{Engine: &Engine{Kind: Podman, Program: "/bin/false"}, Workspace: id}
		if err := r.Open(all); err != nil {
			t.Fatal(err)
		}
		return r
	}
	runs := open("runs")
	if err := os.MkdirAll(filepath.Join(all, "gone", linkDir), 0o700); err != nil {
		t.Fatal(err)
	}
	next := open("next")
	entries, err := os.ReadDir(all)
	if err != nil || len(entries) != 2 || entries[0].Name() != "next" || entries[1].Name() != "runs" {
		t.Errorf("%v %v", entries, err)
	}
	for _, r := range []*Run{runs, next} {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestMonitorRemoves: a container whose monitor ends and takes its directory away is gone, and
// the engine is not started for it; one whose directory stays is removed by the engine.
func TestMonitorRemoves(t *testing.T) {
	for script, asked := range map[string]bool{`sleep 0.1; rmdir "$2"`: false, "sleep 0.1": true} {
		dir := t.TempDir()
		bundle, called := filepath.Join(dir, "bundle"), filepath.Join(dir, "called")
		engine := filepath.Join(dir, "engine")
		if err := errors.Join(os.Mkdir(bundle, 0o700), os.WriteFile(engine, []byte("#!/bin/sh\necho $* >"+called+"\n"), 0o700),
			os.WriteFile(filepath.Join(dir, cidFile), []byte(strings.Repeat("a1", 32)), 0o600)); err != nil {
			t.Fatal(err)
		}
		monitor := exec.Command("/bin/sh", "-c", script, "conmon", "-b", bundle)
		monitor.Dir = "/"
		if err := monitor.Start(); err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, 1)
		go func() { waited <- monitor.Wait() }()
		if err := os.WriteFile(filepath.Join(dir, pidFile), []byte(strconv.Itoa(monitor.Process.Pid)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := &Run{Engine: &Engine{Kind: Podman, Program: engine}, dir: dir}
		r.Remove()
		if err := <-waited; err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(called); (err == nil) != asked {
			t.Errorf("%q: the engine was started: %v, want %v", script, err == nil, asked)
		}
	}
}

// TestOpenTogether: starts at the same time do not take each other's new directories for left
// ones.
func TestOpenTogether(t *testing.T) {
	all := t.TempDir()
	var starts sync.WaitGroup
	for i := range 8 {
		starts.Go(func() {
			for n := range 60 {
				r := &Run{Engine: &Engine{Kind: Podman}, Workspace: fmt.Sprintf("%04x%04x", i, n)}
				if err := r.Open(all); err != nil {
					t.Errorf("start %d of %d: %v", n, i, err)
					return
				}
				if _, err := os.Stat(r.Dir()); err != nil {
					t.Error(err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	starts.Wait()
	if left, err := os.ReadDir(all); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
