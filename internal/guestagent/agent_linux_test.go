package guestagent

import (
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

	"carrel/internal/guest"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// agentID is the user for commands of the tests.
const agentID = 61184

// TestMain has the tests run as root of a user namespace, and this program be the first process of
// the agent's.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-serve" {
		if err := Main(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(125)
		}
		os.Exit(0)
	}
	const within = "CARREL_TEST_WITHIN"
	if os.Getuid() != 0 || os.Getenv(within) != "" {
		os.Exit(m.Run())
	}
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}, {ContainerID: agentID, HostID: agentID, Size: 1}}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), within+"=1"), os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true, Pdeathsig: syscall.SIGKILL,
	}
	if err := cmd.Run(); err != nil {
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
}

// connect gives walls; an agent starts their commands.
func connect(t *testing.T) (*sandbox.Walls, *guest.Host) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("commands of another user take root")
	}
	h, err := guest.New()
	if err != nil {
		t.Fatal(err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "stream")
		ends[i], err = net.FileConn(f)
		if f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	served, ready := make(chan error, 2), make(chan struct{})
	go func() { served <- h.Serve(ends[0], ends[0]) }()
	go func() {
		err := serve(user{agentID, agentID, false}, []string{strconv.Itoa(agentID)}, ends[1], ends[1], func() error { close(ready); return nil })
		ends[1].Close()
		served <- err
	}()
	select {
	case <-ready:
	case err := <-served:
		t.Fatal(err)
	}
	plan := &sandbox.Plan{Engine: sandbox.EngineLima}
	stage := sandbox.StageElsewhere(plan, h.Control(), func() {
		ends[0].Close()
		if err := errors.Join(<-served, <-served); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	null := open(t)
	walls, err := sandbox.Launch(plan, "", stage, [3]*os.File{null, null, null}, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(walls.Kill)
	return walls, h
}

func open(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// says runs a script to its end, and gives what it has written and how it ended.
func says(t *testing.T, walls *sandbox.Walls, c sandbox.Command) (string, sandbox.Exit) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c.Dir, c.Session = "/", true
	id, err := walls.Exec(c, [3]*os.File{open(t), w, w})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan []byte, 1)
	go func() {
		out, _ := io.ReadAll(r)
		read <- out
	}()
	exit, err := walls.Wait(id)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.SetReadDeadline(time.Now().Add(50 * time.Millisecond)) // all has come before the end, and what it left has the pipe
	return string(<-read), exit
}

func script(text string) sandbox.Command { return sandbox.Command{Argv: []string{"sh", "-c", text}} }

// TestCommands: commands run as the user for them, below a first process that they neither see into nor
// reach, and what they have written has come when their end is told.
func TestCommands(t *testing.T) {
	walls, _ := connect(t)
	out, exit := says(t, walls, script(`id -u; id -G; echo $PATH $HOME; cat /proc/1/environ 2>&1 | wc -l; kill -9 1 2>&1
		ls /proc/1/fd >/dev/null 2>&1 || echo hidden; grep -E "NoNewPrivs|CapEff" /proc/self/status; exit 7`))
	for _, want := range []string{"61184\n61184\n/usr/local/sbin:", "hidden\n", "CapEff:\t0000000000000000", "NoNewPrivs:\t1"} {
		if !strings.Contains(out, want) {
			t.Errorf("it lacks %q: %s", want, out)
		}
	}
	if exit.Code != 7 || exit.Signal != 0 {
		t.Errorf("%+v", exit)
	}
	if out, _ := says(t, walls, script("seq 20000; sleep 100 &")); len(out) != 108894 || !strings.HasSuffix(out, "\n20000\n") {
		t.Errorf("%d bytes", len(out))
	}
	if _, exit := says(t, walls, script("kill -TERM $$")); exit.Signal != int(unix.SIGTERM) {
		t.Errorf("%+v", exit)
	}
	none := open(t)
	_, err := walls.Exec(sandbox.Command{Argv: []string{"no-such-program"}, Dir: "/"}, [3]*os.File{none, none, none})
	if start := (*sandbox.StartError)(nil); !errors.As(err, &start) || start.Code != int(unix.ENOENT) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// TestMembers: processes are found, stopped and ended by the label of their command, wherever they
// have gone, and all of them end with the walls.
func TestMembers(t *testing.T) {
	walls, h := connect(t)
	one, other := script("setsid sleep 1111.5 & (setsid sleep 1111.5 &) ; :"), script("sleep 1111.5 & :")
	one.Label, other.Label = 3, 4
	says(t, walls, one)
	says(t, walls, other)
	if n, err := h.Left(3); err != nil || n != 2 || h.Count(4) != 1 || h.Count(0) != 3 {
		t.Errorf("%d %d %d %v", n, h.Count(4), h.Count(0), err)
	}
	if err := h.Freeze(); err != nil {
		t.Error(err)
	}
	if out, err := exec.Command("ps", "-eo", "stat,args").Output(); err != nil || strings.Count(string(out), "T    sleep 1111.5")+
		strings.Count(string(out), "Ts   sleep 1111.5") != 3 {
		t.Errorf("frozen: %s %v", out, err)
	}
	if err := errors.Join(h.Thaw(), h.Kill(3)); err != nil {
		t.Error(err)
	}
	if h.Count(3) != 0 || h.Count(4) != 1 {
		t.Errorf("after a kill: %d %d", h.Count(3), h.Count(4))
	}
	walls.Kill()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if err := exec.Command("pgrep", "-f", "sleep 1111[.]5").Run(); err != nil {
			break
		}
		if time.Since(began) > 5*time.Second {
			t.Fatal("a process outlives the walls")
		}
	}
}
