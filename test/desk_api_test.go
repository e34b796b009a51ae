//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// everything are requests for each operation of a supervisor, for the app that is named.
func everything(app string) []string {
	var out []string
	for op, more := range map[string]string{
		"exec": `,"command":{"argv":["touch","made"],"terminal":true}`, "launch": `,"command":{"argv":["touch","made"]}`, "terminal": `,"command":{"argv":["touch","made"]}`,
		"kill": `,"app":"` + app + `"`, "wait": `,"app":"` + app + `"`, "logs": `,"app":"` + app + `"`, "apps": "",
		"terminal-read": `,"app":"screen"`, "terminal-send": `,"app":"screen","input":{"text":"touch made","keys":["Enter"]}`, "attach": `,"app":"screen"`,
		"control": `,"mode":"active"`, "resume": "", "pause": "", "stop": "", "events": `,"follow":true`, "approvals": `,"follow":true`,
		"ask": `,"mode":"active"`, "approve": `,"id":"x"`, "deny": `,"id":"x"`, "net-allow": `,"host":"example.com"`, "net-deny": `,"host":"example.com"`,
		"desktop-see": `,"desktop":{"size":true}`, "desktop-do": `,"desktop":{"steps":[{"do":"type","text":"x"}]}`, "watch": "",
	} {
		out = append(out, `{"op":"`+op+`"`+more+`}`)
	}
	return out
}

// TestDeskOutOfReach: nothing inside reaches the supervisor's socket or does with the one
// that it has what it may not; nor does another user, nor a container.
func TestDeskOutOfReach(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("unshare")
		s := w.stays("reach", "--read", built.attack, "--write", w.runtime, "--home", "full")
		app := s.launch("counter", counting("n"))
		s.fine("terminal start", "--name", "screen", "--", "sh")
		socket, id := s.socket(), s.status().ID
		ask := `{"op":"status"}`
		w.mustWork("ask", socket, ask)
		w.mustWork("hunt", w.runtime)
		if got := w.canary("ask", socket, ask); !strings.Contains(got, `"name":"reach"`) {
			t.Fatalf("canary: %s", got)
		}
		inside := func(args ...string) string {
			return strings.TrimSpace(s.fine("exec", append([]string{"--", built.attack}, args...)...))
		}
		for _, dir := range []string{w.runtime, w.home, "/run", "/tmp"} {
			if got := inside("hunt", dir); strings.Contains(strings.ReplaceAll(got, "/run/carrel/api.sock", ""), ".sock") {
				t.Errorf("found inside below %s: %s", dir, got)
			}
		}
		for _, line := range append(everything(app), ask) {
			if got := inside("ask", socket, line); !strings.HasPrefix(got, "ENOENT") && !strings.HasPrefix(got, "EACCES") && !strings.HasPrefix(got, "ECONNREFUSED") {
				t.Errorf("inside, to the supervisor: %s gives %s", line, got)
			}
			r := w.plain("unshare", "--user", "--map-root-user", "--pid", "--fork", built.attack, "ask", socket, line)
			if line != ask && (strings.Contains(r.out, `"ok":true`) || !strings.Contains(r.out, `"code":"inside"`)) || strings.Contains(r.out, w.project) {
				t.Errorf("in a container: %s gives %s", line, r)
			}
			line = strings.Replace(line, `"op"`, `"operation"`, 1)
			if strings.Contains(line, `"stop"`) || strings.Contains(line, `"control"`) {
				continue // those it has; see TestDeskControlInside
			}
			if got := inside("ask", "/run/carrel/api.sock", line); !strings.Contains(got, `"ok":false`) {
				t.Errorf("inside, to its own: %s gives %s", line, got)
			}
		}
		if got := inside("ask", "/run/carrel/api.sock", strings.Repeat("x", 100<<10)); strings.Contains(got, "true") {
			t.Errorf("a long line inside: %s", got)
		}
		s.strangers(socket, app)
		if d := s.status(); d.ID != id || d.State != "running" || d.Control.Mode != "active" || exists(w.project+"/made") || !w.grows(w.project+"/n") {
			t.Errorf("afterwards: %+v", d)
		}
		for verb, args := range map[string][]string{"exec": {"--", "true"}, "kill": {app}, "events": nil} { // canary: the owner may
			if r := s.do(verb, args...); r.code != 0 {
				t.Errorf("%s: %s", verb, r)
			}
		}
	})
}

// strangers are other users, who get no answer even where all doors were left open.
func (s *stay) strangers(socket, app string) {
	t, w := s.w.t, s.w
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	other := *w
	other.who = person{"stranger", plainUID + 1, plainUID + 1}
	other.project = "/"
	for _, open := range []bool{false, true} {
		if open {
			for _, dir := range []string{w.runtime, w.runtime + "/carrel"} {
				w.must(os.Chmod(dir, 0o755))
				defer os.Chmod(dir, 0o700)
			}
			w.must(os.Chmod(socket, 0o666))
			defer os.Chmod(socket, 0o600)
		}
		for _, line := range append(everything(app), `{"op":"status"}`) {
			got := other.plain(built.attack, "ask", socket, line).out
			if want := map[bool]string{false: "EACCES", true: "error no answer"}[open]; !strings.HasPrefix(got, want) && !strings.HasPrefix(got, "EPIPE") {
				t.Errorf("another user, doors open %v: %s gives %s", open, line, got)
			}
		}
	}
}

// self is who the tests run as: its process may talk to a supervisor itself.
func self() person { return people()[0] }

// askWith sends a line with descriptors, and gives what is answered.
func askWith(t *testing.T, socket, line string, fds ...int) (answer string) {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	first := min(len(line), 4096)
	if _, _, err := conn.WriteMsgUnix([]byte(line[:first]), oob, nil); err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write([]byte(line[first:] + "\n"))
	answer, _ = bufio.NewReader(conn).ReadString('\n')
	return answer
}

// descriptorsOf counts what a process has open.
func descriptorsOf(pid int) int {
	entries, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	return len(entries)
}

// TestDeskBadRequests: what is wrong is refused with a reason, and costs nothing.
func TestDeskBadRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, self())
	s := w.stays("bad")
	socket, pid := s.socket(), s.status().PID
	file, err := os.Create(w.outside + "/file")
	w.must(err)
	defer file.Close()
	dir, err := os.Open(w.outside)
	w.must(err)
	defer dir.Close()
	master, slave := w.pty()
	defer master.Close()
	defer slave.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	w.must(err)
	defer null.Close()
	memory, err := unix.MemfdCreate("m", 0)
	w.must(err)
	defer unix.Close(memory)
	n, f, d, tty := int(null.Fd()), int(file.Fd()), int(dir.Fd()), int(slave.Fd())
	exec := `{"op":"exec","command":{"argv":["sh","-c","touch made"]}}`
	before := descriptorsOf(pid)
	for _, fds := range [][]int{{}, {n}, {n, n}, {n, n, n, n}, {n, n, n, n, n}, {f, n, n}, {n, f, n}, {n, n, d}, {d, d, d}, {tty, tty, tty}, {n, tty, n}, {n, n, memory}, {n, n, pid0(t)}} {
		if got := askWith(t, socket, exec, fds...); !strings.Contains(got, `"ok":false`) || !strings.Contains(got, `"code":"request"`) {
			t.Errorf("descriptors %v: %s", fds, got)
		}
	}
	for _, line := range []string{
		"", "x", "[]", "null", `"exec"`, "{}", `{"op":""}`, `{"op":"nonsense"}`, `{"op":"status","more":1}`, `{"op":"status"}{"op":"stop"}`, `{"op":"status","op":"nonsense"}`,
		`{"op":1}`, `{"op":"exec"}`, `{"op":"launch"}`, `{"op":"launch","command":{}}`, `{"op":"launch","command":{"argv":[]}}`, `{"op":"launch","command":{"argv":[""]}}`,
		`{"op":"launch","command":{"argv":["a\u0000b"]}}`, `{"op":"launch","command":{"argv":["true"],"dir":"relative"}}`, `{"op":"launch","command":{"argv":["true"],"env":["X"]}}`,
		`{"op":"launch","command":{"argv":["true"],"env":["=x"]}}`, `{"op":"launch","command":{"argv":["true"],"env":["CARREL=0"]}}`, `{"op":"launch","command":{"argv":["true"],"env":["CARREL_X=0"]}}`,
		`{"op":"launch","command":{"argv":["true"],"env":["A=\u0000"]}}`, `{"op":"launch","command":{"argv":["true"],"root":true}}`,
		`{"op":"kill"}`, `{"op":"kill","app":"zz"}`, `{"op":"kill","app":"nobody"}`, `{"op":"logs","app":""}`, `{"op":"terminal-send","app":"x","input":{"keys":["nonsense"]}}`,
		`{"op":"control","mode":"free"}`, `{"op":"logs","app":"sh","stream":"both"}`, strings.Repeat("x", 2<<20), `{"op":"` + strings.Repeat("s", 2<<20) + `"}`, strings.Repeat("[", 1<<19),
	} {
		if got := askWith(t, socket, line); !strings.Contains(got, `"ok":false`) || strings.Contains(got, "panic") {
			t.Errorf("%.60q: %.300s", line, got)
		}
	}
	if got := askWith(t, socket, `{"op":"launch","command":{"argv":["`+strings.Repeat("x", 300<<10)+`"]}}`); !strings.Contains(got, `"ok":false`) {
		t.Errorf("a long argument: %.300s", got)
	}
	kept := `{"op":"exec","command":{"argv":["sh","-c","touch made"],"kept":true}}`
	for line, fds := range map[string][]int{kept: {n, n, n}, strings.Replace(kept, "kept", `terminal":true,"kept`, 1): nil} {
		if got := askWith(t, socket, line, fds...); !strings.Contains(got, `"ok":false`) || !strings.Contains(got, `"code":"request"`) {
			t.Errorf("%s with %v: %s", line, fds, got)
		}
	}
	for _, size := range []string{"-1", "0", "1", "99999", "2147483647"} {
		line := `{"op":"terminal","command":{"argv":["true"],"columns":` + size + `,"rows":` + size + `}}`
		if got := askWith(t, socket, line); !strings.Contains(got, `"ok":true`) {
			t.Errorf("a terminal of %s: %s", size, got)
		}
	}
	s.sh("true")
	if exists(w.project + "/made") {
		t.Error("a command was run with wrong descriptors")
	}
	eventually(t, "the supervisor to have closed what it was given", func() bool { return descriptorsOf(pid) <= before+2 })
}

// pid0 is a descriptor that is no file at all.
func pid0(t *testing.T) int {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// TestDeskFloods: connections that say nothing, follow, or come without end, keep nobody
// from looking, holding and stopping.
func TestDeskFloods(t *testing.T) {
	t.Parallel()
	for _, hold := range []string{"", `{"op":"events","follow":true}` + "\n", "{", `{"op":"wait","app":"sleeper"}` + "\n"} {
		t.Run(hold, func(t *testing.T) { newWorld(t, self()).stays("flood").flooded(hold) })
	}
}

// flooded has many connections that say what hold is, held and made anew all the time.
func (s *stay) flooded(hold string) {
	t := s.w.t
	s.launch("sleeper", "exec sleep 4201")
	socket := s.socket()
	for range 80 {
		conn, err := net.Dial("unix", socket)
		s.w.must(err)
		defer conn.Close()
		_, _ = conn.Write([]byte(hold))
	}
	over := make(chan struct{})
	defer close(over)
	for range 2 {
		go func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if conn, err := net.Dial("unix", socket); err == nil {
					_, _ = conn.Write([]byte(hold))
					conn.Close()
				}
			}
		}()
	}
	waitABit()
	eventually(t, "an answer in time", func() bool { // it is asked for briefly, and this machine may be busy
		r := s.do("status", "--json")
		var d toldDesk
		if err := json.Unmarshal([]byte(r.out), &d); err != nil || d.State != "running" && d.State != "not answering" {
			t.Fatalf("status: %v %s", err, r)
		}
		return d.State == "running"
	})
	start := time.Now()
	if r := s.do("exec", "--", "echo", "x"); r.out != "x\n" {
		t.Errorf("exec: %s", r)
	}
	if r := s.do("pause"); r.code != 0 {
		t.Errorf("pause: %s", r)
	}
	if r := s.do("stop"); r.code != 0 || time.Since(start) > 30*time.Second {
		t.Errorf("stop: %s after %v", r, time.Since(start))
	}
}

// TestDeskAttachedToTheEnd: a client of a terminal that its program let go of ends with
// the program's status, not before.
func TestDeskAttachedToTheEnd(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		s := w.stays("letsgo")
		app, _, _ := strings.Cut(s.fine("terminal start", "--", "sh", "-c", `echo ready; read x; trap "" HUP TERM; exec sleep 4207 <&- >&- 2>&-`), " ")
		tm := w.openTerminal(w.command(w.bin, s.words("attach", app)...))
		tm.expect("ready")
		tm.send("\r")
		eventually(t, "the program to let go", func() bool { // and not the shell, which has the number in its words
			lines := slices.Collect(maps.Values(s.inside()))
			return slices.ContainsFunc(lines, func(line string) bool { return strings.HasSuffix(line, "sleep 4207") })
		})
		s.fine("stop")
		if got := tm.wait(); got != 137 {
			t.Errorf("the client ended with %d: %q", got, tm.all())
		}
	})
}

// TestDeskWaiters: whoever waits when the workspace is stopped is told at once.
func TestDeskWaiters(t *testing.T) {
	asUserAlone(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		s := w.stays("waiters")
		s.launch("sleeper", "echo x; exec sleep 4202")
		screen, _, _ := strings.Cut(s.fine("terminal start", "--", "sleep", "4203"), " ")
		type waiter struct {
			what string
			done chan result
		}
		var all []waiter
		for _, words := range []string{"wait sleeper", "wait sleeper --timeout 10m", "logs sleeper --follow", "events --follow", "exec -- sleep 4204", "launch --wait exit -- sleep 4205", "exec -- cat"} {
			f := strings.Fields(words)
			cmd := w.command(w.bin, s.words(f[0], f[1:]...)...)
			in, err := cmd.StdinPipe()
			w.must(err)
			defer in.Close()
			one := waiter{words, make(chan result, 1)}
			go func() { one.done <- w.finish(cmd) }()
			all = append(all, one)
		}
		tm := w.openTerminal(w.command(w.bin, s.words("attach", screen)...))
		shell := w.openTerminal(w.command(w.bin, s.words("exec", "--", "sleep", "4206")...))
		eventually(t, "all to wait", func() bool {
			return s.runs("4202") && s.runs("4203") && s.runs("4204") && s.runs("4205") && s.runs("4206") && s.runs("cat") && strings.Contains(fmt.Sprint(s.events()), "wait_app")
		})
		waitABit()
		start := time.Now()
		s.fine("stop")
		for _, one := range all {
			select {
			case r := <-one.done:
				if strings.Contains(r.err, "panic") || strings.HasPrefix(one.what, "exec") && r.code == 0 || strings.HasPrefix(one.what, "events") && r.code != 0 {
					t.Errorf("%s: %s", one.what, r)
				}
			case <-time.After(3*time.Second - time.Since(start)):
				t.Errorf("%s still waits", one.what)
			}
		}
		for _, one := range []*terminal{tm, shell} {
			if one.wait() == 0 || time.Since(start) > 3*time.Second {
				t.Errorf("a terminal's client ended with %v after %v: %q", one.cmd.ProcessState, time.Since(start), one.all())
			}
		}
	})
}
