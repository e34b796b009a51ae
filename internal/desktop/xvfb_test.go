package desktop

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// server is an Xvfb of one test.
type server struct {
	cmd     *exec.Cmd
	display string // ":7"
	auth    string // file with the cookie
	cookie  []byte
}

// xvfb starts a server with a screen of 1920x1080 and ends it with the test.
func xvfb(t testing.TB, args ...string) *server {
	t.Helper()
	path, err := exec.LookPath("Xvfb")
	if err != nil {
		t.Fatal("Xvfb is needed: install the package xvfb")
	}
	s := &server{cookie: make([]byte, 16), auth: filepath.Join(t.TempDir(), "auth")}
	rand.Read(s.cookie)
	if err := os.WriteFile(s.auth, authority(s.cookie), 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// It listens on the abstract socket too: clients try that one first, and
	// would find another server that has the same number there.
	args = append([]string{"-displayfd", "3", "-auth", s.auth, "-nolisten", "tcp", "-noreset", "-screen", "0", "1920x1080x24"}, args...)
	s.cmd = exec.Command(path, args...)
	s.cmd.ExtraFiles = []*os.File{w}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(s.kill)
	r.SetReadDeadline(time.Now().Add(20 * time.Second))
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("Xvfb did not start: %v", err)
	}
	s.display = ":" + strings.TrimSpace(line)
	return s
}

// kill ends the server so that it takes its lock and its socket away itself:
// the number may be somebody else's a moment later.
func (s *server) kill() {
	if s.cmd.ProcessState != nil {
		return
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(10*time.Second, func() { s.cmd.Process.Kill() })
	s.cmd.Wait()
	timer.Stop()
}

func (s *server) socket() string { return "/tmp/.X11-unix/X" + strings.TrimPrefix(s.display, ":") }

func (s *server) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", s.socket())
}

func (s *server) open(t testing.TB) *Desktop {
	t.Helper()
	d, err := Open(t.Context(), s.dial, s.cookie)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// start runs a program on the display until the test ends.
func (s *server) start(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := s.command(t, name, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s said: %s", name, said.Bytes())
		}
	})
	return cmd
}

func (s *server) command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DISPLAY=" + s.display, "XAUTHORITY=" + s.auth, "LANG=C.UTF-8"}
	return cmd
}

// authority is an Xauthority file for any host and display.
func authority(cookie []byte) []byte {
	out := binary.BigEndian.AppendUint16(nil, 65535)
	for _, s := range []string{"", "", "MIT-MAGIC-COOKIE-1", string(cookie)} {
		out = append(binary.BigEndian.AppendUint16(out, uint16(len(s))), s...)
	}
	return out
}

func eventually(t testing.TB, what string, f func() error) {
	t.Helper()
	var err error
	for range 200 {
		if err = f(); err == nil {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatal(fmt.Errorf("%s: %w", what, err))
}
