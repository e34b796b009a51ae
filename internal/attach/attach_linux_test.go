package attach

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/supervisor"
	"carrel/internal/tty"

	"golang.org/x/term"
)

// actAs makes this program a caller in a process of its own: how it attaches, and the place of
// the registry.
const actAs = "CARREL_TEST_ATTACH"

func TestMain(m *testing.M) {
	how, place, acts := strings.Cut(os.Getenv(actAs), " ")
	if !acts {
		os.Exit(m.Run())
	}
	found, err := supervisor.Find([]string{place})
	if err != nil || len(found) != 1 {
		fmt.Println(found, err)
		os.Exit(1)
	}
	var app api.App
	status, detached := 0, false
	switch how {
	case "to":
		app, detached, err = To(context.Background(), found[0], "app")
	default:
		app, status, err = Exec(context.Background(), found[0], api.Command{Argv: []string{"cmd"}, Terminal: how == "terminal"})
	}
	fmt.Printf("[%s %d %v %v]\n", app.ID, status, detached, err)
	os.Exit(0)
}

// desk is a named workspace with one command, that writes what it reads.
type desk struct {
	mu     sync.Mutex
	inputs []api.Input
	last   api.Reply
}

func (d *desk) Describe(*api.WorkspaceStatus) {}

func (d *desk) Answer(_ context.Context, c *supervisor.Call) api.Reply {
	switch {
	case c.Request.Op == api.OpAttach:
		_ = c.Send(api.Reply{})
		for in := range c.Inputs() {
			d.note(in)
			if string(in.Data) == "q" {
				return d.last
			}
			_ = c.Send(api.Reply{Output: &api.Output{Data: []byte("<" + string(in.Data) + ">")}})
		}
	case c.Request.Command.Terminal:
		near, far, err := tty.Open()
		if err != nil {
			return api.Reply{OK: true}
		}
		defer far.Close()
		_ = c.Send(api.Reply{}, near)
		near.Close()
		go func() {
			for in := range c.Inputs() {
				d.note(in)
			}
		}()
		line := make([]byte, 100)
		n, _ := far.Read(line)
		columns, rows, _ := term.GetSize(int(far.Fd()))
		fmt.Fprintf(far, "read %q in %d by %d of %d", line[:n], columns, rows, c.Request.Command.Columns)
	case len(c.Files) == 3:
		_ = c.Send(api.Reply{})
		text, _ := io.ReadAll(c.Files[0])
		fmt.Fprintf(c.Files[1], "out %s", text)
		fmt.Fprintf(c.Files[2], "err %s", text)
	}
	return d.last
}

func (d *desk) note(in api.Input) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inputs = append(d.inputs, in)
}

// all are the inputs so far, but for the bytes that were typed.
func (d *desk) all() (typed string, others []api.Input) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, in := range d.inputs {
		if typed += string(in.Data); in.Data == nil {
			others = append(others, in)
		}
	}
	return typed, others
}

// serve makes a workspace that ends its command with a reply, and a caller that is not started yet.
func serve(t *testing.T, how string, last api.Reply) (*desk, *exec.Cmd) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "a") // names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &desk{last: last}
	s, err := supervisor.Serve(supervisor.Config{ID: "ab12", Name: "desk", Project: "/p", Dirs: []string{dir + "/carrel"},
		Desk: d, Control: api.Control{Mode: api.ControlActive}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), actAs+"="+how+" "+dir+"/carrel")
	return d, c
}

// inTerminal starts a caller in a terminal of 91 columns and 33 rows.
func inTerminal(t *testing.T, c *exec.Cmd) (near *os.File, expect func(string)) {
	t.Helper()
	near, far, err := tty.Open()
	if err != nil {
		t.Fatal(err)
	}
	tty.Resize(near, 91, 33)
	c.Stdin, c.Stdout, c.Stderr = far, far, far
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	far.Close()
	near = os.NewFile(uintptr(tty.Dup(near)), "terminal")
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait(); near.Close() })
	if err := near.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	seen := ""
	buf := make([]byte, 4096)
	return near, func(text string) {
		t.Helper()
		for !strings.Contains(seen, text) {
			n, err := near.Read(buf)
			if seen += string(buf[:n]); err != nil && !strings.Contains(seen, text) {
				t.Fatalf("%q has not appeared, but %q: %v", text, seen, err)
			}
		}
		_, seen, _ = strings.Cut(seen, text)
	}
}

func send(t *testing.T, to *os.File, keys string) {
	t.Helper()
	if _, err := to.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// TestExec: the command has the caller's own descriptors, and the caller what came of it.
func TestExec(t *testing.T) {
	_, c := serve(t, "exec", api.Reply{OK: true, App: &api.App{ID: "a1", Exit: 7}})
	c.Stdin = strings.NewReader("text")
	var out, said strings.Builder
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil || out.String() != "out text[a1 7 false <nil>]\n" || said.String() != "err text" {
		t.Errorf("%v, %q, %q", err, out.String(), said.String())
	}
}

// TestExecInTerminal: what is typed reaches the command's own terminal, which has the size of the
// caller's, and the key for pasting is told of.
func TestExecInTerminal(t *testing.T) {
	d, c := serve(t, "terminal", api.Reply{OK: true, App: &api.App{ID: "a1", Exit: 7}})
	near, expect := inTerminal(t, c)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) { // until it listens to its terminal
		send(t, near, "\x16x\x15")
		if _, others := d.all(); len(others) > 0 && others[0].Pastes || time.Now().After(end) {
			break
		}
	}
	tty.Resize(near, 40, 20)
	send(t, near, "a line\r")
	expect(`a line\n"`)
	expect(" of 91")
	expect("[a1 7 false <nil>]")
	if _, others := d.all(); len(others) == 0 || !others[0].Pastes {
		t.Errorf("told of %+v", others)
	}
}

// TestTo: an attached terminal shows what the program writes, the program gets what is typed, the
// size, and the key for pasting; Ctrl-] lets go of it, and its end is the end.
func TestTo(t *testing.T) {
	for keys, want := range map[string]string{"a\x1dnever": "[ 0 true <nil>]", "q": "[a1 0 false <nil>]"} {
		d, c := serve(t, "to", api.Reply{OK: true, App: &api.App{ID: "a1", Exit: 7}})
		near, expect := inTerminal(t, c)
		expect("<>") // the size has been sent: it has the terminal
		send(t, near, "x")
		expect("<x>")
		send(t, near, "\x16")
		expect("<\x16>")
		send(t, near, keys)
		expect(want)
		before, _, _ := strings.Cut("x\x16"+keys, "\x1d")
		typed, others := d.all()
		for end := time.Now().Add(20 * time.Second); typed != before && time.Now().Before(end); time.Sleep(time.Millisecond) {
			typed, others = d.all() // the caller has gone before it is read
		}
		if typed != before {
			t.Errorf("typed %q, want %q", typed, before)
		}
		if len(others) != 2 || others[0].Columns != 91 || others[0].Rows != 33 || !others[1].Pastes {
			t.Errorf("told of %+v", others)
		}
	}
}

// TestRefusals: what came of a command is read strictly, and a refusal has the status that the
// supervisor says, or ours.
func TestRefusals(t *testing.T) {
	status := 126
	denial := &api.Denial{Code: "x", Message: "no such program"}
	for name, c := range map[string]struct {
		last   api.Reply
		status int
		says   string
	}{
		"a refusal with a status": {api.Reply{Error: denial, Exit: &status}, 126, "no such program"}, "a refusal": {api.Reply{Error: denial},
			api.ExitOurs, "no such program"},
		"neither": {api.Reply{App: &api.App{}}, api.ExitOurs, "neither yes nor no"}, "no command": {api.Reply{OK: true},
			api.ExitOurs, "did not say how"},
	} {
		_, cmd := serve(t, "exec", c.last)
		if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), fmt.Sprintf("[ %d false ", c.status)) ||
			!strings.Contains(string(out), c.says) {
			t.Errorf("%s: %q, %v; want status %d and %q", name, out, err, c.status, c.says)
		}
	}
}
