package seccomp

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/policy"
	"carrel/internal/seccomp/install"
)

// A trapped child is this test binary twice: the first installs a filter on its
// thread, sends the listener over descriptor 3 and executes the second, all of
// whose threads carry the filter. That runs one of callers and prints what it
// found as JSON.
const (
	trapVariable   = "CARREL_TEST_TRAP"   // what the first is told: +opens, +blind
	callerVariable = "CARREL_TEST_CALLER" // name in callers
)

func trapAndExec(how string) error {
	o := parseLevel("userns")
	o.Broker, o.Opens = true, strings.Contains(how, "+opens")
	prog, err := Build(o)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	fd, err := install.Filter(Marshal(prog), true)
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(3, []byte{1}, unix.UnixRights(fd), nil, 0); err != nil {
		return err
	}
	if err := unix.Close(fd); err != nil {
		return err
	}
	unix.CloseOnExec(3)
	return syscall.Exec("/proc/self/exe", os.Args[:1], os.Environ())
}

// trappedChild is a running child and its listener.
type trappedChild struct {
	*Listener
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
}

func startTrapped(t testing.TB, how, caller string) *trappedChild {
	t.Helper()
	c, fd := startBare(t, how, caller)
	l, err := NewListener(fd)
	if err != nil {
		t.Fatal(err)
	}
	c.Listener = l
	t.Cleanup(l.Close)
	return c
}

// askForListener installs nothing and returns nil where the kernel has the flags of a filter
// with a listener: it looks at them first, and then fails to read a program.
func askForListener() error {
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, 0)
	if errno == unix.EFAULT {
		return nil
	}
	return errno
}

// startBare returns the listener's descriptor before a Listener is made of it.
func startBare(t testing.TB, how, caller string) (*trappedChild, int) {
	t.Helper()
	if err := askForListener(); err != nil {
		t.Skipf("this kernel cannot trap: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	inRead, inWrite := pipe(t)
	outRead, outWrite := pipe(t)
	cmd := exec.Command(self)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), trapVariable+"="+how, callerVariable+"="+caller)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inRead, outWrite, os.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	err = cmd.Start()
	theirs.Close()
	inRead.Close()
	outWrite.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		inWrite.Close()
		outRead.Close()
	})
	return &trappedChild{cmd: cmd, stdin: inWrite, stdout: outRead}, receiveFD(t, pair[0])
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

func receiveFD(t testing.TB, socket int) int {
	t.Helper()
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		t.Fatalf("the child sent no listener: %d bytes, %v", n, err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil {
		t.Fatal(err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		t.Fatal(err)
	}
	return fds[0]
}

// serve answers calls with handle in a goroutine until there are none.
func (c *trappedChild) serve(t testing.TB, handle func(*Notification)) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		var n Notification
		for {
			switch err := c.Receive(&n); err {
			case nil:
				handle(&n)
			case ErrClosed:
				return
			default:
				t.Error(err)
				return
			}
		}
	}()
	return done
}

// found decodes what the caller printed.
func (c *trappedChild) found(t testing.TB) map[string]int {
	t.Helper()
	var found map[string]int
	if err := json.NewDecoder(c.stdout).Decode(&found); err != nil {
		t.Fatalf("the caller's output: %v", err)
	}
	return found
}

// nameOf returns the name of a number on this architecture.
func nameOf(t testing.TB, nr int32) string {
	t.Helper()
	arch, err := HostArch()
	if err != nil {
		t.Fatal(err)
	}
	calls, err := Calls(Options{Arch: arch, Nesting: policy.NestedNone})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		if c.Number == uint32(nr) {
			return c.Name
		}
	}
	return fmt.Sprint(nr)
}
