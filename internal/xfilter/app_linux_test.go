package xfilter

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// connector has a test process of its own connect to a socket, hand the connection to a
// child that keeps it, and end.
const connector = "XFILTER_TEST_CONNECT"

func TestMain(m *testing.M) {
	path := os.Getenv(connector)
	if path == "" {
		os.Exit(m.Run())
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	f, err := c.(*net.UnixConn).File()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	child := exec.Command("sleep", "100")
	child.ExtraFiles = []*os.File{f}
	if err := child.Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(child.Process.Pid)
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// accepted runs a process that connects to a listening socket, and gives the server's
// end of that. With gone the process has ended by then, and lives on in its connection.
func accepted(t *testing.T, gone bool) (conn net.Conn, pid int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), connector+"="+path)
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
	var child int
	if _, err := fmt.Fscanln(out, &child); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p, err := os.FindProcess(child); err == nil {
			p.Kill()
		}
	})
	end := func() { in.Close(); cmd.Wait() }
	if gone {
		end()
	} else {
		t.Cleanup(end)
	}
	if conn, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, cmd.Process.Pid
}

// TestPeerThatIsNoMore: nobody is asked about whoever has its number now.
func TestPeerThatIsNoMore(t *testing.T) {
	const app = 7
	says := func(int) uint64 { return app }
	conn, pid := accepted(t, false)
	if got, of := peer(conn, says); got != pid || of != app {
		t.Errorf("process %d: %d of app %d, want app %d", pid, got, of, app)
	}
	conn, pid = accepted(t, true)
	if _, of := peer(conn, says); of != 0 {
		t.Errorf("process %d, which is no more, is of app %d", pid, of)
	}
	conn, _ = accepted(t, false)
	ends := func(pid int) uint64 { // while it is asked about
		p, _ := os.FindProcess(pid)
		p.Kill()
		p.Wait()
		return app
	}
	if _, of := peer(conn, ends); of != 0 {
		t.Errorf("one that ended meanwhile is of app %d", of)
	}
}

// TestAppIsKept: a window stays with the app of the process that connected, whoever has
// that process's number later.
func TestAppIsKept(t *testing.T) {
	w := newWorld(t)
	var app atomic.Uint64
	f := New(Config{Cookie: w.mine, Dial: w.dial, App: func(pid int) uint64 {
		if pid != os.Getpid() {
			t.Errorf("asked about %d", pid)
		}
		return app.Load()
	}})
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- f.Serve(ctx, l) }()
	defer func() { cancel(); <-served }()
	var windows []uint32
	for n := range uint64(2) {
		app.Store(n + 1)
		windows = append(windows, openAt(t, path, w.mine, false).window(0, 0, 10, 10, 0))
	}
	app.Store(100)
	for n, id := range windows {
		if c, ok := f.Owner(id); !ok || c.App != uint64(n+1) || c.PID != os.Getpid() {
			t.Errorf("window %#x: %+v, want app %d", id, c, n+1)
		}
	}
}
