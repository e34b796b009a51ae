package fuserelay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/sandbox"
	"carrel/internal/streams"

	"golang.org/x/sys/unix"
)

// relayEnv has the test program be the relay of its arguments, in a mount namespace that has an
// empty /run.
const relayEnv = "CARREL_TEST_RELAY"

func TestMain(m *testing.M) {
	switch os.Getenv(relayEnv) {
	case "":
		os.Exit(m.Run())
	case "label": // connects as a command with a label does
		label, _ := strconv.ParseUint(os.Args[2], 10, 64)
		if !sandbox.SetLabel(label) {
			os.Exit(1)
		}
		c, err := net.Dial("unix", os.Args[1])
		if err != nil {
			os.Exit(2)
		}
		got, _ := say(c, "hello")
		fmt.Print(got)
		os.Exit(0)
	}
	if err := unix.Mount("none", "/run", "tmpfs", 0, ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.NewFile(3, "go")) // until the test holds that
	os.Exit(Main(os.Args[1:]))
}

// child is a relay that runs.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.ReadCloser
	errs *os.File
	text []byte   // of standard error, up to now
	run  *os.File // its /run, which stays when it has ended
}

func start(t *testing.T, args ...string) *child {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("no /dev/fuse here")
	}
	c := &child{cmd: exec.Command("/proc/self/exe", args...)}
	c.cmd.Env = append(os.Environ(), relayEnv+"=1")
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	in, err1 := c.cmd.StdinPipe()
	out, err2 := c.cmd.StdoutPipe()
	errs, theirs, err3 := os.Pipe()
	waits, begin, err4 := os.Pipe()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	c.in, c.out, c.errs, c.cmd.Stderr, c.cmd.ExtraFiles = in, out, errs, theirs, []*os.File{waits}
	err := c.cmd.Start()
	theirs.Close()
	waits.Close()
	defer begin.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		errs.Close()
	})
	c.hold(t)
	return c
}

// root is the root directory as the relay sees it.
func (c *child) root() string { return fmt.Sprintf("/proc/%d/root", c.cmd.Process.Pid) }

// hold opens the relay's /run, as soon as that is its own.
func (c *child) hold(t *testing.T) {
	t.Helper()
	outer, err := os.Stat("/run")
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		f, err := os.Open(c.root() + "/run")
		if err == nil {
			if st, err := f.Stat(); err == nil && !os.SameFile(st, outer) {
				c.run = f
				t.Cleanup(func() { f.Close() })
				return
			}
			f.Close()
		}
		if time.Since(began) > 10*time.Second {
			t.Fatal("the relay has no /run of its own: ", err)
		}
	}
}

// ready waits until the relay says that it is.
func (c *child) ready(t *testing.T, inodes ...uint64) {
	t.Helper()
	want := "ready"
	for _, inode := range inodes {
		want += fmt.Sprintf(" %d", inode)
	}
	buf := make([]byte, 4096)
	for !bytes.HasSuffix(c.text, []byte("\n")) {
		n, err := c.errs.Read(buf)
		if c.text = append(c.text, buf[:n]...); err != nil {
			break
		}
	}
	if string(c.text) != want+"\n" {
		t.Fatalf("%q, want %q", c.text, want)
	}
}

// wait gives the exit status.
func (c *child) wait(t *testing.T) int {
	t.Helper()
	end := time.AfterFunc(20*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer end.Stop()
	rest, err := io.ReadAll(c.errs)
	if c.text = append(c.text, rest...); err != nil {
		t.Error(err)
	}
	_ = c.cmd.Wait()
	return c.cmd.ProcessState.ExitCode()
}

func (c *child) said() string { return string(c.text) }

// tcp listens at a free port of the loopback.
func tcp(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// say sends a text, and gives what comes back.
func say(c net.Conn, text string) (string, error) {
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, err := io.WriteString(c, text)
	if half, ok := c.(streams.Conn); ok {
		err = errors.Join(err, half.CloseWrite())
	}
	got, err2 := io.ReadAll(c)
	return string(got), errors.Join(err, err2, c.Close())
}

// TestListening: connections to the addresses come to the other end with what they are for, also from
// other users; from there only ports of the loopback can be reached; names lead to the relay itself. With
// the stream all of it is gone.
func TestListening(t *testing.T) {
	free := tcp(t)
	port := free.Addr().String()
	free.Close()
	c := start(t, "-listen", "way="+port, "box=/run/carrel/deep/box.sock", "xdg-open@/run/carrel/bin")
	mux := streams.New(c.out, c.in, true, func(what string) (streams.Conn, error) {
		if what == "box" {
			return nil, errors.New("closed")
		}
		near, far := unixPair(t)
		go func() {
			text, _ := io.ReadAll(far)
			_, _ = io.WriteString(far, what+" "+string(text))
			far.Close()
		}()
		return near, nil
	})
	served := make(chan error, 1)
	go func() { served <- mux.Serve() }()
	c.ready(t)
	way, err := net.Dial("tcp", port)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := say(way, "hello"); err != nil || got != "way hello" {
		t.Errorf("%q, %v", got, err)
	}
	box, err := net.Dial("unix", c.root()+"/run/carrel/deep/box.sock")
	if err != nil {
		t.Fatal(err)
	}
	_ = box.SetDeadline(time.Now().Add(10 * time.Second))
	if got, _ := io.ReadAll(box); len(got) > 0 {
		t.Errorf("a connection that is refused gets %q", got)
	}
	box.Close()
	labelled := exec.Command("/proc/self/exe", c.root()+"/run/carrel/deep/box.sock", "7")
	labelled.Env = append(os.Environ(), relayEnv+"=label")
	if got, err := labelled.Output(); err != nil || string(got) != "box 7 hello" {
		t.Errorf("a command with a label: %q, %v", got, err)
	}
	if st, err := os.Stat(c.root() + "/run/carrel/deep/box.sock"); err != nil || st.Mode().Perm() != 0o666 {
		t.Errorf("%v, %v", st, err)
	}
	if st, err := os.Stat(c.root() + "/run/carrel/deep"); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", st, err)
	}
	self, err1 := os.Readlink("/proc/self/exe")
	if to, err := os.Readlink(c.root() + "/run/carrel/bin/xdg-open"); errors.Join(err, err1) != nil || to != self {
		t.Errorf("%s, %v, %v", to, err, err1)
	}
	inner := tcp(t)
	go func() {
		for {
			conn, err := inner.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "at the port")
			conn.Close()
		}
	}()
	for what, want := range map[string]string{inner.Addr().String(): "at the port", "192.0.2.1:80": "", "localhost:80": "", port + "x": ""} {
		near, far := unixPair(t)
		if err := mux.Carry(near, what); err != nil {
			t.Fatal(err)
		}
		if got, _ := say(far, ""); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	c.in.Close()
	if status := c.wait(t); status != 0 {
		t.Errorf("it ends with %d: %s", status, c.said())
	}
	<-served
	if list, err := c.run.Readdirnames(-1); err != nil || len(list) != 0 {
		t.Errorf("it leaves %q, %v", list, err)
	}
}

// TestListeningWhereItMayNot: a name that leads elsewhere, an address that is none or a word without
// one ends the relay, and nothing that was made before is left.
func TestListeningWhereItMayNot(t *testing.T) {
	for word, want := range map[string]string{
		"../sh@/run/carrel/bin": "is no name below /run/carrel", "sh@/usr/bin": "is no name below",
		"sh@/run/carrel/../../usr/bin": "is no name below",
		"sh@/run/carrel":               "is no name below",
		"nothing":                      "is neither WHAT=ADDRESS nor NAME@DIRECTORY", "a=127.0.0.1:99999": "invalid port",
	} {
		c := start(t, "-listen", "-anew", "gh@/run/carrel/bin", word)
		if status := c.wait(t); status != failed || !strings.Contains(c.said(), want) {
			t.Errorf("%s: %d, %s", word, status, c.said())
		}
		if list, err := c.run.Readdirnames(-1); err != nil || len(list) != 0 {
			t.Errorf("%s: it leaves %q, %v", word, list, err)
		}
	}
}

func unixPair(t *testing.T) (near, far *net.UnixConn) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := [2]*net.UnixConn{}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = c.(*net.UnixConn)
	}
	return ends[0], ends[1]
}
