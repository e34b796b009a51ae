//go:build linux

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostCommands configures host commands, and makes one: hx, which is a shell. It lies in
// home, where nothing is in sight by itself.
func (w *world) hostCommands(list string) {
	w.t.Helper()
	w.script(w.home+"/tools/hx", "#!/bin/bash\nexec /bin/bash \"$@\"\n")
	for i, e := range w.env {
		if rest, ok := strings.CutPrefix(e, "PATH="); ok {
			w.env[i] = "PATH=" + w.home + "/tools:" + rest
		}
	}
	w.write(w.home+"/.config/carrel/config.yaml", "host_commands:\n"+list)
}

// TestHostCommand: a listed command is as if it were installed inside.
func TestHostCommand(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.hostCommands("- name: hx\n  env: [NODE_ENV, 'npm_config_*']\n- {name: tac, args: ['-', '-b *']}\n- nosuch\n")
		w.write(w.project+"/sub/f", "x\n")
		w.setenv("OUTSIDE_SECRET", "s")
		out := w.sh(program("hostexec/host_command.bash"))
		want := "/run/carrel/shims/hx\n"
		if !strings.HasPrefix(out, want) {
			t.Errorf("got %s", out)
		}
		direct := w.outsideSh(`cd sub && mkdir -p x && bash -c 'echo "$PWD $HOME $0 $*"' 'a b' $'c\nd' '' $'\377' | od -c | tail -n +1 | md5sum; rmdir x`)
		for _, want := range []string{direct, w.project + "/sub\n", "test 1 [] C 1\n", "got hello\n", "end\n", "x\n", "to a file\n", "one\ntwo\n", "42\n143\n", "Read-only file system",
			"143\n\nx126\n127\n126\n", "hx\nnosuch\ntac\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("without %q:\n%s", want, out)
			}
		}
		r := w.run("--", "bash", "-c", "tac f; nosuch; cd /tmp; hx -c true; exec -a gh hx")
		for _, want := range []string{"tac is not allowed with these arguments", `host_commands allows: "-", "-b *"`, "nosuch is a host command, and is not installed", `host commands work in the project, and "/tmp" is not in it`, "carrel: denied"} {
			if !strings.Contains(r.err, want) {
				t.Errorf("without %q: %s", want, r)
			}
		}
		if got := w.sh("type -P nosuchthing; echo none"); got != "none\n" {
			t.Errorf("%q", got)
		}
	})
}

// TestHostCommandShim: the small program beside carrel stands for them, and a link there
// does not: it would choose what is shown.
func TestHostCommandShim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[1])
	w.hostCommands("- hx\n")
	shim := w.base + "/bin/carrel-shim"
	secret := w.script(w.home+"/notes/secret", "#!/bin/sh\n# SECRET\n")
	w.must(os.Symlink(secret, shim))
	if got := w.sh("readlink /run/carrel/shims/hx; cat /run/carrel/bin/carrel-shim 2>/dev/null; hx -c 'echo ran'"); got != "/run/carrel/bin/carrel\nran\n" {
		t.Errorf("with a link: %q", got)
	}
	w.must(os.Remove(shim))
	build := exec.Command("go", "build", "-o", shim, "carrel/cmd/carrel-shim")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := w.sh("readlink /run/carrel/shims/hx; echo in | hx -c 'cat; exit 0'; hx -c 'kill -TERM $$' 2>/dev/null; echo $?"); got != "/run/carrel/bin/carrel-shim\nin\n143\n" {
		t.Errorf("with the program: %q", got)
	}
}

// TestHostCommandStreams: whatever bytes, however many, both ways and apart.
func TestHostCommandStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.hostCommands("- hx\n")
	data := make([]byte, 5<<20)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	w.write(w.project+"/data", string(data))
	sum := fmt.Sprintf("%x  -\n", sha256.Sum256(data))
	for name, script := range map[string]string{
		"pipes": "cat data | hx -c cat | sha256sum",
		"files": "hx -c cat <data >copy; sha256sum <copy",
		"both":  "hx -c 'cat data >&2' 2>&1 >/dev/null | sha256sum",
		"large": "cat data | hx -c 'cat; cat >&2 data' 2>errs | sha256sum; cmp data errs && exit",
	} {
		if got := w.sh(script); got != sum {
			t.Errorf("%s: %q, want %q", name, got, sum)
		}
	}
	// Side by side, more than any small bound.
	out := w.sh(`for i in $(seq 200); do hx -c "echo $i; exit $((i % 7))" & pids="$pids $!"; done; n=0; for p in $pids; do wait $p; n=$((n+$?)); done; echo "sum $n"`)
	if n := strings.Count(out, "\n"); n != 201 || !strings.Contains(out, "sum 598\n") {
		t.Errorf("%d lines: %s", n, cut(out))
	}
}

// TestHostCommandHistory: what host commands change is the caller's step, and is taken
// back with it; protected names hold.
func TestHostCommandHistory(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.hostCommands("- hx\n")
		w.outsideSh("git init -q && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x")
		w.write(w.project+"/keep", "before\n")
		r := w.run("--", "bash", "-c", `hx -c 'echo after > keep; echo new > made; mkdir d; mv made d/; echo x > .git/hooks/pre-commit; echo "[core] hooksPath=/x" >> .git/config'; echo inside > own`)
		if w.read(w.project+"/keep") != "after\n" || !exists(w.project+"/d/made") || exists(w.project+"/.git/hooks/pre-commit") || strings.Contains(w.read(w.project+"/.git/config"), "hooksPath") {
			t.Errorf("after the run: %s", r)
		}
		if n := len(w.steps()); n != 1 {
			t.Errorf("%d steps", n)
		}
		w.fine("undo")
		if w.read(w.project+"/keep") != "before\n" || exists(w.project+"/d") || exists(w.project+"/own") {
			t.Error("it was not taken back")
		}
		// In a workspace that stays, each app has its own.
		s := w.stays("a")
		s.sh("hx -c 'echo a > by-a'")
		s.sh("hx -c 'echo b > by-b'")
		steps := w.steps()
		s.end()
		if len(steps) < 3 {
			t.Fatalf("%d steps", len(steps))
		}
		w.fine("undo")
		if exists(w.project+"/by-b") || !exists(w.project+"/by-a") {
			t.Error("the last app's was taken back with another's, or not at all")
		}
	})
}

// TestHostCommandWalls: the walls of host commands hide and stop what those of the
// workspace do. The same script without walls shows that there is something to see.
func TestHostCommandWalls(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.hostCommands("- hx\n")
		w.write(w.home+"/.ssh/id_x", "KEY\n")
		w.write(w.home+"/.cargo/env", "# outside\n")
		w.write(w.home+"/.cargo/registry/a", "a\n")
		w.write(w.home+"/notes", "n\n")
		socket := w.runtime + "/agent.sock"
		l, err := net.Listen("unix", socket)
		w.must(err)
		defer l.Close()
		w.own(socket)
		sleeper := w.command("sleep", "1000")
		w.must(w.start(sleeper))
		defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
		port, err := net.Listen("tcp", "127.0.0.1:0")
		w.must(err)
		defer port.Close()
		script := w.write(w.project+"/try", fmt.Sprintf("socket=%s port=%d process=%d runtime=%s\n", socket, port.Addr().(*net.TCPAddr).Port, sleeper.Process.Pid, w.runtime)+program("hostexec/sees_what_is_outside.bash"))
		if r := w.plain("bash", script); strings.Count(r.out, "SAW") < 9 {
			t.Fatalf("canary: %s", r)
		}
		w.write(w.home+"/.cargo/env", "# outside\n")
		r := w.run("--", "bash", "-c", "hx ./try")
		if got := strings.ReplaceAll(r.out, "SAW cargo", ""); strings.Contains(got, "SAW") || r.code != 0 {
			t.Errorf("inside: %s", r)
		}
		if got := w.read(w.home + "/.cargo/env"); got != "# outside\n" {
			t.Errorf("home was changed: %q", got)
		}
		if err := sleeper.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("the process outside: %v", err)
		}
		// What programs inside leave in their caches, host commands do not find.
		if got := w.sh("echo evil > ~/.cargo/registry/x; cat ~/.cargo/registry/x; hx -c 'cat ~/.cargo/registry/a ~/.cargo/registry/x' || echo not there"); got != "evil\na\nnot there\n" {
			t.Errorf("caches: %q", got)
		}
	})
}

// TestHostCommandEnds: whoever calls a host command and goes takes all of it along.
func TestHostCommandEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.hostCommands("- hx\n- {name: perl, timeout: 500ms}\n")
	s := w.stays("a")
	gone := func(word string) {
		t.Helper()
		eventually(t, word+" to end", func() bool { return !w.anybody(word) })
	}
	for _, c := range []struct{ name, script string }{
		{"killed", `(hx -c 'sh -c "trap \"\" TERM HUP INT; exec -a 7000.1 sleep 7000.1" & sleep 7000.1' & echo $! >pid; wait) 2>/dev/null & sleep 0.3; until pgrep -x sleep || [ -e started ]; do sleep 0.05; break; done; kill -KILL $(cat pid)`},
		{"done", `hx -c 'setsid sleep 7000.1 >/dev/null 2>&1 & exit 0'`},
		{"interrupted", `timeout -s INT 0.5 hx -c 'sleep 7000.1'; [ $? = 124 ]`},
	} {
		s.sh(c.script)
		gone("7000.1")
		t.Log(c.name)
	}
	begun := time.Now()
	if got := s.sh(`perl -e 'system("sleep", "7000.2")'; echo $?`); got != "124\n" || time.Since(begun) > 20*time.Second {
		t.Errorf("past its time: %q", got)
	}
	gone("7000.2")
	s.launch("x", "hx -c 'sleep 7000.3'")
	eventually(t, "it to run", func() bool { return w.anybody("7000.3") })
	s.fine("kill", "x")
	gone("7000.3")
	s.launch("y", "hx -c 'sleep 7000.4'")
	eventually(t, "it to run", func() bool { return w.anybody("7000.4") })
	s.end()
	gone("7000.4")
}

// anybody says whether a process has a word in its command line.
func (w *world) anybody(word string) bool {
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range list {
		if text, err := os.ReadFile(f); err == nil && bytes.HasPrefix(text, []byte("sleep\x00"+word)) {
			return true
		}
	}
	return false
}

// TestHostCommandPaused: a workspace that stands still has host commands that do, too.
func TestHostCommandPaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.hostCommands("- hx\n")
	s := w.stays("a")
	s.launch("x", "hx -c 'while :; do echo x >> ticks; sleep 0.01; done'")
	eventually(t, "it to run", func() bool { return exists(w.project + "/ticks") })
	size := func() int64 {
		st, err := os.Stat(w.project + "/ticks")
		w.must(err)
		return st.Size()
	}
	s.person("pause")
	was := size()
	time.Sleep(300 * time.Millisecond)
	if now := size(); now != was {
		t.Errorf("it goes on: %d, %d bytes", was, now)
	}
	s.person("resume")
	eventually(t, "it to go on", func() bool { return size() > was })
}

// TestHostCommandTerminal: at a terminal it has one, of its size; without one, pipes.
func TestHostCommandTerminal(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.hostCommands("- hx\n")
		w.write(w.project+"/talk", "stty size; tty; read -p name: x; echo \"hello $x\"; while sleep 0.1; do stty size </dev/tty; done & read y; kill $!; echo over\n")
		tm := w.shellOutside()
		tm.send("stty rows 33 cols 101; " + w.bin + " run -- sh -c 'hx ./talk'\n")
		tm.expect("33 101\r")
		tm.expect(`/dev/pts/\d+`)
		tm.expect("name:")
		tm.send("ada\n")
		tm.expect("hello ada")
		tm.resize(120, 40)
		tm.expect("40 120")
		tm.send("\n")
		tm.expect("over")
		if got := tm.status(); got != "st=0\r" {
			t.Errorf("%q", got)
		}
		tm.send(w.bin + " run -- sh -c 'hx -c \"echo go; sleep 100\"; echo next $?'\n")
		tm.expect("\r\ngo\r\n")
		tm.send("\x03")
		if got := tm.status(); got != "st=130\r" {
			t.Errorf("after Ctrl-C: %q", got)
		}
		if got := w.sh("hx -c '[ -t 0 ] || [ -t 1 ] || echo no terminal' </dev/null | cat"); got != "no terminal\n" {
			t.Errorf("%q", got)
		}
	})
}

// TestHostCommandAsk: one that is asked about waits for a person.
func TestHostCommandAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.hostCommands("- {name: hx, ask: true}\n")
	s := w.stays("a")
	for _, answer := range []string{"approve", "deny"} {
		s.launch("x", "hx -c 'echo ran > "+answer+".txt'; echo $? > status")
		var id string
		eventually(t, "a question", func() bool {
			var waiting []struct{ ID, Subject string }
			w.must(json.Unmarshal([]byte(w.plain(w.bin, "approvals", "--json").out), &waiting))
			for _, one := range waiting {
				if strings.HasPrefix(one.Subject, "hx -c") {
					id = one.ID
				}
			}
			return id != ""
		})
		if r := w.plain(w.bin, "approve", id); r.code == 0 {
			t.Fatalf("a program says yes: %s", r)
		}
		tm := w.openTerminal(w.command(w.bin, answer, id))
		if answer == "approve" {
			tm.expect("leave it: ")
			tm.send(id + "\n")
		}
		if code := tm.wait(); code != 0 {
			t.Fatalf("%s: %d %s", answer, code, tm.all())
		}
		eventually(t, "an end", func() bool { return exists(w.project + "/status") })
		if ran := exists(w.project + "/" + answer + ".txt"); ran != (answer == "approve") {
			t.Errorf("%s: ran %t, status %s", answer, ran, w.read(w.project+"/status"))
		}
		w.must(os.Remove(w.project + "/status"))
	}
	s.wants("app", "supervisor", "host-exec", "hx -c", "")
}

// TestHostCommandScope: who may list some, and who may not.
func TestHostCommandScope(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.script(w.home+"/tools/hx", "#!/bin/sh\n")
	w.write(w.project+"/.carrel.yaml", "host_commands: [hx]\ndangerously_allow_unsandboxed_host_exec: true\n")
	r := w.run("--", "sh", "-c", "type hx; ls /run/carrel/shims; echo $WM_RPC_TOKEN; ls /run/carrel")
	if strings.Contains(r.out, "host.sock") || strings.Contains(r.out, "hx is") || strings.Count(r.err, "this key belongs to the user") < 2 {
		t.Errorf("of a project: %s", r)
	}
	w.must(os.Remove(w.project + "/.carrel.yaml"))
	w.hostCommands("- hx\n- gh\n")
	if r := w.run("--permissions", w.write(w.home+"/c.json", `{"host_commands":["hx"]}`), "--", "true"); r.code != 125 || !strings.Contains(r.err, "asks for gh") {
		t.Errorf("beyond a ceiling: %s", r)
	}
	if got := w.sh("hx -c 'echo ran'", "--permissions", w.write(w.home+"/c.json", `{"host_commands":["hx","gh"]}`)); got != "ran\n" {
		t.Errorf("below a ceiling: %q", got)
	}
	if got := w.plain(w.bin, "explain").out; !strings.Contains(got, "hx, gh") || !strings.Contains(got, "config.yaml:2") {
		t.Errorf("explained: %s", cut(got))
	}
	w = newWorld(t, people()[1])
	w.hostCommands("- hx\n")
	for _, engine := range []string{"bubblewrap", "landlock"} {
		r := w.run("--engine", engine, "--history", "off", "--", "sh", "-c", "hx -c 'echo ran'")
		if ran := r.out == "ran\n"; ran != (engine == "bubblewrap") || !ran && !strings.Contains(r.err, "no host commands with the engine landlock") {
			t.Errorf("%s: %s", engine, r)
		}
	}
}

// TestHostCommandUnwalled: without walls only where the person says so, loudly, and never
// under a ceiling.
func TestHostCommandUnwalled(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.hostCommands("- hx\ndangerously_allow_unsandboxed_host_exec: true\n")
		w.write(w.home+"/notes", "n\n")
		w.setenv("MY_TOKEN", "T0")
		w.setenv("MY_SETTING", "S0")
		if got := w.sh(`hx -c 'echo "[$MY_TOKEN$MY_SETTING]$HOME"'`); got != "[]"+w.home+"\n" {
			t.Errorf("the environment of the person: %q", got)
		}
		if got := w.sh(`hx -c 'echo "[$MY_TOKEN$MY_SETTING]"'`, "--env", "MY_SETTING"); got != "[S0]\n" {
			t.Errorf("a variable that the person passes: %q", got)
		}
		w.write(w.project+"/f", "old\n")
		r := w.run("--", "bash", "-c", `cat ~/notes; hx -c 'cat ~/notes; echo new > f; echo "$WM_RPC_TOKEN$OUT"'; hx -c 'sleep 7001 & exit 3'; echo $?`)
		if r.out != "n\n\n3\n" || !strings.Contains(r.err, "HOST COMMANDS RUN WITHOUT WALLS: hx") {
			t.Errorf("%s", r)
		}
		eventually(t, "what it left to end", func() bool { return !w.anybody("7001") })
		w.fine("undo")
		if got := w.read(w.project + "/f"); got != "old\n" {
			t.Errorf("it was not taken back: %q", got)
		}
		if r := w.run("--permissions", w.write(w.home+"/c.json", `{"host_commands":["hx"]}`), "--", "true"); r.code != 125 || !strings.Contains(r.err, "refused under a ceiling") {
			t.Errorf("under a ceiling: %s", r)
		}
	})
}

// TestHostCommandTemporaryFiles: programs inside and host commands pass files in /tmp, those
// with credentials too, whose own temporary files are elsewhere.
func TestHostCommandTemporaryFiles(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.setenv("MY_TOKEN", "T0")
		w.hostCommands("- hx\n- name: dash\n  credentials: {env: [MY_TOKEN]}\n")
		got := w.sh(`echo in > /tmp/a; hx -c 'cat /tmp/a; echo out > /tmp/b; mkdir /tmp/d'; cat /tmp/b; ls -d /tmp/d
			/run/carrel/shims/dash -c 'cat /tmp/a; echo token > "$(mktemp)"; echo also > /tmp/c'; cat /tmp/c
			grep -rl token /tmp /dev/shm || true`)
		if got != "in\nout\n/tmp/d\nin\nalso\n" {
			t.Errorf("%q", got)
		}
		if _, err := os.Stat("/tmp/d"); err == nil {
			t.Error("it is the machine's /tmp")
		}
		// A link in /tmp leads where it does for the command, which sees no more than before.
		w.write(w.home+"/notes", "n\n")
		if got := w.sh("ln -s " + w.home + "/notes /tmp/l; hx -c 'cat /tmp/l 2>/dev/null || echo no'"); got != "no\n" {
			t.Errorf("by a link: %q", got)
		}
	})
}

// TestHostCommandCredentials: what one command is given, no other sees; nor does anything
// inside.
func TestHostCommandCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.write(w.home+"/.npmrc", "TOKEN\n")
	w.setenv("MY_TOKEN", "T0")
	w.hostCommands("- hx\n- name: sh\n  credentials: {env: [MY_TOKEN], files: [~/.npmrc]}\n- {name: dash, network: closed}\n")
	look := `echo "[$MY_TOKEN]"; cat ~/.npmrc 2>/dev/null; grep -z MY_TOKEN /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n'; true`
	got := w.sh("cat > look <<'E'\n" + look + "\nE\nbash ./look; echo; /run/carrel/shims/sh ./look & sleep 0.3; hx ./look; wait")
	if !strings.Contains(got, "[T0]\nTOKEN\n") || strings.Count(got, "TOKEN\n") != 1 || !strings.HasPrefix(got, "[]\n\n[T0]") || !strings.HasSuffix(got, "\n[]\n") {
		t.Errorf("%q", got)
	}
	port, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	defer port.Close()
	ask := fmt.Sprintf("echo \"[$https_proxy]\"; perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(PeerAddr=>q(127.0.0.1:%d))' && echo reached || echo not", port.Addr().(*net.TCPAddr).Port)
	w.write(w.project+"/ask", ask)
	if got := w.sh("dash ./ask; hx ./ask", "--host-port", strconv.Itoa(port.Addr().(*net.TCPAddr).Port)); got != "[]\nnot\n[]\nreached\n" {
		t.Errorf("closed, and not: %q", got)
	}
}
