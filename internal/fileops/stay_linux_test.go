package fileops

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestStay: each call has its own directory and descriptors, and an answer of one byte.
func TestStay(t *testing.T) {
	t.Chdir(t.TempDir())
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fds[1])
	ended := make(chan int, 1)
	go func() { ended <- stay(t.Context(), fds[1]) }()
	ask := func(message []byte, request string) (status byte, out, errs string) {
		t.Helper()
		var ours, theirs [3]*os.File
		for i := range ours {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			if ours[i], theirs[i] = r, w; i == 0 {
				ours[i], theirs[i] = w, r
			}
			defer r.Close()
		}
		rights := syscall.UnixRights(int(theirs[0].Fd()), int(theirs[1].Fd()), int(theirs[2].Fd()))
		if err := syscall.Sendmsg(fds[0], message, rights, nil, 0); err != nil {
			t.Fatal(err)
		}
		for _, f := range theirs {
			f.Close()
		}
		_, _ = io.WriteString(ours[0], request) // an error: it was not read
		ours[0].Close()
		answer, _ := io.ReadAll(ours[1])
		said, _ := io.ReadAll(ours[2])
		var got [2]byte
		if n, err := syscall.Read(fds[0], got[:]); n != 1 || err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		return got[0], string(answer), string(said)
	}
	for _, name := range []string{"a", "b"} {
		dir := t.TempDir()
		if err := os.WriteFile(dir+"/f", []byte("in "+name), 0o600); err != nil {
			t.Fatal(err)
		}
		message, err := Call{Argv: []string{"carrel-file", OpRead, "f"}, Dir: dir}.Message()
		if err != nil {
			t.Fatal(err)
		}
		if status, out, errs := ask(message, `{"path":"f"}`); status != exitAnswered || !strings.Contains(out, "in "+name) || errs != "" {
			t.Errorf("%s: status %d, %q, %q", name, status, out, errs)
		}
	}
	gone, err := Call{Argv: []string{"carrel-file", OpRead}, Dir: t.TempDir() + "/gone"}.Message()
	if err != nil {
		t.Fatal(err)
	}
	if status, out, errs := ask(gone, ""); status != exitFailed || out != "" || errs == "" {
		t.Errorf("no directory: status %d, %q, %q", status, out, errs)
	}
	if status, out, _ := ask([]byte("no call"), ""); status != exitUsage || out != "" {
		t.Errorf("no call: status %d, %q", status, out)
	}
	if _, err := (Call{Argv: []string{strings.Repeat("x", maxCall)}}).Message(); err == nil {
		t.Error("a call is not bounded")
	}
	syscall.Close(fds[0])
	if status := <-ended; status != exitAnswered {
		t.Errorf("ended with %d", status)
	}
}

// TestStayEndsBySignal: a helper that waits ends when its context does.
func TestStayEndsBySignal(t *testing.T) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fds[0])
	defer syscall.Close(fds[1])
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- stay(ctx, fds[1]) }()
	cancel()
	<-ended
}
