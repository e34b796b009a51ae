//go:build linux

package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDeskExec: a command in a workspace behaves as without: status, signals, and
// descriptors of every kind.
func TestDeskExec(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		s := w.stays("exec")
		if r := s.do("exec", "--env", "X=1", "bash", "-c", `echo "$X $0"`, "-l"); r.out != "1 -l\n" || r.code != 0 {
			t.Errorf("flags of the command, without dashes: %s", r)
		}
		for script, want := range map[string]int{"exit 0": 0, "exit 3": 3, "exit 255": 255} {
			if r := s.do("exec", "--", "sh", "-c", script); r.code != want || r.signal != 0 {
				t.Errorf("%s: %s", script, r)
			}
		}
		if r := s.do("exec", "--", "sh", "-c", "kill -KILL $$"); r.signal != syscall.SIGKILL {
			t.Errorf("a command that is killed: %s", r)
		}
		if r := s.do("exec", "--", "no-such-program"); r.code != 127 {
			t.Errorf("no such program: %s", r)
		}
		if r := s.do("exec", "--", "/etc/passwd"); r.code != 126 {
			t.Errorf("no program: %s", r)
		}
		if r := s.do("exec", "--cwd", "/nothing/there", "--", "pwd"); r.code == 0 {
			t.Errorf("no such directory: %s", r)
		}
		w.mkdir(w.project+"/sub", 0o700)
		for dir, want := range map[string]string{"sub": w.project + "/sub", "/tmp": "/tmp", "": w.project} {
			if got := s.fine("exec", "--cwd", dir, "--", "pwd"); got != want+"\n" {
				t.Errorf("--cwd %q: %q", dir, got)
			}
		}
		w.setenv("FROM_HERE", "value of outside")
		if got := s.fine("exec", "--env", "FROM_HERE", "--env", "X=a=b", "--", "sh", "-c", `echo "$FROM_HERE $X"`); got != "value of outside a=b\n" {
			t.Errorf("--env: %q", got)
		}
		if got := s.sh(`echo "$FROM_HERE"`); got != "\n" {
			t.Errorf("a variable of another command: %q", got)
		}
		s.signals()
		s.descriptors()
	})
}

// signals: Ctrl-C and its like go to the command; who is killed leaves nothing.
func (s *stay) signals() {
	t, w := s.w.t, s.w
	t.Helper()
	for _, tt := range []struct {
		script string
		send   syscall.Signal
		code   int
		signal syscall.Signal
	}{
		{"trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.02; done", syscall.SIGINT, 7, 0},
		{"trap 'echo caught; exit 8' TERM; echo ready; while :; do sleep 0.02; done", syscall.SIGTERM, 8, 0},
		{"trap 'echo caught; exit 9' USR1; echo ready; while :; do sleep 0.02; done", syscall.SIGUSR1, 9, 0},
		{"echo ready; exec sleep 3001", syscall.SIGINT, -1, syscall.SIGINT},
		{"echo ready; exec sleep 3001", syscall.SIGTERM, -1, syscall.SIGTERM},
	} {
		cmd := w.command(w.bin, s.words("exec", "--", "bash", "-c", tt.script)...)
		out, err := cmd.StdoutPipe()
		w.must(err)
		w.must(w.start(cmd))
		waitFor(t, out, "ready\n")
		w.must(cmd.Process.Signal(tt.send))
		var r result
		w.ended(&r, cmd, cmd.Wait())
		if r.code != tt.code || r.signal != tt.signal {
			t.Errorf("%q and %v: %s", tt.script, tt.send, r)
		}
	}
	for _, script := range []string{"echo ready; exec sleep 3002", "trap '' HUP TERM; echo ready; setsid sleep 3002; sleep 3002"} {
		cmd := w.command(w.bin, s.words("exec", "--", "bash", "-c", script)...)
		out, err := cmd.StdoutPipe()
		w.must(err)
		w.must(w.start(cmd))
		waitFor(t, out, "ready\n")
		eventually(t, "it to run", func() bool { return s.runs("sleep 3002") })
		w.must(cmd.Process.Kill())
		_ = cmd.Wait()
		eventually(t, "what nobody waits for to end", func() bool { return !s.runs("sleep 3002") })
	}
}

// descriptors: pipes, files and none.
func (s *stay) descriptors() {
	t, w := s.w.t, s.w
	t.Helper()
	w.write(w.outside+"/in", "from a file\n")
	carrel := w.bin + " exec " + s.name + " -- "
	for script, want := range map[string]string{
		"echo from a pipe | " + carrel + "cat | tr a-z A-Z": "FROM A PIPE\n",
		carrel + "cat < " + w.outside + "/in":               "from a file\n",
		carrel + "sh -c 'echo o; echo e >&2' > " + w.outside + "/o 2> " + w.outside + "/e; cat " + w.outside + "/o " + w.outside + "/e": "o\ne\n",
		carrel + "sh -c 'echo o; echo e >&2' > " + w.outside + "/o 2>&1; cat " + w.outside + "/o":                                       "o\ne\n",
		"echo kept > " + w.outside + "/a; " + carrel + "echo more >> " + w.outside + "/a; cat " + w.outside + "/a":                      "kept\nmore\n",
		carrel + "sh -c 'cat; echo end' <&-": "end\n",
		carrel + "sh -c 'echo x; echo y >&2; echo done > /tmp/closed' >&- 2>&-; " + carrel + "cat /tmp/closed": "done\n",
		"yes | " + carrel + "head -n 1":                                                                                         "y\n",
		carrel + "yes | head -n 1":                                                                                              "y\n",
		"head -c 3000000 /dev/zero | " + carrel + "wc -c":                                                                       "3000000\n",
		carrel + "head -c 3000000 /dev/zero | wc -c":                                                                            "3000000\n",
		"(echo one; " + carrel + "cat; echo three) < " + w.outside + "/in":                                                      "one\nfrom a file\nthree\n",
		carrel + "ls /proc/self/fd | tr '\\n' ' '":                                                                              "0 1 2 3 ",
		carrel + "sh -c 'sleep 0.2 & echo early' | cat":                                                                         "early\n",
		"exec 7< " + w.outside + "/in; " + carrel + "sh -c 'cat <&7' 2>/dev/null || echo no 7":                                  "no 7\n",
		carrel + "sh -c 'echo x > /proc/self/fd/0' < " + w.outside + "/in 2>/dev/null; cat " + w.outside + "/in":                "from a file\n",
		"mkfifo " + w.outside + "/p; (sleep 0.1; echo by name > " + w.outside + "/p) & " + carrel + "cat < " + w.outside + "/p": "by name\n",
		"printf '\\000\\377\\n' | " + carrel + "od -An -tx1":                                                                    " 00 ff 0a\n",
		carrel + "sh -c 'trap \"\" PIPE; echo still' < /dev/null":                                                               "still\n",
		"for i in 1 2 3; do echo $i; done | while read l; do " + carrel + "echo $l < /dev/null; done":                           "1\n2\n3\n",
	} {
		start := time.Now()
		r := w.plain("bash", "-c", script)
		if r.out != want {
			t.Errorf("%s\n%s", script, r)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%s took %v", script, took)
		}
	}
}

// TestDeskLogs: what an app writes is read while it runs and after.
func TestDeskLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	s := w.stays("logs")
	s.launch("writer", "echo out; echo err >&2; while [ ! -e go ]; do sleep 0.02; done; echo last")
	follow := w.command(w.bin, s.words("logs", "writer", "--follow")...)
	var said strings.Builder
	var failed strings.Builder
	follow.Stdout, follow.Stderr = &said, &failed
	w.must(w.start(follow))
	events := w.command(w.bin, s.words("events", "--follow", "--json")...)
	var happened strings.Builder
	events.Stdout = &happened
	w.must(w.start(events))
	waitABit()
	w.write(w.project+"/go", "")
	w.must(follow.Wait())
	if said.String() != "out\nlast\n" || failed.String() != "err\n" {
		t.Errorf("followed: %q %q", said.String(), failed.String())
	}
	if r := s.do("logs"); r.out != "out\nlast\n" || r.err != "err\n" || r.code != 0 {
		t.Errorf("the only app's output without its name: %s", r)
	}
	last := s.status().Events
	s.launch("big", "head -c 20000000 /dev/zero | tr '\\000' x; echo; echo end")
	if r := s.do("wait", "big"); r.code != 0 {
		t.Errorf("wait: %s", r)
	}
	if r := s.do("wait", "writer"); r.code != 0 || !strings.Contains(r.out, "exit 0") {
		t.Errorf("wait for what has ended: %s", r)
	}
	look := func(when string) {
		if r := s.do("logs"); r.code != 125 || !strings.Contains(r.err, "launched apps; name one") {
			t.Errorf("%s: logs of one of several apps: %s", when, r)
		}
		for flags, want := range map[string]string{"": "out\nlast\n", "--stream stdout": "out\nlast\n", "--stream stderr": "", "--tail 5": "last\n", "--since 4": "last\n", "--follow": "out\nlast\n"} {
			if r := s.do("logs", append([]string{"writer"}, strings.Fields(flags)...)...); r.out != want || r.code != 0 {
				t.Errorf("%s: logs %s: %s", when, flags, r)
			}
		}
		r := s.do("logs", "big")
		if len(r.out) > 9<<20 || len(r.out) < 4<<20 || !strings.HasSuffix(r.out, "x\nend\n") || !strings.Contains(r.err, "are kept no more") {
			t.Errorf("%s: of much output %d bytes are kept, %s", when, len(r.out), r.err)
		}
		since := s.events("--since", "1")
		if len(since) == 0 || since[0].Seq != 2 {
			t.Errorf("%s: events since 1: %+v", when, since)
		}
		if r := s.do("logs", "nobody"); r.code != 125 || !strings.Contains(r.err, "no app") {
			t.Errorf("%s: %s", when, r)
		}
	}
	look("running")
	if got := s.events("--since", "99999"); len(got) != 0 {
		t.Errorf("events after the last: %+v", got)
	}
	for _, e := range s.events() {
		if e.Seq > last && e.Kind == "app_exit" && !strings.Contains(e.Text, "status 0") {
			t.Errorf("%+v", e)
		}
	}
	s.fine("stop")
	w.must(events.Wait())
	all := readEvents(t, happened.String())
	for i, e := range all {
		if e.Seq != uint64(i+1) {
			t.Fatalf("event %d has number %d", i+1, e.Seq)
		}
	}
	if all[len(all)-1].Kind != "workspace_stop" {
		t.Errorf("the last event is %+v", all[len(all)-1])
	}
	look("stopped")
	size := int64(0)
	entries, _ := os.ReadDir(s.place())
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
	}
	if size > 40<<20 {
		t.Errorf("%d bytes are kept", size)
	}
}

// TestExecPausedFromInside: a command that pauses its own workspace, and so itself, does not
// hold the caller: a signal ends both.
func TestExecPausedFromInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	s := w.stays("pauses")
	cmd := w.command(w.bin, s.words("exec", "--", "bash", "-c", "carrel control pauses paused; exec sleep 3003")...)
	w.must(w.start(cmd))
	eventually(t, "the pause", func() bool { return s.mode() == "paused" })
	w.must(cmd.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		var r result
		w.ended(&r, cmd, err)
		if r.signal != syscall.SIGTERM {
			t.Errorf("%s", r)
		}
	case <-time.After(quick):
		_ = cmd.Process.Kill()
		t.Fatal("it holds its caller past SIGTERM")
	}
	s.person("control", "active")
	eventually(t, "the command to end", func() bool { return !w.anybody("3003") })
}

// TestStartFailedSetup: a workspace whose setup fails is not left running, its logs are.
func TestStartFailedSetup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	profile := "setup:\n- {command: [\"true\"]}\n- {command: [bash, -c, echo why; exit 3]}\n- {command: [touch, third]}\n"
	w.write(w.home+"/.config/carrel/profiles/fails.yaml", profile)
	r := w.plain(w.bin, "start", "set", "--profile", "fails")
	t.Cleanup(func() { w.plain(w.bin, "stop", "set") })
	if r.code != 125 || !strings.Contains(r.err, "status 3") {
		t.Errorf("%s", r)
	}
	if out := w.plain(w.bin, "status", "set").out; strings.Contains(out, "running") {
		t.Errorf("it still runs: %s", out)
	}
	if _, err := os.Stat(w.project + "/third"); err == nil {
		t.Error("the third command was started")
	}
	w.write(w.home+"/.config/carrel/profiles/fails.yaml", strings.Replace(profile, "exit 3", "exit 0", 1))
	if r := w.plain(w.bin, "start", "set", "--profile", "fails"); r.code != 0 {
		t.Errorf("with the profile mended: %s", r)
	}
}
