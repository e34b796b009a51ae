package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// actAs has this program do something with its own standard descriptors, and end.
const actAs = "CARREL_TEST_STDIO"

func TestMain(m *testing.M) {
	switch act, word, _ := strings.Cut(os.Getenv(actAs), " "); act {
	case "":
		os.Exit(m.Run())
	case "run":
		os.Unsetenv(actAs)
		os.Exit(run(word))
	case "die":
		var n int
		_, _ = fmt.Sscan(word, &n)
		DieBy(syscall.Signal(n))
		os.Exit(1)
	}
}

// run has a shell carry out a command as one behind walls gets its descriptors.
func run(command string) int {
	s, err := New([3]*os.File{os.Stdin, os.Stdout, os.Stderr}, false)
	if err != nil {
		fmt.Fprint(os.Stderr, err)
		return 2
	}
	c := exec.Command("/bin/sh", "-c", command)
	c.Stdin, c.Stdout, c.Stderr = s.Files[0], s.Files[1], s.Files[2]
	err = c.Start()
	s.Started()
	if err == nil {
		err = c.Wait()
	}
	s.Settle()
	if err := errors.Join(err, s.Finish()); err != nil {
		fmt.Fprint(os.Stderr, err)
		return 1
	}
	return 0
}

func act(t *testing.T, what string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), actAs+"="+what)
	return c
}

// TestFilesAreRelayed: a command gets pipes for files, in both directions; what it did not read
// is there for the next reader, and what it wrote to one file by two descriptors has its order.
func TestFilesAreRelayed(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "in")
	text := strings.Repeat("0123456789", 50_000) // more than a pipe holds
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := act(t,
		"run test -p /dev/stdin && test -p /dev/stdout || exit 3; dd bs=10 count=2 2>/dev/null; for i in 1 2 3; do echo $i; echo e$i >&2; done")
	c.Stdin, c.Stdout, c.Stderr = in, out, out
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	if at, err := in.Seek(0, io.SeekCurrent); err != nil || at != 20 {
		t.Errorf("the next reader begins at %d, want 20", at)
	}
	if got, err := os.ReadFile(out.Name()); err != nil || string(got) != text[:20]+"1\ne1\n2\ne2\n3\ne3\n" {
		t.Errorf("written: %q, %v", got, err)
	}
}

// TestRelayThatFails: a full disk reaches the command as a broken pipe, and its caller as an error
// that names the descriptor.
func TestRelayThatFails(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bounded")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := act(t, "run trap '' PIPE; yes 2>/dev/null; exit 0")
	c.Path, c.Args = "/bin/sh", []string{"sh", "-c", `ulimit -f 8; trap '' XFSZ; exec "$0"`, c.Path}
	c.Stdout = out
	var said strings.Builder
	c.Stderr = &said
	if err := c.Run(); err == nil || !strings.Contains(said.String(), "standard descriptor 1: "+syscall.EFBIG.Error()) {
		t.Errorf("%v, said %q", err, said.String())
	}
}

// TestBackgroundKeepsNoCallerWaiting: a process that is left behind with the command's pipe does not
// hold up the end, and what the command itself wrote has arrived.
func TestBackgroundKeepsNoCallerWaiting(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := act(t, "run sleep 300 & echo $!; echo done")
	c.Stdout = out
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	began := time.Now()
	err = c.Run()
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	if took := time.Since(began); err != nil || took > time.Minute {
		t.Errorf("%v after %s", err, took)
	}
	if got, err := os.ReadFile(out.Name()); err != nil || !strings.HasSuffix(string(got), "\ndone\n") {
		t.Errorf("written: %q, %v", got, err)
	}
}

// TestWhatIsNoStream: a directory leads out, and is refused by its number; what was made for the
// descriptors before it is let go of.
func TestWhatIsNoStream(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	file, err := os.Create(dir.Name() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if s, err := New([3]*os.File{file, file, dir}, false); err == nil || !strings.Contains(err.Error(),
		"standard descriptor 2 is a directory") {
		t.Errorf("%v, %v", s, err)
	}
	closed := os.NewFile(^uintptr(0)>>33, "closed")
	if s, err := New([3]*os.File{file, closed, file}, false); !errors.Is(err, syscall.EBADF) || !strings.Contains(err.Error(),
		"descriptor 1") {
		t.Errorf("%v, %v", s, err)
	}
}

// TestDieBy: a caller sees the signal that ended the command, also one that is ignored here.
func TestDieBy(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGSEGV, syscall.SIGPIPE, syscall.SIGKILL} {
		c := act(t, fmt.Sprintf("die %d", int(sig)))
		err := c.Run()
		if st := c.ProcessState.Sys().(syscall.WaitStatus); !st.Signaled() || st.Signal() != sig || st.CoreDump() {
			t.Errorf("%v: %v", sig, err)
		}
	}
}
