//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stays starts a named workspace in the machine of a user, and stops it at the end.
func (u *limaUser) stays(name string) {
	u.t.Helper()
	u.t.Cleanup(func() { _, _ = u.carrel("stop", name) })
	if out, err := u.carrel("start", "--backend", "lima", "--network", "closed", name); err != nil {
		u.t.Fatalf("start: %v: %s", err, out)
	}
}

// does runs a command of carrel's that has to work, and gives what it says.
func (u *limaUser) does(args ...string) string {
	u.t.Helper()
	out, err := u.carrel(args...)
	if err != nil {
		u.t.Fatalf("%q: %v: %s", args, err, out)
	}
	return out
}

// file gives what a file of the project has.
func (u *limaUser) file(name string) string {
	data, _ := os.ReadFile(u.project + "/" + name)
	return string(data)
}

// until waits until something is so.
func (u *limaUser) until(what string, is func() bool) {
	u.t.Helper()
	for began := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			u.t.Fatalf("%s: it does not come", what)
		}
	}
}

// TestMachineStays: a workspace stays in a machine. Commands have their own streams, exit status,
// signals and steps; what one leaves is ended with it.
func TestMachineStays(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	u.stays("dev")
	exec1 := u.command(u.project, "exec", "dev", "--", "sh", "-c", "cat; echo to stderr >&2; echo $1 $LANGUAGE; exit 5", "sh", "a b")
	exec1.Stdin = strings.NewReader(strings.Repeat("0123456789abcdef", 1<<16))
	var out, said strings.Builder
	exec1.Stdout, exec1.Stderr = &out, &said
	_ = exec1.Run()
	if exec1.ProcessState.ExitCode() != 5 || out.Len() != 1<<20+len("a b\n") || !strings.HasSuffix(out.String(), "fa b\n") ||
		said.String() != "to stderr\n" {
		t.Errorf("exec: %v, %d bytes, %q", exec1.ProcessState, out.Len(), said.String())
	}
	first := u.command(u.project, "exec", "dev", "--", "yes") // what is not read does not hold it up for ever
	read, err := first.StdoutPipe()
	if err != nil || first.Start() != nil {
		t.Fatal(err)
	}
	if _, err := read.Read(make([]byte, 100)); err != nil {
		t.Error(err)
	}
	read.Close()
	if err := first.Wait(); err == nil {
		t.Error("yes without a reader ended well")
	}
	u.does("exec", "dev", "--", "sh", "-c", "echo one >one")
	u.does("exec", "dev", "--", "sh", "-c", "echo two >two; echo new >keep")
	if got := u.does("history", "--json"); !strings.Contains(got, "echo one") || !strings.Contains(got, "echo two") {
		t.Errorf("history: %s", got)
	}
	u.does("undo")
	if u.file("keep") != "old\n" || u.file("one") != "one\n" || u.file("two") != "" {
		t.Errorf("after undo: %q %q %q", u.file("keep"), u.file("one"), u.file("two"))
	}
	signalled := u.command(u.project, "exec", "dev", "--", "sh", "-c",
		`trap "echo caught >got; exit 9" USR1; echo up >up; while :; do sleep 0.05; done`)
	if err := signalled.Start(); err != nil {
		t.Fatal(err)
	}
	u.until("the command", func() bool { return u.file("up") != "" })
	_ = signalled.Process.Signal(syscall.SIGUSR1)
	if _ = signalled.Wait(); signalled.ProcessState.ExitCode() != 9 || u.file("got") != "caught\n" {
		t.Errorf("after a signal: %v, %q", signalled.ProcessState, u.file("got"))
	}
	out1, err := u.carrel("exec", "dev", "--", "sh", "-c", "kill -SEGV $$")
	if err == nil || err.(*exec.ExitError).Sys().(syscall.WaitStatus).Signal() != syscall.SIGSEGV {
		t.Errorf("ended by a signal: %v: %s", err, out1)
	}
	if out, err := u.carrel("exec", "dev", "--", "no-such-program"); err == nil || err.(*exec.ExitError).ExitCode() != 127 {
		t.Errorf("no program: %v: %s", err, out)
	}
	app := strings.Fields(u.does("launch", "dev", "--", "sh", "-c", "echo said; (setsid sleep 4321.5 &) ; exec sleep 4321.5"))[0]
	u.until("its output", func() bool { return strings.Contains(u.does("logs", "dev", app), "said\n") })
	u.does("kill", "dev", app)
	if got, _ := u.carrel("exec", "dev", "--", "pgrep", "-f", "sleep 4321[.]5"); got != "" {
		t.Errorf("after kill: %s", got)
	}
	var status struct {
		Backend, State string
		Apps           []any
	}
	if err := json.Unmarshal([]byte(u.does("status", "dev", "--json")), &status); err != nil || status.Backend != "lima" {
		t.Errorf("status: %+v %v", status, err)
	}
	if out, err := u.carrel("exec", "dev", "--", "cat", "denied"); err == nil {
		t.Errorf("a denied file: %s", out)
	}
}

// TestMachineStaysPaused: processes of a workspace in a machine stop for a pause, and its changes of
// the project wait outside; a stop ends them, and so does the end of its supervisor by a kill.
func TestMachineStaysPaused(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	u.stays("dev")
	counting := "for i in $(seq 100000); do echo $i >n; sleep 0.02; done"
	u.does("launch", "dev", "--", "sh", "-c", counting)
	u.until("the count", func() bool { return u.file("n") != "" })
	u.does("pause", "dev")
	was := u.file("n")
	if time.Sleep(500 * time.Millisecond); u.file("n") != was {
		t.Error("it goes on while it is paused")
	}
	u.does("stop", "dev")
	was = u.file("n")
	if time.Sleep(300 * time.Millisecond); u.file("n") != was {
		t.Error("it goes on after a stop")
	}
	u.stays("other") // the first one is paused, until a person ends that
	u.does("launch", "other", "--", "sh", "-c", "exec sleep 4322.5")
	var list []struct{ PID int }
	if err := json.Unmarshal([]byte(u.does("ps", "--json")), &list); err != nil || len(list) != 1 {
		t.Fatalf("ps: %v %v", list, err)
	}
	if err := syscall.Kill(list[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	u.until("its end", func() bool {
		out, _ := u.carrel("lima", "shell", "--", "sh", "-c", "pgrep -f 'sleep 4322[.]5' || echo none")
		return out == "none\n"
	})
	u.stays("other")
	if got := u.does("exec", "other", "--", "cat", "keep"); got != "old\n" {
		t.Errorf("the next: %q", got)
	}
}

// TestMachineTerminal: a terminal is one of the machine's own: it has the size of the caller's, also
// when that changes, and its keys are signals there.
func TestMachineTerminal(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	u.stays("dev")
	w := &world{t: t, who: person{uid: 61001, gid: 61001}}
	tm := w.openTerminal(u.command(u.project, "exec", "dev", "--", "sh"))
	tm.expect(`\$ `)
	tm.send("stty size; tty\r")
	tm.expect("24 80\r\n/dev/pts/")
	tm.resize(100, 40)
	u.until("the new size", func() bool {
		tm.send("stty size\r")
		time.Sleep(200 * time.Millisecond)
		return strings.Contains(tm.all(), "40 100\r\n")
	})
	tm.send("cat >terminal\r")
	u.until("cat", func() bool { _, err := os.Stat(u.project + "/terminal"); return err == nil })
	tm.send("\x03")
	tm.expect(`\^C\r\n\$ `)
	tm.send("echo status $?\r")
	tm.expect("status 130")
	tm.send("exit 4\r")
	if got := tm.wait(); got != 4 {
		t.Errorf("exit status %d", got)
	}
	app := strings.Fields(u.does("terminal", "start", "dev", "--", "sh"))[0]
	u.does("terminal", "send", "dev", app, "--text", "echo $((40 + 2)) >t; stty size", "Enter")
	u.until("what was typed", func() bool { return u.file("t") == "42\n" })
	u.until("its size", func() bool { return strings.Contains(u.does("terminal", "read", "dev", app), "\n30 100\n") })
	shell := strings.Fields(u.does("terminal", "start", "dev"))[0]
	u.does("terminal", "send", "dev", shell, "--text", "echo $0 >shell", "Enter")
	u.until("the machine's shell", func() bool { return u.file("shell") == "/bin/sh\n" })
	if got := u.does("shell", "dev", "--", "-c", "echo in $0"); got != "in /bin/sh\n" {
		t.Errorf("a shell in it: %q", got)
	}
	u.does("stop", "dev")
	if out, err := u.carrel("shell", "--backend", "lima", "--network", "closed", "--", "-c", "echo in $0"); err != nil ||
		!strings.HasSuffix(out, "in /bin/sh\n") {
		t.Errorf("a shell: %v: %s", err, out)
	}
	run := w.openTerminal(u.command(u.project, "run", "--backend", "lima", "--network", "closed", "--", "sh", "-c", "stty size; exec sh"))
	run.expect("24 80\r\n")
	run.send("exit 3\r")
	if got := run.wait(); got != 3 {
		t.Errorf("run at a terminal: %d", got)
	}
}

// TestMachineServesAgents: agents have files and commands in a machine, by MCP and by JSON Lines, and
// each request that changes something is a step.
func TestMachineServesAgents(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	config := u.home + "/.config/carrel/config.yaml"
	was, err := os.ReadFile(config)
	if err == nil {
		err = os.WriteFile(config, append(was, "backend: lima\nnetwork: closed\n"...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	u.does("run", "--", "true") // which makes the machine
	c := newAgentClient(t, u.command(u.project, "mcp"))
	c.greet("2025-11-25")
	c.does("write_file", args{"path": "by-mcp", "content": "hello\n"})
	c.does("edit_file", args{"path": "by-mcp", "old_string": "hello", "new_string": "bye"})
	if got := c.does("read_file", args{"path": "by-mcp"}).text(); !strings.Contains(got, "bye") {
		t.Errorf("read_file: %s", got)
	}
	got := c.does("Bash", args{"command": "cat by-mcp; id -u; exit 3"}).text()
	if !strings.Contains(got, "bye\n61184\n") || !strings.Contains(got, "[status 3]") {
		t.Errorf("Bash: %s", got)
	}
	if got := c.does("grep", args{"pattern": "by[e]"}).text(); !strings.Contains(got, "by-mcp") {
		t.Errorf("grep: %s", got)
	}
	if r := c.tool("read_file", args{"path": ".env"}); !r.IsError {
		t.Errorf("a secret: %s", r.text())
	}
	c.does("undo", nil)
	if got := u.file("by-mcp"); got != "hello\n" {
		t.Errorf("after undo: %q", got)
	}
	c.end()
	lines := u.command(u.project, "stdio", "--working-dir", ".")
	var asked strings.Builder
	for i, request := range []string{
		`"session.start"`, `"carrel.write","payload":{"path":"by-lines","content":"one\n"}`, `"fs.read","payload":{"path":"by-lines"}`,
		`"agent.execute","payload":{"command":"cat by-lines; echo two >by-lines; exit 6"}`,
	} {
		asked.WriteString(`{"request_id":"` + strconv.Itoa(i) + `","type":` + request + "}\n")
	}
	lines.Stdin = strings.NewReader(asked.String())
	out, err := lines.CombinedOutput()
	for _, want := range []string{`"backend":"lima"`, `"status":"ok"`, `"data":"one\n"`, `"exit_code":6`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("JSON Lines: it lacks %s: %v: %s", want, err, out)
		}
	}
	if got := u.file("by-lines"); got != "two\n" {
		t.Errorf("by JSON Lines: %q", got)
	}
}
