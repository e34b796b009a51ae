//go:build linux

package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestExitStatus(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		for status := 0; status < 256; status += 1 + status%7 {
			if r := w.run("--", "sh", "-c", "exit "+strconv.Itoa(status)); r.code != status || r.out+r.err != "" {
				t.Errorf("exit %d: %s", status, r)
			}
		}
	})
}

// TestOwnExitStatus: 124 to 127 as docker and env have them.
func TestOwnExitStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.script(w.project+"/text", "no program\n")
	w.write(w.project+"/plainfile", "x")
	w.script(w.project+"/badinterp", "#!/no/such/interpreter\n")
	w.script(w.outside+"/hidden", "#!/bin/sh\n")
	tests := []struct {
		name string
		args []string
		code int
		say  string
	}{
		{"not found", []string{"run", "--", "no-such-command"}, 127, "no-such-command"},
		{"no such path", []string{"run", "--", "./nothing"}, 127, "nothing"},
		{"no such absolute path", []string{"run", "--", w.outside + "/nothing/here"}, 127, "/nothing/here"},
		{"not executable", []string{"run", "--", "./plainfile"}, 126, "plainfile"},
		{"a directory", []string{"run", "--", "/usr"}, 126, "/usr"},
		{"exists outside only", []string{"run", "--", w.outside + "/hidden"}, 127, "--read"},
		{"missing interpreter", []string{"run", "--", "./badinterp"}, 127, "interpreter"},
		{"empty name", []string{"run", "--", ""}, 127, ""},
		{"no command", []string{"run"}, 125, "carrel run -- COMMAND"},
		{"no command after --", []string{"run", "--"}, 125, "carrel run -- COMMAND"},
		{"unknown flag", []string{"run", "--nonsense", "--", "true"}, 125, "nonsense"},
		{"unknown command", []string{"nonsense"}, 125, "nonsense"},
		{"unknown network", []string{"run", "--network", "maybe", "--", "true"}, 125, "closed"},
		{"unknown display", []string{"run", "--display", "maybe", "--", "true"}, 125, "none"},
		{"unknown nesting", []string{"run", "--nested", "maybe", "--", "true"}, 125, "userns"},
		{"unknown home", []string{"run", "--home", "maybe", "--", "true"}, 125, "toolchains"},
		{"unknown persona", []string{"run", "--persona", "maybe", "--", "true"}, 125, "human"},
		{"unknown preset", []string{"run", "--preset", "maybe", "--", "true"}, 125, "maybe"},
		{"bad time", []string{"run", "--timeout", "soon", "--", "true"}, 125, "soon"},
		{"bad size", []string{"run", "--memory", "much", "--", "true"}, 125, "much"},
		{"bad count", []string{"run", "--pids", "-4", "--", "true"}, 125, "pids"},
		{"too few processes", []string{"run", "--pids", "1", "--", "true"}, 126, "limit of 1 processes (--pids"},
		{"no ceiling", []string{"run", "--permissions", w.outside + "/nothing", "--", "true"}, 125, "/nothing"},
		{"time over", []string{"run", "--timeout", "200ms", "--", "sleep", "30"}, 124, ""},
		{"time over, stubborn", []string{"run", "--timeout", "200ms", "--", "sh", "-c", "trap '' TERM INT HUP; sleep 1; exit 3"}, 124, ""},
		{"time enough", []string{"run", "--timeout", "20s", "--", "sh", "-c", "exit 7"}, 7, ""},
		{"flags of the command", []string{"run", "sh", "-c", "exit 5"}, 5, ""},
		{"help", []string{"run", "--help"}, 0, ""},
		{"version", []string{"version"}, 0, ""},
	}
	for _, tt := range tests {
		start := time.Now()
		r := w.carrel(tt.args...)
		if r.code != tt.code || !strings.Contains(r.err, tt.say) {
			t.Errorf("%s: want %d and %q: %s", tt.name, tt.code, tt.say, r)
		}
		if tt.code == 125 && !strings.HasPrefix(r.err, "carrel: ") {
			t.Errorf("%s: the message does not say who speaks: %s", tt.name, r)
		}
		if time.Since(start) > 10*time.Second {
			t.Errorf("%s took %v", tt.name, time.Since(start))
		}
	}
	// A script without "#!" runs as a shell would run it, or is refused as 126.
	if r := w.run("--", "./text"); r.code != 126 && r.code != 127 {
		t.Errorf("no program: %s", r)
	}
}

// TestDeathBySignal: the caller sees the signal itself, as without walls.
func TestDeathBySignal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGKILL, syscall.SIGUSR1, syscall.SIGSEGV, syscall.SIGUSR2, syscall.SIGPIPE, syscall.SIGALRM, syscall.SIGTERM, syscall.SIGXCPU} {
		script := fmt.Sprintf("kill -%d $$; sleep 1", int(sig))
		plain, inside := w.plain("sh", "-c", script), w.run("--", "sh", "-c", script)
		if plain.signal != sig || inside.signal != sig {
			t.Errorf("%v: outside %v, inside %s", sig, plain.signal, inside)
		}
		shell := w.plain("bash", "-c", w.bin+" run -- sh -c '"+script+"' 2>/dev/null; echo $?")
		if shell.out != strconv.Itoa(128+int(sig))+"\n" {
			t.Errorf("%v: a shell sees %q", sig, shell.out)
		}
	}
	if matches, _ := filepath.Glob(w.project + "/core*"); len(matches) > 0 {
		t.Errorf("core dumps: %q", matches)
	}
}

// bytesOf gives the same n pseudo-random bytes each time.
func bytesOf(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.New(rand.NewSource(1)).Read(b)
	return b
}

// TestStreamsAreExact: ten million bytes through pipes and through files.
func TestStreamsAreExact(t *testing.T) {
	data := bytesOf(10 << 20)
	want := sha256.Sum256(data)
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		cmd := w.command(w.bin, "run", "--", "sh", "-c", "cat; echo end >&2")
		cmd.Stdin = bytes.NewReader(data)
		r := w.finish(cmd)
		if sha256.Sum256([]byte(r.out)) != want || r.err != "end\n" {
			t.Errorf("pipes: %d bytes, %q", len(r.out), r.err)
		}
		in := w.write(w.outside+"/in", string(data))
		for _, redirect := range []string{"< in > out 2> err", "< in >> out 2>> err", "< in | cat > out 2> err"} {
			os.Remove(w.outside + "/out")
			script := "cd " + w.project + "; " + strings.NewReplacer(" in", " "+in, " out", " "+w.outside+"/out", " err", " "+w.outside+"/err").Replace(w.bin+" run -- cat "+redirect)
			if r := w.plain("bash", "-c", script); r.code != 0 {
				t.Errorf("%s: %s", redirect, r)
			}
			if sha256.Sum256([]byte(w.read(w.outside+"/out"))) != want {
				t.Errorf("%s: the bytes differ", redirect)
			}
		}
	})
}

// TestRedirections compares what a shell sees with and without walls, to the byte.
func TestRedirections(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, script string }{
		{"both to one file", `RUN sh -c 'for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done' > f 2>&1; cat f`},
		{"both to one file, other way round", `RUN sh -c 'for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done' 2> f >&2; cat f`},
		{"append", `echo first > f; RUN echo second >> f; RUN echo third >> f; cat f`},
		{"both append", `echo first > f; RUN sh -c 'echo a; echo b >&2' >> f 2>&1; cat f`},
		{"truncate", `echo something long > f; RUN echo x > f; cat f`},
		{"position is kept", `(echo a; RUN echo b; echo c) > f; cat f`},
		{"read and write", `echo abcdef > f; RUN sh -c 'head -c 3' <> f; cat f`},
		{"write over", `echo abcdef > f; RUN printf XY 1<> f; cat f`},
		{"partial reading", `printf '1\n2\n3\n4\n' > f; while read a; do echo "got $a"; done < <(cat f); { RUN sh -c 'read a; echo "in $a"'; read b; echo "out $b"; } < f`},
		{"while read", `printf '1\n2\n3\n' > f; while read line; do echo "line $line"; RUN true; done < f`},
		{"while read, taken", `printf '1\n2\n3\n' > f; while read line; do echo "line $line"; RUN cat; done < f`},
		{"while read from a pipe", `printf '1\n2\n3\n' | while read line; do echo "line $line"; RUN true; done`},
		{"head of a file", `seq 100000 > f; RUN head -1 < f`},
		{"nothing on stdin", `RUN cat < /dev/null`},
		{"out to null", `RUN sh -c 'echo x; echo y >&2' > /dev/null`},
		{"full device", `RUN echo x > /dev/full; echo $?`},
		{"empty file", `: > f; RUN cat < f; echo $?`},
		{"here document", "RUN cat <<EOF\nhello\nEOF"},
		{"here string", `RUN cat <<< hello`},
		{"pipeline", `seq 5 | RUN tac | RUN sed s/^/x/ | tail -2`},
		{"pipe status", `RUN false | RUN true; echo ${PIPESTATUS[@]}`},
		{"substitution", `x=$(RUN echo inner); echo "[$x]"`},
		{"background", `RUN echo x & wait $!; echo $?`},
		{"sigpipe", `RUN yes | head -1; echo ${PIPESTATUS[0]}`},
		{"sigpipe of a script", `RUN sh -c 'while echo y; do :; done' 2>/dev/null | head -1; echo ${PIPESTATUS[0]}`},
		{"closed stdout", `RUN sh -c 'echo x; echo $? >&2' >&- 2>&1 | grep -v write`},
		{"all closed", `RUN true <&- >&- 2>&-; echo $?`},
		{"fifo", `mkfifo p; RUN echo through > p & cat p; wait`},
		{"fifo in", `mkfifo p; echo through > p & RUN cat < p; wait`},
		{"duplicate of stdin", `echo data > f; RUN sh -c 'cat /dev/stdin' < f`},
		{"dev stdout", `RUN sh -c 'echo x > /dev/stdout' | cat`},
		{"dev stderr", `RUN sh -c 'echo x > /dev/stderr' 2>&1`},
		{"dev fd", `RUN bash -c 'cat <(echo substituted)'`},
		{"working directory", `mkdir -p a/b; cd a/b; RUN pwd; RUN sh -c 'echo $PWD'`},
		{"umask", `umask 077; RUN sh -c 'umask; : > u'; stat -c %a u`},
		{"umask 0", `umask 0; RUN sh -c 'umask; mkdir d'; stat -c %a d`},
		{"ulimit", `ulimit -n 99; ulimit -c 0; ulimit -f 1000; RUN bash -c 'ulimit -n; ulimit -c; ulimit -f'`},
		{"nice", `nice -n 7 RUN nice`},
		{"exit in subshell", `(RUN sh -c 'exit 9'); echo $?`},
		{"exec", `exec RUN sh -c 'exit 4'`},
		{"set -e", `set -e; RUN false; echo no`},
		{"trap EXIT inside", `RUN bash -c 'trap "echo bye" EXIT; exit 3'; echo $?`},
		{"ignored signal", `trap '' INT; RUN bash -c 'kill -INT $$; echo still'`},
		{"no ignored signals", `RUN grep SigIgn /proc/self/status`},
		{"no blocked signals", `RUN grep SigBlk /proc/self/status`},
		{"nohup", `RUN nohup echo x 2>/dev/null`},
		{"timeout inside", `RUN timeout 0.1 sleep 5; echo $?`},
		{"xargs", `seq 3 | xargs -n1 RUN echo n`},
		{"find exec", `touch f1 f2; find . -name 'f?' -exec RUN basename {} \; | sort`},
		{"env", `A=b RUN sh -c 'echo "[$A]"' | sed 's/b//'`},
		{"locale", `RUN sh -c 'echo $LANG'`},
		{"script file", "printf '#!/bin/sh\\necho script $1\\n' > s; chmod +x s; RUN ./s arg"},
		{"time", `TIMEFORMAT=; time RUN true; echo $?`},
	}
	w0 := ordinary(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, w0)
			in := func(dir, run string) result {
				cmd := w.command("bash", "-c", strings.ReplaceAll(tt.script, "RUN", run))
				cmd.Dir = w.project + "/" + dir
				w.mkdir(cmd.Dir, 0o755)
				r := w.finish(cmd)
				r.out = strings.ReplaceAll(r.out, "/"+dir, "")
				return r
			}
			plain, inside := in("plain", "command"), in("walls", w.bin+" run --")
			if strings.Contains(tt.script, "nice -n") || strings.Contains(tt.script, "xargs") || strings.Contains(tt.script, "-exec") || strings.Contains(tt.script, "exec RUN") {
				plain = in("plain2", "env")
				plain.out = strings.ReplaceAll(plain.out, "/plain2", "")
			}
			if plain.out != inside.out || plain.code != inside.code || plain.signal != inside.signal {
				t.Errorf("outside: %s\ninside: %s", plain, inside)
			}
		})
	}
}

// TestClosedDescriptors: where the caller closed one, the command finds
// /dev/null in its place (the Go runtime puts it there before anything runs),
// and nothing else takes the number.
func TestClosedDescriptors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	for _, closed := range []string{"<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"} {
		if r := w.plain("bash", "-c", w.bin+" run -- sh -c 'x=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2); y=$(ls -l /proc/$$/fd); echo \"$x\" > fds; echo \"$y\" > list; exit 3' "+closed); r.code != 3 {
			t.Errorf("%s: %s", closed, r)
		}
		if got := w.read(w.project + "/fds"); strings.Contains(got, w.base) || strings.Contains(got, "anon_inode") || strings.Contains(got, "socket") {
			t.Errorf("%s: %q", closed, got)
		}
		for line := range strings.Lines(w.read(w.project + "/list")) {
			f := strings.Fields(line) // ... 3 -> pipe:[1]
			if len(f) > 9 && f[8] > "2" && !strings.HasPrefix(f[10], "pipe:") && !strings.HasPrefix(f[10], "/proc/") {
				t.Errorf("%s: %q", closed, line)
			}
		}
	}
}

// TestStdoutAndStderrKeepTheirOrder in one file, under load.
func TestStdoutAndStderrKeepTheirOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	f, err := os.Create(w.outside + "/both")
	w.must(err)
	defer f.Close()
	cmd := w.command(w.bin, "run", "--", "bash", "-c", "for i in $(seq 5000); do echo $i >&$((1 + i % 2)); done")
	cmd.Stdout, cmd.Stderr = f, f
	if r := w.finish(cmd); r.code != 0 {
		t.Fatalf("%s", r)
	}
	for i, line := range strings.Split(strings.TrimSpace(w.read(w.outside+"/both")), "\n") {
		if line != strconv.Itoa(i+1) {
			t.Fatalf("line %d is %q", i+1, line)
		}
	}
}

// TestArguments arrive byte for byte.
func TestArguments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	args := []string{"", "a b", "new\nline", "\xff\xfe", "--", "-x", "--flag=v", "'\"", "$HOME", "*", "\\", "\t", "é", strings.Repeat("x", 128<<10-1), ""}
	r := w.run(append([]string{"--read", built.attack, "--", built.attack, "argv"}, args[:4]...)...)
	if want := fmt.Sprintf("ok %q\n", args[:4]); r.out != want {
		t.Errorf("got %q, want %q", r.out, want)
	}
	r = w.run(append([]string{"--", "printf", "%s\\0"}, args...)...)
	if r.out != strings.Join(args, "\x00")+"\x00" {
		t.Errorf("%d bytes: %.200q", len(r.out), r.out)
	}
	var many []string
	for i := range 20000 {
		many = append(many, "argument-"+strconv.Itoa(i))
	}
	if r := w.run(append([]string{"--", "sh", "-c", "echo $#", "sh"}, many...)...); r.out != "20000\n" {
		t.Errorf("many arguments: %s", r)
	}
}

// TestLargeEnvironment: much of it, and strange entries, do not hurt.
func TestLargeEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	for i := range 3000 {
		w.env = append(w.env, fmt.Sprintf("LC_X%d=%s", i, strings.Repeat("v", 100)))
	}
	w.env = append(w.env, "no-equals-sign", "=odd", "TERM=", "LANG=\xff", "A\nB=c", strings.Repeat("N", 1000)+"=x")
	if r := w.run("--env", "LC_X7", "--", "sh", "-c", "echo ${#LC_X7}"); r.out != "100\n" {
		t.Errorf("%s", r)
	}
	w.env = append(w.env, "LC_BIG="+strings.Repeat("v", 128<<10-20))
	if r := w.run("--env", "LC_BIG", "--", "sh", "-c", "echo ${#LC_BIG}"); r.out != strconv.Itoa(128<<10-20)+"\n" {
		t.Errorf("a large variable: %s", r)
	}
}

// TestWorkingDirectory: deep, linked, removed, with odd names.
func TestWorkingDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	at := func(dir string) result {
		cmd := w.command("bash", "-c", `cd "$1" && exec "$2" run -- sh -c 'pwd -P; echo made > here'`, "sh", dir, w.bin)
		return w.finish(cmd)
	}
	for _, name := range []string{"with space", "new\nline", "\xff\xfe", "-x", "a:b", "a,b", "back\\slash", "quote'\"", "$(id)", "*", strings.Repeat("n", 255)} {
		dir := w.project + "/" + name
		w.mkdir(dir, 0o755)
		if r := at(dir); r.out != dir+"\n" || r.code != 0 {
			t.Errorf("%q: %s", name, r)
		}
		if data, _ := os.ReadFile(dir + "/here"); string(data) != "made\n" {
			t.Errorf("%q: nothing was made", name)
		}
	}
	w.symlink(w.project+"/with space", w.project+"/link")
	if r := at(w.project + "/link"); r.out != w.project+"/with space\n" {
		t.Errorf("through a link: %s", r)
	}
	deep := w.project + strings.Repeat("/"+strings.Repeat("d", 100), 20)
	w.mkdir(deep, 0o755)
	if r := at(deep); r.out != deep+"\n" {
		t.Errorf("deep: %s", r)
	}
	r := w.plain("bash", "-c", "mkdir gone && cd gone && rmdir ../gone && exec "+w.bin+" run -- true")
	if r.code != 125 || !strings.Contains(r.err, "directory") {
		t.Errorf("in a removed directory: %s", r)
	}
}

// TestSignalsAreForwarded: what a process manager sends reaches the command.
func TestSignalsAreForwarded(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM} {
			w := newWorld(t, p)
			cmd := w.command(w.bin, "run", "--", "bash", "-c", fmt.Sprintf("trap 'echo caught; exit 42' %d; echo ready; for ((i=0; i<100; i++)); do sleep 0.05; done", int(sig)))
			out, err := cmd.StdoutPipe()
			w.must(err)
			w.must(cmd.Start())
			waitFor(t, out, "ready\n")
			w.must(cmd.Process.Signal(sig))
			rest, _ := io.ReadAll(out)
			_ = cmd.Wait()
			if string(rest) != "caught\n" || cmd.ProcessState.ExitCode() != 42 {
				t.Errorf("%v: %q, status %d", sig, rest, cmd.ProcessState.ExitCode())
			}
			w.leaveNow()
		}
	})
}

// waitFor reads until the text has come.
func waitFor(t *testing.T, r io.Reader, text string) {
	t.Helper()
	var got strings.Builder
	buf := make([]byte, 1)
	for !strings.HasSuffix(got.String(), text) {
		if _, err := r.Read(buf); err != nil {
			t.Fatalf("waiting for %q: %v after %q", text, err, got.String())
		}
		got.Write(buf)
	}
}

// startInside starts a script behind the walls and waits until it says ready.
func (w *world) startInside(script string) *exec.Cmd {
	w.t.Helper()
	cmd := w.command(w.bin, "run", "--", "bash", "-c", script)
	out, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	waitFor(w.t, out, "ready\n")
	return cmd
}

// processesWith finds processes of the host with a text in their command line.
func processesWith(text string) (pids []int) {
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if line, _ := os.ReadFile("/proc/" + d.Name() + "/cmdline"); bytes.Contains(line, []byte(text)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestKillTakesEverything: SIGKILL of the supervisor or of the stage ends all
// that runs inside, also what left its session, within a second.
func TestKillTakesEverything(t *testing.T) {
	eachPersonAlone(t, func(t *testing.T, p person) {
		for _, victim := range []string{"supervisor", "stage"} {
			w := newWorld(t, p)
			seconds := "1" + w.number() + "." + strconv.Itoa(int(time.Now().UnixNano()%1e9))
			cmd := w.startInside("(setsid nohup sleep " + seconds + " >/dev/null 2>&1 &); (setsid bash -c 'exec -a hidden env -i sleep " + seconds + "' &); sleep " + seconds + " & sleep 0.1; echo ready; trap '' TERM HUP INT; while :; do sleep 1; done")
			if n := len(processesWith(seconds)); n < 3 {
				t.Fatalf("canary: only %d sleepers", n)
			}
			target := cmd.Process.Pid
			if victim == "stage" {
				target = childOf(t, target)
			}
			w.must(syscall.Kill(target, syscall.SIGKILL))
			start := time.Now()
			for len(processesWith(seconds)) > 0 {
				if time.Since(start) > time.Second {
					t.Errorf("%s killed: left after a second: %v", victim, processesWith(seconds))
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			_ = cmd.Wait()
			if victim == "stage" && cmd.ProcessState.ExitCode() == 0 {
				t.Error("the stage was killed and the status is 0")
			}
			w.leaveNow()
		}
	})
}

// childOf gives the only child of a process. There has to be one: a signal to -1
// would be one to everybody.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	for range 100 {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		for _, task := range tasks {
			more, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
			data = append(data, more...)
		}
		if f := strings.Fields(string(data)); len(f) > 0 {
			if child, err := strconv.Atoi(f[0]); err == nil && child > 1 {
				return child
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("process %d has no child", pid)
	return 0
}

// TestStopAndContinue from outside: the whole run pauses and goes on.
func TestStopAndContinue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	cmd := w.startInside("echo ready; for i in $(seq 1000); do echo $i > tick; sleep 0.02; done")
	eventually(t, "the first tick", func() bool { _, err := os.Stat(w.project + "/tick"); return err == nil })
	w.must(cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(50 * time.Millisecond)
	w.must(cmd.Process.Signal(syscall.SIGCONT))
	a := w.read(w.project + "/tick")
	eventually(t, "the command goes on", func() bool { b, _ := os.ReadFile(w.project + "/tick"); return string(b) != a })
	w.must(cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait()
}

// TestOrphansEndWithTheCommand: what a command leaves running is ended.
func TestOrphansEndWithTheCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	seconds := "2" + w.number()
	w.sh("setsid nohup sleep " + seconds + " >/dev/null 2>&1 & sleep 0.05")
	if left := processesWith("sleep\x00" + seconds); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
}
