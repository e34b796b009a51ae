package tty

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// actAs has this program do something with a terminal of its own, and end.
const actAs = "CARREL_TEST_TTY"

func TestMain(m *testing.M) {
	act := os.Getenv(actAs)
	os.Unsetenv(actAs)
	switch name, word, _ := strings.Cut(act, " "); name {
	case "relay":
		os.Exit(relay(word))
	case "raw":
		if _, err := Raw(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("raw")
		time.Sleep(time.Minute)
		os.Exit(1)
	case "modes":
		restore := KeepTerminals()
		err := os.Chmod("/proc/self/fd/0", 0o666)
		restore()
		st, e := os.Stdin.Stat()
		fmt.Println("mode", st.Mode().Perm(), errors.Join(err, e))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// relay runs a command with a terminal of its own between this one and it.
func relay(command string) int {
	r, err := OpenRelay()
	if err != nil || r == nil {
		fmt.Println("no relay:", err)
		return 1
	}
	r.Gesture = func() { fmt.Print("<pasted>") }
	c := exec.Command("/bin/sh", "-c", command)
	files := r.Streams()
	c.Stdin, c.Stdout, c.Stderr = files[0], files[1], files[2]
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := errors.Join(c.Start(), r.Start(func() { fmt.Print("<interrupted>") })); err != nil {
		fmt.Println(err)
	}
	_ = c.Wait()
	r.Close()
	return 0
}

// screen is a terminal and what has appeared on it.
type screen struct {
	t      *testing.T
	near   *os.File
	far    *os.File
	before *unix.Termios
	cmd    *exec.Cmd
	mu     sync.Mutex
	seen   strings.Builder
}

// start has this program act in a terminal of 91 columns and 33 rows.
func start(t *testing.T, act string) *screen {
	t.Helper()
	near, far, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, far: far}
	Resize(near, 91, 33)
	if s.before, err = unix.IoctlGetTermios(int(far.Fd()), unix.TCGETS); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command(self)
	s.cmd.Env = append(os.Environ(), actAs+"="+act)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = far, far, far
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	near = os.NewFile(uintptr(Dup(near)), "terminal")
	s.near = near
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait(); near.Close(); far.Close() })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := near.Read(buf)
			s.mu.Lock()
			s.seen.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// expect waits until a text appears, and gives all that has.
func (s *screen) expect(text string) (all string) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		all = s.seen.String()
		s.mu.Unlock()
		if strings.Contains(all, text) {
			return all
		}
		if time.Now().After(end) {
			s.t.Fatalf("%q has not appeared, but %q", text, all)
		}
	}
}

func (s *screen) send(keys string) {
	s.t.Helper()
	if _, err := s.near.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the program, and sees that the person's terminal is as it was.
func (s *screen) ends() error {
	s.t.Helper()
	err := s.cmd.Wait()
	now, e := unix.IoctlGetTermios(int(s.far.Fd()), unix.TCGETS)
	if e != nil || *now != *s.before {
		s.t.Errorf("the terminal is %+v, %v, and was %+v", now, e, s.before)
	}
	return err
}

// TestRelay: a command has a terminal of its own with the size and modes of the person's; what is
// typed reaches it, the keys for pasting and for an interrupt are told of, and the person has
// their terminal back in the end.
func TestRelay(t *testing.T) {
	s := start(t, `relay trap 'echo caught' INT; stty size; stty -a | grep -o -- '-\?echoctl'; tty >&2
		read a; echo "got $a"; until read b; do :; done; echo "then $b"
		until test "$(stty size)" = "20 40"; do sleep 0.01; done; echo resized`)
	s.expect("33 91")
	if all := s.expect("echoctl"); strings.Contains(all, "-echoctl") {
		t.Errorf("the command's terminal has other modes: %q", all)
	}
	if all := s.expect("/dev/pts/"); strings.Contains(all, s.far.Name()+"\r") {
		t.Errorf("the command has the person's own terminal: %q", all)
	}
	s.send("one\n")
	s.expect("got one")
	s.send("\x16x") // which quotes the next key
	s.expect("<pasted>")
	s.send("\x03")
	s.expect("<interrupted>")
	s.expect("caught")
	Resize(s.near, 40, 20)
	s.send("\x15two\n")
	s.expect("then two")
	s.expect("resized")
	if err := s.ends(); err != nil {
		t.Error(err)
	}
}

// TestRawThatIsInterrupted: a person has their terminal back also where this program is told to end.
func TestRawThatIsInterrupted(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		s := start(t, "raw")
		s.expect("raw")
		if now, err := unix.IoctlGetTermios(int(s.far.Fd()), unix.TCGETS); err != nil || now.Lflag&unix.ICANON != 0 {
			t.Errorf("the terminal is not raw: %+v, %v", now, err)
		}
		if err := s.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = s.ends()
		if st := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !st.Signaled() || st.Signal() != sig {
			t.Errorf("%v: it ended with %v", sig, s.cmd.ProcessState)
		}
	}
}

// TestKeepTerminals: a command that opened the person's terminal to others has not when it ends.
func TestKeepTerminals(t *testing.T) {
	s := start(t, "modes")
	was, err := s.far.Stat()
	if err != nil {
		t.Fatal(err)
	}
	s.expect(fmt.Sprintf("mode %v <nil>", was.Mode().Perm()))
}

// TestResize: a size stays within bounds, and one that is none changes nothing.
func TestResize(t *testing.T) {
	near, far, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	defer far.Close()
	for _, c := range []struct{ columns, rows, wantColumns, wantRows int }{
		{80, 24, 80, 24}, {0, 30, 80, 24}, {90, -1, 80, 24}, {1 << 20, 1 << 20, MaxColumns, MaxRows}, {1, 1, 1, 1},
	} {
		Resize(near, c.columns, c.rows)
		if columns, rows, err := term.GetSize(int(far.Fd())); err != nil || columns != c.wantColumns || rows != c.wantRows {
			t.Errorf("%d by %d: %d by %d, %v", c.columns, c.rows, columns, rows, err)
		}
	}
}

// TestTyped: the key for pasting is told of before it is handed on, also in two halves, and all else
// is handed on as it is.
func TestTyped(t *testing.T) {
	var order []string
	to := writer(func(b []byte) (int, error) { order = append(order, string(b)); return len(b), nil })
	s := &Typed{To: to, Gesture: func() { order = append(order, "gesture") }, typed: func(b []byte) { order = append(order, "typed") }}
	for _, keys := range []string{"a", "\x1b[27;5;", "118~"} {
		if n, err := io.WriteString(s, keys); n != len(keys) || err != nil {
			t.Error(n, err)
		}
	}
	if got := strings.Join(order, " "); got != "a typed \x1b[27;5; typed gesture 118~ typed" {
		t.Errorf("%q", got)
	}
	failing := &Typed{To: writer(func([]byte) (int, error) { return 0, io.ErrClosedPipe })}
	if _, err := failing.Write([]byte("\x16")); err != io.ErrClosedPipe {
		t.Errorf("%v", err)
	}
	var none *Relay
	none.Close()
	if err := none.Start(nil); err != nil || none.Streams() != [3]*os.File{os.Stdin, os.Stdout, os.Stderr} {
		t.Errorf("without a relay: %v", err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
