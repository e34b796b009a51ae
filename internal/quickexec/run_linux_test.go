package quickexec

import (
	"bufio"
	"bytes"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/registry"
	"carrel/internal/stdio"
)

// TestSignalBeforeTheAnswer: a command runs already when its caller has not read that, and a
// signal that comes then is the command's.
func TestSignalBeforeTheAnswer(t *testing.T) {
	me, err := registry.Self()
	if err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(t.TempDir(), "carrel")
	if err := os.Mkdir(place, 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(place, "ab12.sock")})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	w := Workspace{Listener: registry.Listener{Dir: place, ID: "ab12", Process: me}, Name: "dev"}
	for i := range 50 {
		passedOn := make(chan string, 1)
		go func() { passedOn <- signalsCaller(listener) }()
		r := Run(w, Command{Argv: []string{"true"}})
		if line := <-passedOn; line != "{\"signal\":10}\n" {
			t.Fatalf("call %d: the workspace was sent %q, want signal 10", i, line)
		}
		if status, _, ok := r.plain(); !ok || status != 7 {
			t.Fatalf("call %d: %s, %v", i, r.Last, r.Err)
		}
	}
}

// signalsCaller is a workspace that sends SIGUSR1 to its caller at the first byte of a request,
// and gives what the caller sends then.
func signalsCaller(listener *net.UnixListener) string {
	conn, err := listener.AcceptUnix()
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return err.Error()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	end := time.Now().Add(10 * time.Second)
	err = raw.Control(func(fd uintptr) { // it does not sleep: that would give the caller time
		var first [1]byte
		for n := 0; n != 1 && time.Now().Before(end); {
			n, _, _ = syscall.Recvfrom(int(fd), first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	})
	if err != nil {
		return err.Error()
	}
	lines := bufio.NewReader(conn)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, `"true"`) {
		return "no request: " + line
	}
	_, _ = conn.Write([]byte("{\"ok\":true,\"more\":true}\n"))
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	line, err := lines.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	_, _ = conn.Write([]byte("{\"ok\":true,\"app\":{\"exit\":7}}\n"))
	return line
}

// TestSignalsArePassedOn: a signal goes to the command at once where that runs, and else as soon
// as the workspace says that it does.
func TestSignalsArePassedOn(t *testing.T) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	workspace := os.NewFile(uintptr(fds[1]), "workspace")
	defer workspace.Close()
	signals, err := stdio.CatchSignals()
	if err != nil {
		t.Fatal(err)
	}
	defer signals.Release()
	talk := &conversation{fd: fds[0]}
	defer talk.close()
	pass := passing{talk: talk, signals: signals}
	talk.ready = pass.untilReadable

	kill := func(s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	said := make(chan string, 1)
	hear := func() { // what one write of ours says
		var b [256]byte
		n, _ := workspace.Read(b[:])
		said <- string(b[:n])
	}
	kill(syscall.SIGUSR1)
	kill(syscall.SIGUSR2)
	time.AfterFunc(50*time.Millisecond, func() { _, _ = workspace.WriteString("{\"more\":true}\n") })
	line, err := talk.next()
	if err != nil || !bytes.Equal(line, []byte("{\"more\":true}\n")) || len(pass.early) != 2 {
		t.Fatalf("%q, %v, with %v before", line, err, pass.early)
	}
	pass.on()
	go hear()
	if got := <-said; got != "{\"signal\":10}\n{\"signal\":12}\n" {
		t.Errorf("of signals before the start it is told %q", got)
	}
	go func() {
		hear()
		_, _ = workspace.WriteString("{}\n")
	}()
	kill(syscall.SIGALRM)
	if line, err = talk.next(); err != nil || string(line) != "{}\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if got := <-said; got != "{\"signal\":14}\n" {
		t.Errorf("of a signal after the start it is told %q", got)
	}
}
