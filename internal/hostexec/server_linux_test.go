package hostexec

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"carrel/internal/fdpass"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// shell is a host whose one command is the shell, without walls: the protocol is tried.
type shell struct {
	mu     sync.Mutex
	said   []string
	began  int
	ended  int
	caller int
}

func (h *shell) Commands() []string { return []string{"sh"} }

func (h *shell) say(s string) *Problem {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, s)
	return nil
}

func (h *shell) Status(s string) *Problem { return h.say("status " + s) }
func (h *shell) Title(s string) *Problem  { return h.say("title " + s) }
func (h *shell) Do(_ context.Context, what string, _ Task) *Problem {
	return &Problem{Code: CodeUnsupported, Message: what + " comes with worktrees"}
}

func (h *shell) running() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.began - h.ended
}

type child struct {
	h   *shell
	cmd *exec.Cmd
}

func (h *shell) Start(_ context.Context, c Call) (Process, *Problem) {
	if c.Command != "sh" {
		return nil, &Problem{Code: CodeUnknown, Exit: 127, Message: c.Command + " is no host command"}
	}
	cmd := exec.Command("/bin/sh", c.Args...)
	cmd.Dir, cmd.Env = c.Dir, append(c.Env, "PATH=/usr/bin:/bin")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdio[0], c.Stdio[1], c.Stdio[2]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, &Problem{Code: "no-start", Exit: 126, Message: err.Error()}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.began++
	h.caller = c.Caller
	return &child{h, cmd}, nil
}

func (c *child) Terminal() *os.File      { return nil }
func (c *child) Signal(s syscall.Signal) { _ = unix.Kill(-c.cmd.Process.Pid, s) }
func (c *child) Resize(Size)             {}
func (c *child) End()                    { c.Signal(syscall.SIGKILL) }

func (c *child) Wait() Exit {
	_ = c.cmd.Wait()
	c.h.mu.Lock()
	c.h.ended++
	c.h.mu.Unlock()
	st := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if st.Signaled() {
		return Exit{128 + int(st.Signal()), strings.TrimPrefix(unix.SignalName(st.Signal()), "SIG")}
	}
	return Exit{Code: st.ExitStatus()}
}

const token = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func serve(t *testing.T) (*shell, string) {
	t.Helper()
	h := &shell{}
	s := &Server{Host: h, Token: token}
	at := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(l)
	t.Cleanup(func() {
		s.Close()
		if n := h.running(); n != 0 {
			t.Errorf("%d commands are left", n)
		}
	})
	return h, at
}

// talk is one client.
type talk struct {
	t *testing.T
	*net.UnixConn
	in *bufio.Reader
}

func dialTo(t *testing.T, at string, first ...string) *talk {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: at, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	k := &talk{t, c, bufio.NewReaderSize(c, MaxLine)}
	for _, line := range first {
		k.send(line)
	}
	return k
}

func (k *talk) send(line string) {
	k.t.Helper()
	if _, err := k.Write([]byte(line + "\n")); err != nil {
		k.t.Fatal(err)
	}
}

func (k *talk) line() string {
	line, err := k.in.ReadString('\n')
	if err != nil {
		return "EOF"
	}
	return strings.TrimSuffix(line, "\n")
}

func (k *talk) reply() (r Reply) {
	k.t.Helper()
	line := k.line()
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		k.t.Fatalf("%q: %v", line, err)
	}
	return r
}

const hello = `{"type":"Hello","version":1}`

func greeted(t *testing.T, at string) *talk {
	k := dialTo(t, at, hello)
	if r := k.reply(); r.Type != TypeHello || r.Version != Version || fmt.Sprint(r.Commands) != "[sh]" {
		t.Fatalf("%+v", r)
	}
	return k
}

// finish reads until all of some commands have ended.
func (k *talk) finish(n int) (out map[ID]*result) {
	k.t.Helper()
	out = make(map[ID]*result)
	of := func(id ID) *result {
		if out[id] == nil {
			out[id] = new(result)
		}
		return out[id]
	}
	for n > 0 {
		r := k.reply()
		switch r.Type {
		case TypeStarted:
		case TypeOutput:
			if r.Stream == StreamStderr {
				of(r.ID).stderr.Write(r.Data)
			} else {
				of(r.ID).stdout.Write(r.Data)
			}
		case TypeExit:
			of(r.ID).code, of(r.ID).signal = r.Code, r.Signal
			n--
		case TypeError:
			of(r.ID).problem = r.Error
			n--
		default:
			k.t.Fatalf("%+v", r)
		}
	}
	return out
}

type result struct {
	stdout, stderr bytes.Buffer
	code           int
	signal         string
	problem        *Problem
}

// TestFrames: several commands side by side, with input, binary output, signals and
// statuses, each under its number.
func TestFrames(t *testing.T) {
	h, at := serve(t)
	k := greeted(t, at)
	k.send(`{"type":"Exec","id":1,"command":"sh","args":["-c","cat; echo e >&2; exit 42"]}`)
	k.send(`{"type":"Exec","id":2,"command":"sh","args":["-c","printf '\\377\\000'; kill -TERM $$"]}`)
	k.send(`{"type":"Exec","id":3,"command":"sh","args":["-c","trap 'echo got; exit 3' INT; echo r; while :; do sleep 0.01; done"]}`)
	k.send(`{"type":"Exec","id":4,"command":"rm","args":["-rf","/"]}`)
	k.send(`{"type":"Exec","id":5,"command":"sh","args":["-c","echo \"$A\" $PWD"],"cwd":"/usr","env":{"A":{"base64":"/w=="}}}`)
	input := bytes.Repeat([]byte{0, 1, 255, '\n'}, 64<<10)
	for chunk := range 4 {
		k.send(fmt.Sprintf(`{"type":"Stdin","id":1,"data":%q}`, base64.StdEncoding.EncodeToString(input[chunk*len(input)/4:(chunk+1)*len(input)/4])))
	}
	k.send(`{"type":"Stdin","id":1,"eof":true}`)
	go func() {
		time.Sleep(200 * time.Millisecond)
		fmt.Fprintf(k, `{"type":"Signal","id":3,"signal":"INT"}`+"\n")
	}()
	out := k.finish(5)
	if r := out["1"]; !bytes.Equal(r.stdout.Bytes(), input) || r.stderr.String() != "e\n" || r.code != 42 {
		t.Errorf("1: %d bytes, %q, %d", r.stdout.Len(), r.stderr.String(), r.code)
	}
	if r := out["2"]; r.stdout.String() != "\xff\x00" || r.code != 143 || r.signal != "TERM" {
		t.Errorf("2: %q %d %s", r.stdout.String(), r.code, r.signal)
	}
	if r := out["3"]; r.stdout.String() != "r\ngot\n" || r.code != 3 {
		t.Errorf("3: %q %d", r.stdout.String(), r.code)
	}
	if r := out["4"]; r.problem == nil || r.problem.Code != CodeUnknown || r.problem.Exit != 127 {
		t.Errorf("4: %+v", r)
	}
	if r := out["5"]; r.stdout.String() != "\xff /usr\n" {
		t.Errorf("5: %q", r.stdout.String())
	}
	if h.caller != os.Getpid() {
		t.Errorf("the caller is %d", h.caller)
	}
}

// TestPassed: descriptors that come with the line are the command's; what is no pipe is
// refused, and none is left open.
func TestPassed(t *testing.T) {
	h, at := serve(t)
	before := descriptors(t)
	k := greeted(t, at)
	null, _ := os.Open(os.DevNull)
	defer null.Close()
	r, w, _ := os.Pipe()
	defer r.Close()
	line := `{"type":"Exec","id":%d,"command":"sh","args":["-c","echo out; echo err >&2"],"stdio":"passed"}` + "\n"
	if err := fdpass.Send(k.UnixConn, fmt.Appendf(nil, line, 1), null, w, w); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if out := k.finish(1); out["1"].code != 0 || out["1"].problem != nil {
		t.Errorf("%+v %v", out["1"], out["1"].problem)
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(r); err != nil || text.String() != "out\nerr\n" {
		t.Errorf("%q %v", text.String(), err)
	}
	file, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	dir, _ := os.Open("/")
	defer dir.Close()
	for i, files := range [][]*os.File{{null, null, file}, {null, dir, null}, {null, null}, {}, {null, null, null, null}} {
		if err := fdpass.Send(k.UnixConn, fmt.Appendf(nil, line, i+2), files...); err != nil {
			t.Fatal(err)
		}
		if out := k.finish(1); out[ID(fmt.Sprint(i+2))].problem == nil || out[ID(fmt.Sprint(i+2))].problem.Code != CodeRequest {
			t.Errorf("%d: %+v", i, out)
		}
	}
	if h.began != 1 {
		t.Errorf("%d commands began", h.began)
	}
	k.Close()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if now := descriptors(t); now <= before+4 { // r, null, file, dir
			break
		} else if time.Now().After(end) {
			t.Fatalf("%d descriptors, %d before", now, before)
		}
	}
}

func descriptors(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestGone: whoever goes takes the commands along, also those that read nothing.
func TestGone(t *testing.T) {
	h, at := serve(t)
	for _, how := range []string{"close", "cancel", "flood"} {
		k := greeted(t, at)
		k.send(`{"type":"Exec","id":1,"command":"sh","args":["-c","sleep 1000"]}`)
		if r := k.reply(); r.Type != TypeStarted {
			t.Fatalf("%+v", r)
		}
		switch how {
		case "cancel":
			k.send(`{"type":"Cancel","id":1}`)
			if out := k.finish(1); out["1"].signal != "KILL" {
				t.Errorf("%+v", out["1"])
			}
		case "flood":
			_ = k.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
			piece := fmt.Sprintf(`{"type":"Stdin","id":1,"data":%q}`+"\n", strings.Repeat("AAAA", 16<<10))
			for {
				if _, err := k.Write([]byte(piece)); err != nil {
					break
				}
			}
		}
		k.Close()
		for end := time.Now().Add(10 * time.Second); h.running() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: it runs on", how)
			}
		}
	}
}

// TestDeaf: a command that has closed its input takes no more of it, and its neighbours
// are answered all the same.
func TestDeaf(t *testing.T) {
	_, at := serve(t)
	k := greeted(t, at)
	k.send(`{"type":"Exec","id":1,"command":"sh","args":["-c","exec <&-; exec sleep 1000"]}`)
	for range 50 {
		k.send(fmt.Sprintf(`{"type":"Stdin","id":1,"data":%q}`, base64.StdEncoding.EncodeToString(make([]byte, 32<<10))))
	}
	k.send(`{"type":"Exec","id":2,"command":"sh","args":["-c","echo heard"]}`)
	if out := k.finish(1); out["2"] == nil || out["2"].stdout.String() != "heard\n" {
		t.Errorf("%v", out)
	}
}

// TestBounded: what is not read or not over takes so much memory and no more, and leaves
// room when it is gone.
func TestBounded(t *testing.T) {
	h, at := serve(t)
	k := greeted(t, at)
	k.send(`{"type":"Exec","id":1,"command":"sh","args":["` + strings.Repeat(`a","`, maxWords) + `a"]}`)
	if r := k.reply(); r.Type != TypeError || !strings.Contains(r.Error.Message, "at most") {
		t.Errorf("%+v", r)
	}
	large := strings.Repeat("x", 100<<10)
	busy, began := 0, 0
	for id := range maxCalls {
		if busy > 0 {
			break
		}
		fmt.Fprintf(k, `{"type":"Exec","id":%d,"command":"sh","args":["-c","sleep 1000",%q,%[2]q]}`+"\n", id+1, large)
		switch r := k.reply(); {
		case r.Type == TypeStarted:
			began++
		case r.Type == TypeError && r.Error.Code == CodeBusy:
			busy++
		default:
			t.Fatalf("%+v", r)
		}
	}
	if busy == 0 || began < 50 || began*(200<<10) > maxSpent {
		t.Errorf("%d began, %d were too much", began, busy)
	}
	k.Close()
	for end := time.Now().Add(time.Minute); h.running() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("they run on")
		}
	}
	k = greeted(t, at)
	k.send(`{"type":"Exec","id":"one","command":"sh","args":["-c","true","` + large + `"]}`)
	if out := k.finish(1); out[`"one"`] == nil || out[`"one"`].problem != nil {
		t.Errorf("afterwards: %+v", out)
	}
}

// TestNotUnderstood: what is wrong is told, and starts nothing.
func TestNotUnderstood(t *testing.T) {
	h, at := serve(t)
	for line, want := range map[string]string{
		"x":                                  "not understood",
		"[]":                                 "not understood",
		`{"type":"Exec","command":"sh"}`:     "not a Hello",
		strings.Repeat("x", MaxLine+1):       "longer than 1 MiB",
		`{"type":"Hello","version":1,"x":1}`: "unknown field",
	} {
		k := dialTo(t, at, line)
		if got := k.line(); !strings.Contains(got, want) || k.line() != "EOF" {
			t.Errorf("%.40q: %q", line, got)
		}
	}
	k := greeted(t, at)
	for line, want := range map[string]string{
		`{"type":"Rm","id":7}`:                                                          "no such request",
		`{"type":"Exec","id":7,"command":"sh","stdio":"x"}`:                             "frames or passed",
		`{"type":"Exec","id":7,"command":"sh","stdio":"passed"}`:                        "three descriptors",
		`{"type":"Signal","id":7,"signal":"NO"}`:                                        "no such signal",
		`{"type":"Resize","id":7}`:                                                      "size is missing",
		`{"type":"Merge","id":7}`:                                                       "comes with worktrees",
		`{"type":"SetStatus","id":7,"status":"tired"}`:                                  "Unknown status: tired",
		`{"type":"Exec","id":7,"command":"sh","shell":true}`:                            "unknown field",
		`{"type":"Exec","id":7,"command":"sh"} {"type":"Exec"}`:                         "more than one value",
		`{"type":"Stdin","id":7,"data":"` + strings.Repeat("AAAA", MaxChunk/3+1) + `"}`: "at most",
	} {
		for _, id := range []ID{"7", `"abc"`} {
			k.send(strings.Replace(line, `"id":7`, `"id":`+string(id), 1))
			if r := k.reply(); r.Type != TypeError || r.ID != id || !strings.Contains(r.Error.Message, want) {
				t.Errorf("%.60q as %s: %s %+v", line, id, r.ID, r.Error)
			}
		}
	}
	for _, id := range []string{`{}`, `-1`, `1.5`, `true`, `"` + strings.Repeat("x", maxID-1) + `"`} {
		k.send(`{"type":"Heartbeat","id":` + id + `}`)
		if r := k.reply(); r.Type != TypeError || r.ID != "" || !strings.Contains(r.Error.Message, "the id ") {
			t.Errorf("id %.20s: %q %+v", id, r.ID, r.Error)
		}
	}
	k.send(`{"type":"Heartbeat","id":"\u0061\n"}`)
	if r := k.reply(); r.Type != TypeOk || r.ID != `"a\n"` {
		t.Errorf("a string: %+v", r)
	}
	for _, line := range []string{`{"type":"Heartbeat","id":8}`, `{"type":"SetStatus","id":8,"status":"WORKING"}`, `{"type":"SetTitle","id":8,"title":"t"}`} {
		k.send(line)
		if r := k.reply(); r.Type != TypeOk || r.ID != "8" {
			t.Errorf("%s: %+v", line, r)
		}
	}
	if h.began != 0 || fmt.Sprint(h.said) != "[status working title t]" {
		t.Errorf("%d began, %q", h.began, h.said)
	}
}

// TestPropertyBytes: all bytes go through a line.
func TestPropertyBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bytes(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		line, err := json.Marshal(b)
		var back Bytes
		if err == nil {
			err = json.Unmarshal(line, &back)
		}
		if err != nil || back != b {
			t.Fatalf("%q, %q: %v", b, back, err)
		}
	})
}

func FuzzRequest(f *testing.F) {
	for _, line := range []string{hello, `{"type":"Exec","id":1,"command":"sh","args":["a",{"base64":"/w=="}],"tty":{"rows":1,"columns":2}}`, `{"type":"Stdin","data":"AAAA"}`, `{}`, `[`, `{"args":[{"base64":"x"}]}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := decode(line)
		if err != nil {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decode(again); err != nil {
			t.Fatalf("%q: %v", again, err)
		}
	})
}
