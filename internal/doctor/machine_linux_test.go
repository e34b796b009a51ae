package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"carrel/internal/sandbox"
	"carrel/internal/sandbox/stage"

	"golang.org/x/sys/unix"
)

// TestMain makes the test binary the stage where it is started as one.
func TestMain(m *testing.M) {
	if sandbox.IsStage(os.Args[0]) {
		stage.Main()
	}
	os.Exit(m.Run())
}

// TestThisMachine makes the real probes where the other tests of this module
// build walls too: what they need must be found, and nothing may stay behind.
func TestThisMachine(t *testing.T) {
	state := t.TempDir()
	r := Examine(This(os.Getenv, state, ""))
	if !r.Ready {
		t.Errorf("not ready, yet walls are needed by the tests: %v", r.Lacking())
		for _, c := range r.Checks {
			t.Logf("%s: %s: %s", c.Status, c.Name, c.Found)
		}
	}
	if left, err := os.ReadDir(state); err != nil || len(left) > 0 {
		t.Errorf("left behind in the state directory: %v, %v", left, err)
	}
}

// TestExamineLeavesTheProcess: a server asks as well as a command that ends, so an examination
// changes nothing of the process that makes it.
func TestExamineLeavesTheProcess(t *testing.T) {
	state := t.TempDir()
	Examine(This(os.Getenv, state, "")) // what is opened once and kept
	before := stillState(t)
	Examine(This(os.Getenv, state, ""))
	if after := stillState(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// stillState is ownState when it changes no more: the runtime blocks signals for a moment where it
// makes a thread.
func stillState(t *testing.T) string {
	t.Helper()
	was := ownState(t)
	for range 100 {
		time.Sleep(5 * time.Millisecond)
		now := ownState(t)
		if now == was {
			return now
		}
		was = now
	}
	t.Fatalf("it changes all the time:\n%s", was)
	return ""
}

// ownState is what an examination could change of this process and of its main thread.
func ownState(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		name, _, _ := strings.Cut(line, ":")
		if slices.Contains([]string{"Umask", "Uid", "Gid", "Groups", "SigBlk", "SigIgn", "SigCgt", "NoNewPrivs", "Seccomp"}, name) ||
			strings.HasPrefix(name, "Cap") {
			out.WriteString(line)
		}
	}
	for _, link := range []string{"cwd", "root", "ns/user", "ns/mnt", "ns/pid", "ns/net", "ns/pid_for_children"} {
		to, err := os.Readlink("/proc/self/" + link)
		fmt.Fprintln(&out, link, to, err)
	}
	for _, file := range []string{"limits", "oom_score_adj", "cgroup", "loginuid"} {
		text, _ := os.ReadFile("/proc/self/" + file)
		out.Write(text)
	}
	subreaper := 0
	err = unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&subreaper)), 0, 0, 0)
	fmt.Fprintln(&out, "subreaper", subreaper, err)
	open, err := os.ReadDir("/proc/self/fd")
	fmt.Fprintln(&out, "descriptors", len(open), err)
	_, err = unix.Wait4(-1, nil, unix.WNOHANG, nil)
	fmt.Fprintln(&out, "children", err)
	return out.String()
}

// TestTrialsAsk: a trial whose plan cannot be built is an error with its errno.
func TestTrialsAsk(t *testing.T) {
	if err := try(TrialOverlay, t.TempDir()); err != nil {
		t.Logf("overlay: %v", err) // may be refused by the file system
	}
	plan, clean, err := trialPlan(TrialMounts, "")
	defer clean()
	if err != nil {
		t.Fatal(err)
	}
	plan.Mounts[1].Source = "/no/such/source"
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	_, err = sandbox.Launch(plan, selfExe, nil, [3]*os.File{null, null, null}, nil, nil, nil)
	if got := errnoNames[errnoOf(err)]; got != "ENOENT" {
		t.Errorf("got %v, errno %q, want ENOENT", err, got)
	}
}

func TestLookAt(t *testing.T) {
	dir := t.TempDir()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path, nearest    string
		exists, safe, writable bool
	}{
		{name: "there", path: real, nearest: real, exists: true, safe: true, writable: true},
		{name: "to be made", path: real + "/a/b", nearest: real, safe: true, writable: true},
		{name: "open to everybody", path: open, nearest: open, exists: true, writable: true},
		{name: "no place", path: "", writable: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := lookAt(tt.path)
			if got.Nearest != tt.nearest || got.Exists != tt.exists || got.Safe != tt.safe || (got.Denied == nil) != tt.writable {
				t.Errorf("got %+v", got)
			}
			if got.Known != (tt.path != "") {
				t.Errorf("free space known: %v", got.Known)
			}
		})
	}
}

// TestRootsAlone: a profile is for a program that nobody but root replaces.
func TestRootsAlone(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("making files of somebody else takes root")
	}
	base, err := os.MkdirTemp("/usr/local/lib", "carrel-test")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	program := filepath.Join(base, "carrel")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(base, "link")
	for _, err := range []error{os.Chmod(base, 0o755), os.Symlink("carrel", link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	look := func(what, path string, want bool) {
		t.Helper()
		if got := rootsAlone(path); got != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	look("root's", program, true)
	look("a link", link, false)
	look("nothing", base+"/none", false)
	look("not absolute", "carrel", false)
	for what, change := range map[string]func() error{
		"a file of another's":      func() error { return os.Chown(program, 4242, 0) },
		"a file that others write": func() error { return os.Chmod(program, 0o757) },
		"a directory of another's": func() error { return os.Chown(base, 4242, 0) },
		"a directory of a group":   func() error { return errors.Join(os.Chown(base, 0, 4242), os.Chmod(base, 0o775)) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		look(what, program, false)
		if err := errors.Join(os.Chown(program, 0, 0), os.Chmod(program, 0o755), os.Chown(base, 0, 0), os.Chmod(base, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	look("root's again", program, true)
}
