package registry

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// place makes a place of the registry in a short directory, as names of sockets are short.
func place(t *testing.T) string {
	t.Helper()
	above, err := os.MkdirTemp("/tmp", "r")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(above) })
	if err := os.Mkdir(above+"/carrel", 0o700); err != nil {
		t.Fatal(err)
	}
	return above + "/carrel"
}

// TestState: a relative variable is none, and a home that does not exist is not made.
func TestState(t *testing.T) {
	home := t.TempDir()
	for _, c := range []struct{ state, home, want string }{
		{"/x/../y", home, "/y/carrel"}, {"", home, home + "/.local/state/carrel"}, {"y", home, home + "/.local/state/carrel"},
		{"", home + "/none", ""}, {"", ".", ""}, {"", "", ""}, {"/y", "", "/y/carrel"},
	} {
		get := func(name string) string { return map[string]string{"XDG_STATE_HOME": c.state, "HOME": c.home}[name] }
		if got := State(get); got != c.want {
			t.Errorf("XDG_STATE_HOME=%q HOME=%q: %q, want %q", c.state, c.home, got, c.want)
		}
	}
	usual := fmt.Sprintf("/run/user/%d", os.Getuid())
	for _, c := range []struct {
		runtime, state string
		want           []string
	}{
		{"/r", "/s/carrel", []string{"/r/carrel", "/s/carrel/run"}}, {"r", "", nil}, {usual, "", []string{usual + "/carrel"}},
	} {
		got := Dirs(c.runtime, c.state)
		if len(got) > len(c.want) && got[len(got)-1] == usual+"/carrel" { // where this machine has it
			got = got[:len(got)-1]
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, %q: %q, want %q", c.runtime, c.state, got, c.want)
		}
	}
}

// TestWellFormed: what becomes part of a file name has no way out of its directory.
func TestWellFormed(t *testing.T) {
	for id, want := range map[string]bool{
		"0a": true, strings.Repeat("f", 32): true, strings.Repeat("f", 33): false, "": false, "..": false, "a/b": false, "A0": false,
		"a\n": false, "a.sock": false,
	} {
		if got := WellFormed(id); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}

// TestOpenPlace: a place that another user has, or may write, or that is a link, is refused; the
// error names it with its owner and mode.
func TestOpenPlace(t *testing.T) {
	const other = 4242
	for name, c := range map[string]struct {
		change func(at string) error
		says   string // "" where it is opened
	}{
		"the canary":              {func(string) error { return nil }, ""},
		"above, others may read":  {func(at string) error { return os.Chmod(filepath.Dir(at), 0o755) }, ""},
		"above, others may write": {func(at string) error { return os.Chmod(filepath.Dir(at), 0o720) }, "mode 0720"},
		"above, another user's":   {func(at string) error { return os.Chown(filepath.Dir(at), other, other) }, "owner 4242"},
		"others may read":         {func(at string) error { return os.Chmod(at, 0o740) }, "mode 0740"},
		"another user's":          {func(at string) error { return os.Chown(at, other, other) }, "make it 0700"},
		"none":                    {os.Remove, "no such file"},
		"a file": {func(at string) error { return errors.Join(os.Remove(at), os.WriteFile(at, nil, 0o600)) },
			"not a directory"},
		"a link to one that would be it": {func(at string) error { return errors.Join(os.Rename(at, at+"2"), os.Symlink("carrel2", at)) },
			"not a directory"},
	} {
		at := place(t)
		if err := c.change(at); err != nil {
			t.Fatal(err)
		}
		f, err := OpenPlace(at)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), filepath.Dir(at))) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if err == nil {
			f.Close()
		}
	}
}

// TestReadManifest: only a regular file of this user's own, within the bound, without a wait.
func TestReadManifest(t *testing.T) {
	at := place(t)
	dir, err := OpenPlace(at)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := errors.Join(
		os.WriteFile(at+"/good", make([]byte, MaxManifest), 0o600), os.WriteFile(at+"/long", make([]byte, MaxManifest+1), 0o600),
		os.WriteFile(at+"/foreign", nil, 0o600), os.Chown(at+"/foreign", 4242, 4242), os.Symlink("good", at+"/link"),
		syscall.Mkfifo(at+"/fifo", 0o600), os.Mkdir(at+"/dir", 0o700),
	); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadManifest(dir, "good"); err != nil || len(text) != MaxManifest {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	for name, says := range map[string]string{
		"long": "more than 65536 bytes", "foreign": "not a file of this user", "link": "too many levels", "fifo": "not a file",
		"dir": "not a file", "none": "no such file",
	} {
		if _, err := ReadManifest(dir, name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", name, err, says)
		}
	}
}

// TestGone: a process is told from another one with its number, from one of another run of the
// machine, and from what is left of one until its parent looks.
func TestGone(t *testing.T) {
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sleep", "300")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	child, err := Identify(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	another, rebooted, elsewhere := child, child, child
	another.Start++
	rebooted.Boot += "x"
	elsewhere.PIDNamespace, elsewhere.Start = "pid:[1]", 1
	for name, c := range map[string]struct {
		of   Process
		want bool
	}{
		"it": {child, false}, "this process": {me, false}, "another of its number": {another, true},
		"before the machine started":    {rebooted, true},
		"numbers that say nothing here": {elsewhere, false}, "no number": {Process{PID: 1 << 30, Boot: me.Boot, PIDNamespace: me.PIDNamespace},
			true},
	} {
		if got := c.of.Gone(me); got != c.want || c.of.Ended() != c.want || c.of.Alive() == c.want {
			t.Errorf("%s is gone: %v, ended: %v, alive: %v", name, got, c.of.Ended(), c.of.Alive())
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); !child.Gone(me); time.Sleep(time.Millisecond) { // not waited for
		if time.Now().After(end) {
			t.Fatal("a process that was killed is not gone until its parent looks")
		}
	}
	_ = c.Wait()
	if !child.Ended() {
		t.Error("a process that is no more has not ended")
	}
}

// listen makes the socket of a workspace that is this process.
func listen(t *testing.T, at string) (Listener, *net.UnixListener) {
	t.Helper()
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	l := Listener{Dir: at, ID: "0a", Process: me}
	dir, err := OpenPlace(at)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	s, err := net.ListenUnix("unix", &net.UnixAddr{Name: SocketPath(dir, l.ID), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return l, s
}

// TestConnect: a caller waits for one that starts and for a place in the queue, and takes no other
// process for the one that the manifest names.
func TestConnect(t *testing.T) {
	never := make(chan struct{})
	l, s := listen(t, place(t))
	fd, err := l.Connect(never)
	if err != nil {
		t.Fatal(err)
	}
	syscall.Close(fd)
	imposter := l
	imposter.PID = os.Getppid()
	if _, err := imposter.Connect(never); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("another process listens: %v", err)
	}
	s.Close()
	go func() {
		time.Sleep(20 * time.Millisecond)
		again, err := net.ListenUnix("unix", &net.UnixAddr{Name: l.Dir + "/0a.sock", Net: "unix"})
		if err == nil {
			again.SetUnlinkOnClose(true)
			time.AfterFunc(20*time.Second, func() { again.Close() })
		}
	}()
	if fd, err = l.Connect(never); err != nil {
		t.Fatalf("one that was just starting: %v", err)
	}
	syscall.Close(fd)
	ended := l
	ended.Start++
	os.Remove(l.Dir + "/0a.sock")
	began := time.Now()
	if _, err := ended.Connect(never); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "workspace 0a") ||
		time.Since(began) > startTime {
		t.Errorf("one that has ended: %v after %s", err, time.Since(began))
	}
	done := make(chan struct{})
	close(done)
	if _, err := l.Connect(done); err == nil {
		t.Error("a caller that gave up is connected")
	}
}

// TestConnectInACrowd: where the kernel's queue is full the caller waits for its turn.
func TestConnectInACrowd(t *testing.T) {
	l, s := listen(t, place(t))
	raw, err := s.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) { err = syscall.Listen(int(fd), 0) })
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	defer func() {
		for _, fd := range all {
			syscall.Close(fd)
		}
	}()
	for {
		fd, err := l.dial()
		if errors.Is(err, syscall.EAGAIN) {
			break
		}
		if err != nil || len(all) > 1000 {
			t.Fatalf("%d connections wait, then %v", len(all), err)
		}
		all = append(all, fd)
	}
	time.AfterFunc(20*time.Millisecond, func() {
		if c, err := s.Accept(); err == nil {
			c.Close()
		}
	})
	fd, err := l.Connect(make(chan struct{}))
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, fd)
}

// TestLongSocketPath: a socket with a path longer than an address is reached by its directory.
func TestLongSocketPath(t *testing.T) {
	at := place(t) + "/" + strings.Repeat("x", maxSocketPath) + "/carrel"
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	l, _ := listen(t, at)
	fd, err := l.Connect(make(chan struct{}))
	if err != nil {
		t.Fatal(err)
	}
	syscall.Close(fd)
}

// TestBroken: an end of the other side is told as one, whatever error it was met by.
func TestBroken(t *testing.T) {
	l := Listener{ID: "0a"}
	for err, ended := range map[error]bool{io.EOF: true, syscall.EPIPE: true, syscall.ECONNRESET: true, fmt.Errorf("x: %w", io.EOF): true,
		ErrLine: false} {
		got := l.Broken(err)
		if errors.Is(got, errEnded) != ended || !strings.Contains(got.Error(), "workspace 0a") || !ended && !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
}
