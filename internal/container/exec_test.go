package container

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/advice"
)

// shell is an engine with the shell as its program: its calls are scripts.
var shell = &Engine{Kind: Podman, Program: "/bin/sh", Env: []string{"PATH=/usr/bin:/bin"}}

func TestEngineAnswers(t *testing.T) {
	out, err := shell.Do(t.Context(), Call{Args: []string{"-c", "cat; echo two >&2; pwd; env"}, Stdin: strings.NewReader("one\n")})
	if err != nil || !strings.HasPrefix(string(out), "one\n/\nP") || strings.Contains(string(out), "HOME=") {
		t.Errorf("%q, %v", out, err)
	}
}

func TestEngineFails(t *testing.T) {
	for _, c := range []struct{ said, want, hint string }{
		{"strange", "podman -c: strange", ""},
		{"one\nError: two", "podman -c: two", ""},
		{"", "podman -c: exit status 3", ""},
		{"Error: OCI runtime error: crun: cgroups in hybrid mode not supported, drop all controllers from cgroupv2",
			"podman refuses: crun does not know hybrid cgroups", `set runtime = "runc"`},
		{"Error: default OCI runtime \"nonesuch\" not found: invalid argument", "its configuration names is not installed", "containers.conf"},
		{"Cannot connect to the Docker daemon at unix:///s. Is the docker daemon running?", "its daemon does not answer",
			"systemctl start docker"},
		{"Got permission denied while trying to connect to the Docker daemon socket at unix:///s", "daemon refuses this user", "rootless podman"},
		{"Error: error setting rlimit type 7: operation not permitted", "may not raise limits", "default_ulimits"},
	} {
		_, err := shell.Do(t.Context(), Call{Args: []string{"-c", `printf %s "$0" >&2; exit 3`, c.said}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.said, err, c.want)
			continue
		}
		var a *advice.Error
		if errors.As(err, &a) != (c.hint != "") || a != nil && !strings.Contains(a.Hint, c.hint) {
			t.Errorf("%q: advice %v, want %q", c.said, a, c.hint)
		}
	}
}

func TestEngineIsBounded(t *testing.T) {
	start := time.Now()
	if _, err := shell.Do(t.Context(), Call{Args: []string{"-c", "yes"}}); err == nil || !strings.Contains(err.Error(), "said more than") {
		t.Errorf("much output: %v", err)
	}
	if _, err := shell.Do(t.Context(), Call{Args: []string{"-c", "exec sleep 60"},
		Time: 50 * time.Millisecond}); err == nil || !strings.Contains(err.Error(), "took longer than 50ms") {
		t.Errorf("no answer: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shell.Do(ctx, Call{Args: []string{"-c", "exec sleep 60"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("not wanted any more: %v", err)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("that took %s", took)
	}
	_, err := shell.Do(t.Context(), Call{Args: []string{"-c", "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1"}})
	if err == nil || len(err.Error()) > 1000 {
		t.Errorf("a long complaint: %d bytes", len(err.Error()))
	}
}

func TestEngineSocketsAreNoMounts(t *testing.T) {
	dir := t.TempDir()
	runtimeDir, other := filepath.Join(dir, "run"), filepath.Join(dir, "other")
	for _, d := range []string{filepath.Join(runtimeDir, "podman"), other} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	listen := func(at string) {
		t.Helper()
		l, err := net.Listen("unix", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	listen(filepath.Join(runtimeDir, "podman", "podman.sock"))
	listen(filepath.Join(dir, "docker.sock"))
	listen(filepath.Join(dir, "mine.sock"))
	listen(filepath.Join(other, "app.sock"))
	if err := os.Symlink(filepath.Join(dir, "mine.sock"), filepath.Join(other, "link")); err != nil {
		t.Fatal(err)
	}
	e := &Engine{Kind: Docker, Socket: filepath.Join(dir, "mine.sock")}
	for rel, refused := range map[string]bool{
		"docker.sock": true, "mine.sock": true, "other/link": true, ".": true, "run": true, "run/podman/podman.sock": true,
		"other": false, "other/app.sock": false, "gone": false,
	} {
		err := e.CheckMount(filepath.Join(dir, rel), runtimeDir)
		if refused != (err != nil) {
			t.Errorf("%s: %v", rel, err)
		}
	}
}

// TestReadOnlyContainers: no program is put into a container with a read-only system, and
// that is told apart from one that has ended and from what fails.
func TestReadOnlyContainers(t *testing.T) {
	dir := t.TempDir()
	for fixed, want := range map[string]error{"true": ErrReadOnly, "false": nil} {
		e := &Engine{Kind: Podman, Program: filepath.Join(dir, fixed)}
		script := "#!/bin/sh\ncase $1 in inspect) echo " + fixed + ";; cp) echo $2 $3 >>" + dir + "/copied;; esac\n"
		if err := os.WriteFile(e.Program, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := e.CopyIn(t.Context(), "id", []string{"/p/carrel", "/p/carrel-stage"}); !errors.Is(err, want) {
			t.Errorf("read-only %s: %v, want %v", fixed, err, want)
		}
	}
	copied, err := os.ReadFile(dir + "/copied")
	if want := "/p/carrel id:/usr/local/bin/carrel\n/p/carrel-stage id:/usr/local/bin/carrel-stage\n"; err != nil || string(copied) != want {
		t.Errorf("copied: %q, %v", copied, err)
	}
}
