package interceptor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"carrel/internal/broker"
	"carrel/internal/config"
	"carrel/internal/fuserelay"
	"carrel/internal/guard"
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/policy"
	"carrel/internal/steps"

	"golang.org/x/sys/unix"
)

// relayEnv has the test program be the relay that its value mounts.
const relayEnv = "CARREL_TEST_RELAY"

func TestMain(m *testing.M) {
	if place := os.Getenv(relayEnv); place != "" {
		if err := fuserelay.Run(os.Stdin, os.Stdout, []fuserelay.Place{{From: "0", To: place}}, func() error {
			_, err := fmt.Fprintln(os.Stderr, "ready")
			return err
		}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// privateMounts gives this thread, and what it starts, mounts of its own.
func privateMounts() error {
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
		return err
	}
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
}

// transports are the two ways by which requests come.
var transports = []string{"mount", "stream"}

// desk is a directory that is served over itself in mounts of its own, with a history.
type desk struct {
	root, state string
	server      *Server
	recorder    *steps.Recorder
	judge       *guard.Guard
	masked      func(path string) bool
	mu          sync.Mutex
	refused     []string
	asked       [64]atomic.Int64 // requests, by what they are
	inside      chan func()
	ended       chan error
	stop        func()
}

// fuseOrSkip says that this machine has no FUSE for this user.
func fuseOrSkip(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("no /dev/fuse here")
	}
}

func newDesk(t *testing.T, transport string, layers ...policy.Layer) *desk {
	t.Helper()
	fuseOrSkip(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{root: dir + "/project", state: dir + "/history", inside: make(chan func()), ended: make(chan error, 1)}
	for _, at := range []string{d.root, d.state} {
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	os.Remove(d.state)
	d.decided(t, layers)
	d.open(t)
	fd, err := unix.Open(d.root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	d.server, err = New(Config{
		Roots: []Root{{Path: d.root, FD: fd}}, Decider: d.judge, Recorder: recorder{d}, Masked: func(path string) bool { return d.masked(path) },
		Refused: func(ch *broker.Change, v broker.Verdict) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.refused = append(d.refused, ch.Op+" "+strings.TrimPrefix(ch.Path, d.root+"/")+": "+v.Rule)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if transport == "mount" {
		d.mount(t)
	} else {
		d.relay(t)
	}
	t.Cleanup(func() {
		close(d.inside)
		d.stop()
		if err := <-d.ended; err != nil {
			t.Errorf("serving: %v", err)
		}
		d.server.Close()
		_ = d.recorder.Close(0)
	})
	return d
}

// counted counts the requests that come.
type counted struct {
	Conn
	d *desk
}

func (c *counted) Read(buf []byte) (int, error) {
	n, err := c.Conn.Read(buf)
	if r, bad := parse(buf[:max(n, 0)]); err == nil && bad == nil {
		c.d.asked[r.op%uint32(len(c.d.asked))].Add(1)
	}
	return n, err
}

// requests gives how many came since it was last asked, of the kinds that take time.
func (d *desk) requests() (all int64, kinds string) {
	for op := range d.asked {
		n := d.asked[op].Swap(0)
		if n == 0 || op == opForget || op == opBatchForget {
			continue
		}
		all += n
		kinds += fmt.Sprintf(" %d:%d", op, n)
	}
	return all, kinds
}

// recorder tells history and guard, as a session does.
type recorder struct{ *desk }

func (r recorder) Before(ch *broker.Change) error { return r.recorder.Before(ch) }
func (r recorder) After(ch *broker.Change, err error) {
	r.recorder.After(ch, err)
	if err == nil {
		r.judge.Made(ch)
	}
}

func (d *desk) decided(t *testing.T, layers []policy.Layer) {
	t.Helper()
	scope := policy.Scope{Cwd: d.root, Project: d.root, Home: "/nohome", Tmp: "/tmp"}
	eff, err := policy.Decide(scope, nil, append(layers, policy.Defaults(policy.Agent)))
	if err != nil {
		t.Fatal(err)
	}
	d.judge = guard.New(guard.Config{Policy: eff, Project: d.root, Roots: []string{d.root}})
	d.masked = func(path string) bool { return eff.Lookup(path).Access == policy.Deny }
}

func (d *desk) open(t *testing.T) {
	t.Helper()
	var err error
	d.recorder, err = steps.Open(steps.Options{
		Dir: d.state, Stage: os.Getpid(), Roots: []string{d.root}, Run: journal.Begin{Kind: journal.StepRun, Run: "run"}, Granted: true,
		Safeguards: config.Safeguards{}, Limits: history.DefaultLimits(),
		Begun: func() {}, Used: func() {}, Interrupted: func([]uint64) {}, Note: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// mount mounts by this machine's kernel, over the root in mounts of one thread.
func (d *desk) mount(t *testing.T) {
	t.Helper()
	mounted := make(chan error)
	go func() {
		runtime.LockOSThread() // it ends with the goroutine, as its mounts do
		point := filepath.Dir(d.root) + "/point"
		err := privateMounts()
		if err == nil {
			err = os.Mkdir(point, 0o700)
		}
		var device *os.File
		if err == nil {
			device, err = fuserelay.Mount(point)
		}
		if err == nil {
			go func() { d.ended <- d.server.Serve(&counted{Device(int(device.Fd())), d}) }()
			err = unix.Mount(point+"/0", d.root, "", unix.MS_BIND, "")
		}
		d.stop = func() {}
		mounted <- err
		for do := range d.inside {
			do()
		}
		_ = unix.Unmount(d.root, unix.MNT_DETACH)
		_ = unix.Unmount(point, unix.MNT_DETACH)
		<-mounted
		device.Close()
	}()
	if err := <-mounted; err != nil {
		t.Fatal(err)
	}
	d.stop = func() { close(mounted) }
}

// relay mounts in another process, which has nothing but two pipes.
func (d *desk) relay(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), relayEnv+"="+d.root)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS} // the runtime makes them private
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	said, err3 := cmd.StderrPipe()
	if err := errors.Join(err1, err2, err3, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	go func() { d.ended <- d.server.Serve(&counted{Stream(out, in), d}) }()
	buf := make([]byte, 200)
	if n, err := said.Read(buf); string(buf[:n]) != "ready\n" {
		t.Fatalf("the relay: %s%v", buf[:n], err)
	}
	entered := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_FS)
		if err == nil {
			var ns *os.File
			if ns, err = os.Open(fmt.Sprintf("/proc/%d/ns/mnt", cmd.Process.Pid)); err == nil {
				err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNS)
				ns.Close()
			}
		}
		entered <- err
		for do := range d.inside {
			do()
		}
	}()
	if err := <-entered; err != nil {
		t.Fatal(err)
	}
	d.stop = func() {
		in.Close()
		err := <-d.ended // before the pipes are closed here
		d.ended <- errors.Join(err, cmd.Wait())
	}
}

// do runs something where the root is what is served.
func (d *desk) do(f func()) {
	done := make(chan struct{})
	d.inside <- func() {
		defer close(done)
		f()
	}
	<-done
}

// sh runs a shell command there. The shell enters the directory, and not the runtime when it
// forks: that would hold up the threads of this process, which serve it.
func (d *desk) sh(script string) (out string, err error) {
	d.do(func() {
		cmd := exec.Command("/bin/sh", "-c", `cd "$0" && eval "$1"`, d.root, script)
		cmd.Dir = "/"
		var b []byte
		b, err = cmd.CombinedOutput()
		out = string(b)
	})
	return out, err
}

func (d *desk) must(t *testing.T, script string) string {
	t.Helper()
	out, err := d.sh(script)
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

// endStep ends what was one run, and begins another.
func (d *desk) endStep(t *testing.T) {
	t.Helper()
	if err := d.recorder.Close(0); err != nil {
		t.Fatal(err)
	}
	d.open(t)
}

// undo takes all steps back that are not undone, the newest first, or only the newest.
func (d *desk) undo(t *testing.T, all bool) {
	t.Helper()
	if err := d.recorder.Close(0); err != nil {
		t.Fatal(err)
	}
	defer d.open(t)
	store, err := history.Open(d.state)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	log, err := store.Survey()
	if err != nil {
		t.Fatal(err)
	}
	var numbers []uint64
	for _, st := range slices.Backward(log.Changes()) {
		if !log.Undone(st) {
			numbers = append(numbers, st.Number)
		}
	}
	if !all {
		numbers = numbers[:1]
	}
	if _, err := store.Undo(log, history.Request{Steps: numbers, Roots: []string{d.root}}); err != nil {
		t.Fatalf("undo of %v: %v", numbers, err)
	}
}

// tree is a directory as text: everything that an undo brings back.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(at string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s %o %d.%d", strings.TrimPrefix(at, dir), st.Mode, st.Mtim.Sec, st.Mtim.Nsec)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			data, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, " %x", data)
		case unix.S_IFLNK:
			to, _ := os.Readlink(at)
			out.WriteString(" -> " + to)
		}
		buf := make([]byte, 100)
		if n, err := unix.Lgetxattr(at, "user.x", buf); err == nil {
			fmt.Fprintf(&out, " x=%q", buf[:n])
		}
		out.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
