package supervisor

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// desk starts a script as the first process of a pid namespace.
func desk(t *testing.T, script string) (*treeFreezer, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}}
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
	s, _ := statOf(pid)
	return s.state
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
