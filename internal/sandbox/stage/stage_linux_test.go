package stage_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/sandbox"
	"carrel/internal/sandbox/stage"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary be the stage that it launches.
func TestMain(m *testing.M) {
	if sandbox.IsStage(os.Args[0]) {
		if len(os.Args) > 1 && os.Args[1] == elsewhere {
			go stage.Main()
			select {}
		}
		stage.Main()
	}
	os.Exit(m.Run())
}

// elsewhere has the test binary begin the stage on another thread than its first.
const elsewhere = "elsewhere"

// TestStageKeepsItsThread: what is confined is the thread that the kernel calls the process. A
// stage that finds itself on another one refuses to be a stage.
func TestStageKeepsItsThread(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		cmd := exec.Command(self, elsewhere)
		cmd.Args[0] = sandbox.StageArg0
		if said, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(said), "another thread than the main one") {
			t.Fatalf("%v: %s", err, said)
		}
	}
}

// room is a small plan: the system read-only, one directory of the test's own.
func room(t *testing.T) (*sandbox.Plan, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &sandbox.Plan{UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), NewNet: true, Loopback: true, Mounts: []sandbox.Mount{
		{Kind: sandbox.MountProc, Target: "/proc", Dir: true},
		{Kind: sandbox.MountTmpfs, Target: "/dev", Perm: 0o755, Dir: true},
		{Kind: sandbox.MountDevice, Target: "/dev/null", Source: "/dev/null"},
		{Kind: sandbox.MountTmpfs, Target: "/run", Perm: 0o755, Dir: true},
		{Kind: sandbox.MountBind, Target: sandbox.SelfPath, Source: self, ReadOnly: true},
		{Kind: sandbox.MountBind, Target: "/usr", Source: "/usr", ReadOnly: true, Dir: true},
		{Kind: sandbox.MountTmpfs, Target: "/tmp", Perm: 0o1777, Dir: true},
	}}
	for _, name := range []string{"/bin", "/lib", "/lib64"} {
		if to, err := os.Readlink(name); err == nil {
			p.Mounts = append(p.Mounts, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: name, Source: to})
		} else {
			p.Mounts = append(p.Mounts, sandbox.Mount{Kind: sandbox.MountBind, Target: name, Source: name, ReadOnly: true, Optional: true})
		}
	}
	p.Command = shell("exit 7")
	return p, dir
}

func shell(script string) sandbox.Command {
	return sandbox.Command{Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/"}
}

func launch(t *testing.T, p *sandbox.Plan) (*sandbox.Walls, error) {
	t.Helper()
	return launchIn(t, p, nil)
}

func launchIn(t *testing.T, p *sandbox.Plan, early *sandbox.Stage) (*sandbox.Walls, error) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	w, err := sandbox.Launch(p, "/proc/self/exe", early, [3]*os.File{null, null, null}, nil, nil, nil)
	if err == nil {
		t.Cleanup(w.Kill)
	}
	return w, err
}

func bindOf(t *testing.T, dir string) sandbox.Mount {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	return sandbox.Mount{Kind: sandbox.MountBind, Target: "/tmp/desk", Source: dir, Dir: true, Dev: st.Dev, Ino: st.Ino}
}

// TestStageOutlivesThreads: the kernel sends a death signal when the thread ends that has
// started a process. No stage ends with the thread of who has asked for it.
func TestStageOutlivesThreads(t *testing.T) {
	p, _ := room(t)
	type answer struct {
		early *sandbox.Stage
		tid   int
	}
	asked := make(chan answer)
	ask := func() {
		runtime.LockOSThread()            // and the thread ends with the goroutine
		if unix.Gettid() == os.Getpid() { // but for the main one
			defer runtime.UnlockOSThread()
			asked <- answer{}
			return
		}
		asked <- answer{sandbox.StartStage("/proc/self/exe", true), unix.Gettid()}
	}
	var got answer
	for got.early == nil {
		go ask()
		got = <-asked
	}
	for end := time.Now().Add(10 * time.Second); unix.Tgkill(os.Getpid(), got.tid, 0) == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the thread does not end")
		}
	}
	w, err := launchIn(t, p, got.early)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := w.Wait(sandbox.FirstCommand); err != nil || e.Code != 7 {
		t.Errorf("%+v %v", e, err)
	}
}

func TestCommandsInOneRoom(t *testing.T) {
	p, dir := room(t)
	p.Mounts = append(p.Mounts, bindOf(t, dir))
	p.Command = shell("while [ ! -e /tmp/desk/over ]; do sleep 0.01; done; exit 7")
	w, err := launch(t, p)
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	stdio := [3]*os.File{null, null, null}
	id, err := w.Exec(shell("touch /tmp/desk/end; kill -TERM $$"), stdio)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := w.Wait(id); err != nil || e.Signal != int(syscall.SIGTERM) {
		t.Errorf("the second command: %+v %v", e, err)
	}
	if err := os.WriteFile(dir+"/over", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if e, err := w.Wait(sandbox.FirstCommand); err != nil || e.Code != 7 {
		t.Errorf("the first command: %+v %v", e, err)
	}
	if _, err := os.Stat(dir + "/end"); err != nil {
		t.Errorf("the second command was not in the same room: %v", err)
	}
}

// TestReplacedSources: a source is what was decided about, or the start is
// refused; neither another directory nor a link may stand in for it.
func TestReplacedSources(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"canary: unchanged": func(string) error { return nil },
		"another directory": func(dir string) error { return errors.Join(os.Rename(dir+"/a", dir+"/b"), os.Mkdir(dir+"/a", 0o755)) },
		"a link":            func(dir string) error { return errors.Join(os.Rename(dir+"/a", dir+"/b"), os.Symlink("b", dir+"/a")) },
	} {
		t.Run(name, func(t *testing.T) {
			p, dir := room(t)
			if err := os.Mkdir(dir+"/a", 0o755); err != nil {
				t.Fatal(err)
			}
			p.Mounts = append(p.Mounts, bindOf(t, dir+"/a"))
			if err := change(dir); err != nil {
				t.Fatal(err)
			}
			_, err := launch(t, p)
			var setup *sandbox.SetupError
			if refused := errors.As(err, &setup); refused == strings.HasPrefix(name, "canary") {
				t.Errorf("refused is %v: %v", refused, err)
			}
			if setup != nil && setup.Path != dir+"/a" {
				t.Errorf("the message names %q", setup.Path)
			}
		})
	}
}

// TestMaskWithoutATarget: what is to be hidden must be there when its turn comes.
func TestMaskWithoutATarget(t *testing.T) {
	p, dir := room(t)
	p.Mounts = append(p.Mounts, bindOf(t, dir), sandbox.Mount{Kind: sandbox.MountMask, Target: "/tmp/desk/gone"})
	if _, err := launch(t, p); err == nil {
		t.Error("the walls stand without the mask")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("something was made on the host: %v", entries)
	}
}
