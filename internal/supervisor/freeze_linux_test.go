package supervisor

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"carrel/internal/procfs"
	"carrel/internal/seccomp"
	"carrel/internal/seccomp/install"

	"golang.org/x/sys/unix"
)

// desk starts a script as the first process of a pid namespace.
func desk(t *testing.T, script string) (*treeFreezer, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.SysProcAttr = ownNamespace()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	f, err := newTreeFreezer(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return f, cmd
}

// ownNamespace makes a command the first process of a pid namespace.
func ownNamespace() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}}
}

// named finds a process of the desk by the last word of its command line.
func named(t *testing.T, f *treeFreezer, word string) (pid int) {
	t.Helper()
	waitFor(t, word, func() bool {
		for _, p := range f.members() {
			if argv := describe(p.pid, "").Argv; len(argv) > 0 && argv[len(argv)-1] == word {
				pid = p.pid
				return true
			}
		}
		return false
	})
	return pid
}

func stateOf(pid int) byte {
	s, _ := procfs.ReadStat(pid)
	return s.State
}

func TestFreezeAndThaw(t *testing.T) {
	f, cmd := desk(t, "sleep 1001 & sleep 1002 & (sleep 1003 & exec setsid sleep 1004) & wait")
	other := exec.Command("sleep", "1001")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	var pids []int
	for _, word := range []string{"1001", "1003", "1004"} {
		pids = append(pids, named(t, f, word))
	}
	before := named(t, f, "1002")
	_ = unix.Kill(before, unix.SIGSTOP)
	waitFor(t, "a stopped one", func() bool { return stateOf(before) == 'T' })
	all := func(state byte) bool {
		for _, pid := range append(pids, cmd.Process.Pid) {
			if stateOf(pid) != state {
				return false
			}
		}
		return stateOf(before) == 'T'
	}
	for range 3 {
		if err := f.Freeze(); err != nil || !all('T') {
			t.Fatalf("not stopped: %v", err)
		}
		if stateOf(other.Process.Pid) == 'T' {
			t.Error("somebody else was stopped")
		}
		_ = unix.Kill(pids[0], unix.SIGCONT)
		_ = unix.Kill(cmd.Process.Pid, unix.SIGCONT)
		time.Sleep(10 * time.Millisecond)
		waitFor(t, "what was continued to be stopped again", func() bool { return all('T') })
		if err := f.Thaw(); err != nil {
			t.Error(err)
		}
		waitFor(t, "all but one to go on", func() bool { return all('S') })
	}
	if err := f.Thaw(); err != nil {
		t.Error(err)
	}
	if fds, _ := os.ReadDir("/proc/self/fd"); len(fds) > 40 {
		t.Errorf("%d descriptors are open", len(fds))
	}
}

// TestFreezeIsNoStopOfAChild: a stage that waits for its children, as job control does,
// does not see them stopped, even where it gets the processor after they have.
func TestFreezeIsNoStopOfAChild(t *testing.T) {
	if os.Getenv(watchVariable) != "" {
		watchChild()
	}
	var first unix.CPUSet
	first.Set(0)
	for range 3 {
		busy := exec.Command("/bin/sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = busy.Process.Kill(); _ = busy.Wait() }()
		_ = unix.SchedSetaffinity(busy.Process.Pid, &first)
	}
	stage := exec.Command("/proc/self/exe", "-test.run=^TestFreezeIsNoStopOfAChild$")
	stage.Env = append(os.Environ(), watchVariable+"=1")
	stage.SysProcAttr = ownNamespace()
	in, _ := stage.StdinPipe()
	out, err := stage.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := stage.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = stage.Wait() }()
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	f, err := newTreeFreezer(stage.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	threads, _ := os.ReadDir(procPath(stage.Process.Pid, "task"))
	for _, e := range threads {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			_ = unix.SchedSetaffinity(tid, &first)
		}
	}
	for range 40 {
		if err := errors.Join(f.Freeze(), f.Thaw()); err != nil {
			t.Fatal(err)
		}
	}
	_ = in.Close()
	if seen, _ := io.ReadAll(out); len(seen) > 0 {
		t.Errorf("the stage saw its child stopped %d times in 40", len(seen))
	}
}

// watchVariable makes the test binary a stage, see [watchChild].
const watchVariable = "CARREL_TEST_WATCH_CHILD"

// watchChild writes a byte when it waits for its child, and one for each time that it
// sees it stopped. It ends with its standard input.
func watchChild() {
	child := exec.Command("/bin/sleep", "1006")
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	if child.Start() != nil {
		os.Exit(3)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = child.Process.Kill()
	}()
	_, _ = os.Stdout.WriteString("w")
	for {
		var status syscall.WaitStatus
		switch _, err := syscall.Wait4(child.Process.Pid, &status, syscall.WUNTRACED, nil); {
		case err == syscall.EINTR:
		case err != nil || !status.Stopped():
			os.Exit(0)
		default:
			_, _ = os.Stdout.WriteString("s")
		}
	}
}

// TestFreezeNestedNamespaces: a pid namespace below is frozen too.
func TestFreezeNestedNamespaces(t *testing.T) {
	f, _ := desk(t, "unshare --user --pid --fork --map-root-user sleep 1005 & wait")
	pid := named(t, f, "1005")
	if !inNamespace(pid, map[uint64]bool{f.nsPID: true}) {
		t.Error("a namespace below was not recognised")
	}
	if inNamespace(os.Getpid(), map[uint64]bool{f.nsPID: true}) {
		t.Error("our own namespace is not one below")
	}
	if err := f.Freeze(); err != nil || stateOf(pid) != 'T' {
		t.Errorf("state %c, %v", stateOf(pid), err)
	}
	if err := f.Thaw(); err != nil {
		t.Error(err)
	}
}

// TestFreezeBusyDesk: processes that make processes all the time are caught.
func TestFreezeBusyDesk(t *testing.T) {
	dir := t.TempDir()
	f, _ := desk(t, "cd "+dir+"; for i in 1 2 3 4; do (while :; do /bin/true; echo x >>n$i; done) & done; wait")
	size := func() (n int64) {
		for i := range 4 {
			if st, err := os.Stat(dir + "/n" + strconv.Itoa(i+1)); err == nil {
				n += st.Size()
			}
		}
		return n
	}
	for range 5 {
		at := size()
		waitFor(t, "work", func() bool { return size() > at+8 })
		if err := f.Freeze(); err != nil {
			t.Fatal(err)
		}
		at = size()
		time.Sleep(50 * time.Millisecond)
		if size() != at {
			t.Error("something worked on while frozen")
		}
		if err := f.Thaw(); err != nil {
			t.Error(err)
		}
	}
}

// TestFreezerNeedsANamespace: where the stage shares our pid namespace, everything that
// runs on the machine would be stopped, and we with it.
func TestFreezerNeedsANamespace(t *testing.T) {
	cmd := exec.Command("sleep", "1007")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if f, err := newTreeFreezer(cmd.Process.Pid); f != nil || err == nil {
		t.Error("there is a freezer of our own namespace")
	}
}

// TestFreezerOfNobody: what cannot be frozen has no Freezer, also none that is a nil
// pointer, which whoever looks would take for one.
func TestFreezerOfNobody(t *testing.T) {
	if f, err := NewFreezer(1<<30, nil); f != nil || err == nil {
		t.Errorf("%#v, %v", f, err)
	}
}

// TestGroupFreezer tries a real control group where this machine lets us make
// one, and its files' doubles in any case.
func TestGroupFreezer(t *testing.T) {
	dir := t.TempDir()
	if newGroupFreezer([]string{dir, "/none"}) != nil {
		t.Error("a group without a freezer")
	}
	for name, text := range map[string]string{"cgroup.freeze": "0", "cgroup.events": "populated 1\nfrozen 1\n"} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := newGroupFreezer([]string{"/none", dir})
	for want, call := range map[string]func() error{"1": f.Freeze, "0": f.Thaw} {
		if err := call(); err != nil {
			t.Error(err)
		}
		if got, _ := os.ReadFile(dir + "/cgroup.freeze"); string(got) != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestGroupFreezerForReal(t *testing.T) {
	dir := "/sys/fs/cgroup/freezer/carrel-test-" + strconv.Itoa(os.Getpid())
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no control group to limit root here: %v", err)
	}
	cmd := exec.Command("sleep", "1006")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		waitFor(t, "the group to go", func() bool { return os.Remove(dir) == nil })
	}()
	if err := os.WriteFile(dir+"/cgroup.procs", []byte(strconv.Itoa(cmd.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	f := newGroupFreezer([]string{dir})
	if err := f.Freeze(); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(dir + "/freezer.state"); strings.TrimSpace(string(text)) != "FROZEN" {
		t.Errorf("%q", text)
	}
	if err := f.Thaw(); err != nil {
		t.Error(err)
	}
	waitFor(t, "it to sleep again", func() bool { return stateOf(cmd.Process.Pid) == 'S' })
}

// heldCall makes the test binary a process one of whose threads waits for the
// answer to a trapped call, as in TestB21GroupWithHeldCalls; the others look at
// their standard input, and answer.
func heldCall() {
	listener := make(chan int)
	go func() {
		runtime.LockOSThread()
		filter := []seccomp.Instruction{{Code: 0x20}, {Code: 0x15, Jf: 1, K: unix.SYS_GETPPID}, {Code: 0x06, K: 0x7fc00000}, {Code: 0x06, K: 0x7fff0000}}
		_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		fd, err := install.Filter(seccomp.Marshal(filter), true)
		if err != nil {
			os.Exit(3)
		}
		listener <- fd
		_, _, _ = unix.Syscall(unix.SYS_GETPPID, 0, 0, 0)
		os.Exit(7)
	}()
	fd := <-listener
	var call [80]byte // struct seccomp_notif
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&call))); e != 0 {
		os.Exit(4)
	}
	_, _ = os.Stdout.WriteString("held")
	_, _ = os.Stdin.Read(make([]byte, 1))
	var answer [24]byte // struct seccomp_notif_resp
	copy(answer[:8], call[:8])
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&answer)))
	select {}
}

// TestB21GroupWithHeldCalls: a control group of version 2 does not say that it is
// frozen while a task in it waits for an answer. It is paused all the same:
// whoever is not held by the kernel is held by who answers.
func TestB21GroupWithHeldCalls(t *testing.T) {
	if os.Getenv(heldVariable) != "" {
		heldCall()
	}
	dir := ""
	for _, at := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		own := at + "/carrel-test-" + strconv.Itoa(os.Getpid())
		if _, err := os.Stat(at + "/cgroup.controllers"); err == nil && os.Mkdir(own, 0o755) == nil {
			dir = own
			break
		}
	}
	if dir == "" {
		t.Skip("no control group to limit root here: none of version 2")
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestB21GroupWithHeldCalls$")
	cmd.Env = append(os.Environ(), heldVariable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		waitFor(t, "the group to go", func() bool { return os.Remove(dir) == nil })
	}()
	if _, err := io.ReadFull(out, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/cgroup.procs", []byte(strconv.Itoa(cmd.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	f, err := NewFreezer(os.Getpid(), []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := f.Freeze(); err != nil || time.Since(start) > 3*groupSettle {
		t.Fatalf("after %v: %v", time.Since(start), err)
	}
	if f.(*groupFreezer).isFrozen() {
		t.Log("this kernel counts a task that waits for an answer as frozen")
	}
	_, _ = in.Write([]byte{1})
	time.Sleep(100 * time.Millisecond)
	if s, _ := procfs.ReadStat(cmd.Process.Pid); s.Gone() {
		t.Error("it went on while frozen")
	}
	if err := f.Thaw(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("thawed, it ended with %d, want 7: its call has been answered", code)
	}
}

const heldVariable = "CARREL_TEST_HELD"
