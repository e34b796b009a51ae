package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"carrel/internal/api"

	"golang.org/x/sys/unix"
)

// actEnv makes the test binary a client in a process of its own: its value is
// the place of the registry. The arguments are an operation and an id.
const actEnv = "SUPERVISOR_TEST_CLIENT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(actEnv); dir != "" {
		act(dir, os.Args[1], os.Args[2])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// act prints the code of a refusal, the state, or "ok".
func act(dir, op, id string) {
	if op == "shell" { // an agent that starts something
		cmd := exec.Command("/proc/self/exe", "approve", id)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		_ = cmd.Run()
		return
	}
	// Not through Find: behind other walls the manifest cannot be judged, and
	// the listener's number is another.
	text, err := os.ReadFile(dir + "/ab12.json")
	e := Entry{dir: dir}
	if err == nil {
		err = json.Unmarshal(text, &e.Manifest)
	}
	if os.Getenv("SUPERVISOR_TEST_LISTENER") != "" {
		e.PID, _ = strconv.Atoi(os.Getenv("SUPERVISOR_TEST_LISTENER"))
	}
	var r api.Reply
	if err == nil {
		r, err = e.Call(context.Background(), api.Request{Op: op, ID: id, Host: hostOf(op)})
	}
	var d *api.Denial
	switch {
	case errors.As(err, &d):
		fmt.Println(d.Code, d.Subject)
	case err != nil:
		fmt.Println("error", err)
	case r.Status != nil:
		fmt.Println(r.Status.State, r.Status.Project)
	default:
		fmt.Println("ok")
	}
}

// hostOf is the rule that an operation on hosts names.
func hostOf(op string) string {
	if op == api.OpNetAllow || op == api.OpNetDeny {
		return "a.example:443"
	}
	return ""
}

// client prepares such a process.
func client(dir, op, id string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", op, id)
	cmd.Env = append(os.Environ(), actEnv+"="+dir, "GORACE=atexit_sleep_ms=0")
	return cmd
}

func said(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// serve starts a server with one operation waiting, whose id it gives.
func serve(t *testing.T, c Config) (*Server, Entry, string) {
	t.Helper()
	c.ID, c.Project = "ab12", "/p"
	c.Dirs = []string{place(t)}
	s, err := Serve(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	go s.Ask(context.Background(), api.Approval{Operation: "write", Subject: "x"}, soon())
	waitFor(t, "an entry", func() bool { return s.queue.len() == 1 })
	found, err := Find(c.Dirs)
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	return s, found[0], s.queue.list()[0].ID
}

// TestInside: a process in namespaces of its own sees the state, and answers
// nothing.
func TestInside(t *testing.T) {
	s, e, id := serve(t, Config{})
	for name, flags := range map[string]uintptr{"both": unix.CLONE_NEWUSER | unix.CLONE_NEWPID, "user": unix.CLONE_NEWUSER} {
		for op, want := range map[string]string{api.OpStatus: "running", api.OpApprove: "inside", api.OpDeny: "inside", api.OpStop: "inside", api.OpPause: "inside", api.OpEvents: "inside", api.OpApprovals: "inside", "": "inside"} {
			cmd := client(e.dir, op, id)
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}}
			if flags&unix.CLONE_NEWPID != 0 {
				cmd.Env = append(cmd.Env, "SUPERVISOR_TEST_LISTENER=0")
			}
			if got := said(t, cmd); strings.Fields(got)[0] != want || strings.Contains(got, "/p") {
				t.Errorf("%s: %q: %q, want %s", name, op, got, want)
			}
		}
	}
	if s.queue.len() != 1 || s.pauser.state() != api.StateRunning {
		t.Error("it did something")
	}
	if got := said(t, client(e.dir, api.OpDeny, id)); got != "ok" {
		t.Errorf("canary: from outside: %q", got)
	}
}

// TestOwnersYes: the process that a workspace belongs to answers its own terms and nothing
// else, and no other process of the user does.
func TestOwnersYes(t *testing.T) {
	s, e, users := serve(t, Config{Owner: func(pid int) bool { return pid == os.Getpid() }})
	answer := make(chan bool, 1)
	go func() {
		answer <- s.Ask(context.Background(), api.Approval{Subject: "x", Term: api.TermDeletes}, soon())
	}()
	waitFor(t, "an entry", func() bool { return s.queue.len() == 2 })
	all := s.queue.list()
	owners := all[slices.IndexFunc(all, func(a api.Approval) bool { return a.ID != users })].ID
	yes := func(id string) string {
		_, err := e.Call(context.Background(), api.Request{Op: api.OpApprove, ID: id})
		if d := (*api.Denial)(nil); errors.As(err, &d) {
			return d.Code
		}
		return fmt.Sprint(err)
	}
	if got := said(t, client(e.dir, api.OpApprove, owners)); strings.Fields(got)[0] != api.CodeNotHuman {
		t.Errorf("another process: %q", got)
	}
	if got := yes(users); got != api.CodeNotHuman {
		t.Errorf("the owner, to what is the user's: %q", got)
	}
	if s.queue.len() != 2 {
		t.Error("something was answered")
	}
	if got := yes(owners); got != "<nil>" || !<-answer {
		t.Errorf("the owner: %q", got)
	}
}

// TestAnotherUser gets not one byte, whatever the permissions say.
func TestAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("making files of somebody else takes root")
	}
	s, _, id := serve(t, Config{})
	d := s.door
	path := "/proc/" + strconv.Itoa(os.Getpid()) + "/fd/" + strconv.Itoa(int(d.dir.Fd())) + "/ab12.sock"
	if err := errors.Join(d.dir.Chmod(0o777), unix.Chmod(path, 0o777)); err != nil {
		t.Fatal(err)
	}
	told := func(uid int) string {
		conn := dialAs(t, path, uid)
		defer unix.Close(conn)
		_, _ = unix.Write(conn, []byte(`{"op":"deny","id":"`+id+`"}`+"\n"))
		buf := make([]byte, 1000)
		n, _ := unix.Read(conn, buf)
		return string(buf[:max(n, 0)])
	}
	if text := told(65534); text != "" || s.queue.len() != 1 {
		t.Errorf("it was told %q", text)
	}
	if text := told(os.Getuid()); !strings.Contains(text, `"ok":true`) {
		t.Errorf("canary: ourselves: %q", text)
	}
}

// dialAs connects with another effective user: that is what the kernel notes.
func dialAs(t *testing.T, path string, uid int) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { // on a thread that ends with it
		runtime.LockOSThread()
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); e != 0 {
			done <- e
			return
		}
		done <- unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	}()
	if err := <-done; err != nil {
		t.Fatalf("connecting as user %d: %v", uid, err)
	}
	return fd
}

// terminal makes a pseudoterminal; the far end is the process's.
func terminal(t *testing.T) (near, far *os.File) {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	if err := unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	far, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	return near, far
}

// TestHumanChannel: who may approve.
func TestHumanChannel(t *testing.T) {
	if markedInside(os.Getpid()) {
		t.Skip("the tests themselves run behind walls")
	}
	for _, c := range []struct {
		name, op, want string
		tty, stdin     bool
		env            string
	}{
		{"a person at a terminal", api.OpApprove, "ok", true, true, "A=1"},
		{"no terminal", api.OpApprove, "no controlling terminal", false, false, "A=1"},
		{"input from elsewhere", api.OpApprove, "standard input is not", true, false, "A=1"},
		{"started by an agent", "shell", "the agent robot", true, true, "A=1"},
		{"started behind walls", api.OpApprove, "behind walls", true, true, insideEnv},
		{"anybody may refuse", api.OpDeny, "ok", false, false, insideEnv},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, e, id := serve(t, Config{Agent: robot})
			cmd := client(e.dir, c.op, id)
			cmd.Env = append(cmd.Env, c.env)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if c.tty {
				seat(t, cmd, c.stdin)
			}
			got := said(t, cmd)
			if !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if answered := s.queue.len() == 0; answered != (c.want == "ok") {
				t.Errorf("answered: %t", answered)
			}
		})
	}
}

// robot is the agent that a process is.
func robot(p Process) string {
	if len(p.Argv) > 1 && p.Argv[1] == "shell" {
		return "robot"
	}
	return ""
}

// seat gives a process a terminal, as its input too or not.
func seat(t *testing.T, cmd *exec.Cmd, stdin bool) {
	t.Helper()
	_, far := terminal(t)
	cmd.ExtraFiles = []*os.File{far}
	cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Ctty = true, 3
	if stdin {
		cmd.Stdin = far
	}
}

// TestTypedBeforeIsDiscarded: keys pressed before the question do not answer it.
func TestTypedBeforeIsDiscarded(t *testing.T) {
	near, far := terminal(t)
	if _, err := near.WriteString("early\n"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the early line", func() bool {
		var n int32
		_, _, e := unix.Syscall(unix.SYS_IOCTL, far.Fd(), unix.TIOCINQ, uintptr(unsafe.Pointer(&n)))
		return e == 0 && n > 0
	})
	answer := make(chan string)
	go func() {
		line, err := ask(far, "? ")
		answer <- line + fmt.Sprint(err)
	}()
	var shown strings.Builder
	buf := make([]byte, 100)
	for !strings.Contains(shown.String(), "? ") {
		n, err := near.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(buf[:n])
	}
	time.Sleep(10 * time.Millisecond)
	if _, err := near.WriteString("late\n"); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got != "late\n<nil>" {
		t.Errorf("%q", got)
	}
}
