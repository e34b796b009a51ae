package shim

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"carrel/internal/fdpass"
	"carrel/internal/hostexec"

	"golang.org/x/sys/unix"
)

// pair is a run and the supervisor's end of its socket.
func pair(t *testing.T) (*run, *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var conns [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		conns[i] = c.(*net.UnixConn)
	}
	return &run{conn: conns[0], from: &fdpass.Reader{Conn: conns[0]}, name: "tool"}, conns[1]
}

// stderrOf gives what is written to standard error meanwhile.
func stderrOf(t *testing.T, do func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stderr
	os.Stderr = w
	do()
	os.Stderr = old
	w.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestListen: a call ends as the answer says, and where there is none as our own failure.
func TestListen(t *testing.T) {
	for name, c := range map[string]struct {
		lines  string
		status int
		stderr string
	}{
		"an exit":               {`{"type":"Exit","code":3}`, 3, ""},
		"an exit after a start": {`{"type":"Started"}` + "\n" + `{"type":"Exit","code":0}`, 0, ""},
		"a signal of Go":        {`{"type":"Exit","code":134,"signal":"ABRT"}`, 134, ""},
		"a signal of no name":   {`{"type":"Exit","code":129,"signal":"NOSUCH"}`, 129, ""},
		"a refusal": {
			`{"type":"Error","error":{"message":"no","hint":"list it"}}`, exitNotRunable,
			"carrel: tool: no\nhint: list it\n",
		},
		"a refusal with a status": {`{"type":"Error","error":{"message":"none","exit":127}}`, 127, "carrel: tool: none\n"},
		"a refusal without more":  {`{"type":"Error"}`, exitOurs, ""},
		"no JSON":                 {`{"type":`, exitOurs, "carrel: tool: the workspace has ended\n"},
		"an unknown answer":       {`{"type":"Later"}` + "\n" + `{"type":"Exit","code":4}`, 4, ""},
		"nothing":                 {"", exitOurs, "carrel: tool: the workspace has ended\n"},
	} {
		r, other := pair(t)
		if c.lines != "" {
			if _, err := other.Write([]byte(c.lines + "\n")); err != nil {
				t.Fatal(err)
			}
		}
		other.Close()
		var status int
		stderr := stderrOf(t, func() { status = r.listen() })
		if status != c.status || stderr != c.stderr {
			t.Errorf("%s: %d, %q; want %d, %q", name, status, stderr, c.status, c.stderr)
		}
	}
}

// TestListenLostOutput: a command that went well has not, if its output could not be written.
func TestListenLostOutput(t *testing.T) {
	for code, want := range map[string]int{"0": exitOurs, "3": 3} {
		r, other := pair(t)
		r.lost[1] = syscall.ENOSPC
		if _, err := other.Write([]byte(`{"type":"Exit","code":` + code + "}\n")); err != nil {
			t.Fatal(err)
		}
		other.Close()
		var status int
		stderr := stderrOf(t, func() { status = r.listen() })
		if status != want || (want == exitOurs) != strings.Contains(stderr, "could not be written") {
			t.Errorf("code %s: %d, %q", code, status, stderr)
		}
	}
}

// TestEnviron: what is too large for one line of the protocol is cut at a whole variable.
func TestEnviron(t *testing.T) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		t.Setenv(name, "") // put back at the end
		os.Unsetenv(name)
	}
	t.Setenv("FIRST", "1")
	if got := environ(); len(got) != 1 || got[0] != "FIRST=1" {
		t.Errorf("%q", got)
	}
	t.Setenv("LARGE", strings.Repeat("x", hostexec.MaxLine/4))
	got := environ()
	line, err := json.Marshal(got)
	if err != nil || len(line) > hostexec.MaxLine/2 {
		t.Errorf("%d bytes, %v", len(line), err)
	}
	for _, v := range got {
		if strings.HasPrefix(v, "LARGE=") {
			t.Error("a variable that is too large is sent")
		}
	}
}

// TestName: our own name is no host command, nor is one that has no shim.
func TestName(t *testing.T) {
	for _, argv0 := range []string{"carrel", "/usr/bin/carrel", "", "/", ".", "no-such-shim", "/x/no-such-shim"} {
		if got := Name(argv0); got != "" {
			t.Errorf("%q is %q", argv0, got)
		}
	}
}
