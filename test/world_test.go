//go:build linux

package e2e

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience bounds every single run, so that what hangs is told. On a machine with much
// else to do, an agent's program takes a minute to start.
var patience = often(5*time.Minute, 15*time.Minute)

// world is one person's place on the host.
type world struct {
	t        *testing.T
	who      person
	base     string // holds all below; the world's name
	home     string
	project  string // in home
	outside  string // beside home, the person's own, never granted
	runtime  string // XDG_RUNTIME_DIR outside
	bin      string // the program, which no other living world has
	programs string // what its directory of programs was like at first
	env      []string
	litter   bool                          // the scenario itself changes home while it runs
	at       *place                        // where its programs run; nil for the machine's own network
	wrap     func(*exec.Cmd)               // changes how the program is started; nil: not at all
	reword   func(words []string) []string // changes the words of a run; nil: not at all
	wrapsAll bool                          // wrap is for each program that the person starts
	gone     bool
}

var worldCount atomic.Int64

// newWorld makes a place and, at the end of the test, looks for what was left.
func newWorld(t *testing.T, p person) *world {
	t.Helper()
	if inBoxes(t) {
		return boxed(t, p)
	}
	return bareWorld(t, p)
}

// bareWorld makes one without containers.
func bareWorld(t *testing.T, p person) *world {
	t.Helper()
	base := filepath.Join(built.base, "w"+strconv.FormatInt(worldCount.Add(1), 10))
	w := &world{t: t, who: p, base: base, home: base + "/home", project: base + "/home/src/desk",
		outside: base + "/outside", runtime: base + "/runtime", bin: base + "/bin/carrel"}
	w.must(os.Mkdir(w.base, 0o755))
	w.takePrograms()
	for _, dir := range []string{w.home, w.home + "/src", w.project, w.outside, w.runtime} {
		w.mkdir(dir, 0o700)
	}
	w.env = []string{
		"HOME=" + w.home, "USER=" + p.name, "LOGNAME=" + p.name, "XDG_RUNTIME_DIR=" + w.runtime,
		"PATH=" + base + "/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin",
		"LANG=C.UTF-8", "TERM=xterm", "SHELL=/bin/bash",
	}
	t.Cleanup(w.leave)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// mkdir makes a directory of the person's own.
func (w *world) mkdir(dir string, perm os.FileMode) {
	w.t.Helper()
	w.must(os.MkdirAll(dir, perm))
	w.own(dir)
}

// own gives a path, and its parents up to the base, to the person.
func (w *world) own(path string) {
	w.t.Helper()
	for ; strings.HasPrefix(path, w.base+"/"); path = filepath.Dir(path) {
		if os.Getuid() == 0 {
			w.must(os.Lchown(path, w.who.uid, w.who.gid))
		}
	}
}

// write makes a file of the person's own, with the directories to it.
func (w *world) write(path, content string) string {
	w.t.Helper()
	w.mkdir(filepath.Dir(path), 0o700)
	w.must(os.WriteFile(path, []byte(content), 0o600))
	w.own(path)
	return path
}

// script makes an executable file of the person's own.
func (w *world) script(path, content string) string {
	w.t.Helper()
	// A process that is forked meanwhile for another test would have the file open for
	// writing, and a start of the script would fail with ETXTBSY.
	func() {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		w.write(path, content)
	}()
	w.must(os.Chmod(path, 0o755))
	return path
}

func (w *world) symlink(to, at string) {
	w.t.Helper()
	w.mkdir(filepath.Dir(at), 0o700)
	w.must(os.Symlink(to, at))
	w.own(at)
}

func (w *world) read(path string) string {
	w.t.Helper()
	data, err := os.ReadFile(path)
	w.must(err)
	return string(data)
}

// setenv replaces a variable of the person's environment; unsetenv removes it.
func (w *world) setenv(name, value string) {
	w.unsetenv(name)
	w.env = append(w.env, name+"="+value)
}

func (w *world) unsetenv(name string) {
	w.env = slices.DeleteFunc(w.env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
}

// result is how a process ended.
type result struct {
	out, err string
	code     int            // -1 when a signal ended it
	signal   syscall.Signal // 0 when none did
}

func (r result) String() string {
	return "status " + strconv.Itoa(r.code) + " signal " + strconv.Itoa(int(r.signal)) + "\n--- stdout\n" + cut(r.out) + "--- stderr\n" + cut(r.err)
}

// cut keeps a message readable.
func cut(s string) string {
	if len(s) > 1500 {
		return s[:1500] + "...\n"
	}
	return s
}

// command makes a process of the person in the project, in a session of its own.
func (w *world) command(name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Path, cmd.Err = w.find(name), nil
	cmd.Dir, cmd.Env = w.project, w.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: w.who.credential(), Setsid: true}
	if w.wrap != nil && (w.wrapsAll || name == w.bin) {
		w.wrap(cmd)
	}
	cmd.WaitDelay = 5 * time.Second
	cmd.Cancel = func() error {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			w.t.Errorf("not done after %v: %.300q", patience, cmd.Args)
		}
		return cmd.Process.Kill()
	}
	return cmd
}

// find looks a program up in the world's PATH.
func (w *world) find(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	for _, e := range w.env {
		if list, ok := strings.CutPrefix(e, "PATH="); ok {
			for _, dir := range filepath.SplitList(list) {
				if st, err := os.Stat(filepath.Join(dir, name)); err == nil && !st.IsDir() && st.Mode()&0o111 != 0 {
					return filepath.Join(dir, name)
				}
			}
		}
	}
	return name
}

// finish runs a prepared command to its end.
func (w *world) finish(cmd *exec.Cmd) result {
	w.t.Helper()
	var out, errOut bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &errOut
	}
	err := w.start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	r := result{out: out.String(), err: errOut.String()}
	w.ended(&r, cmd, err)
	return r
}

// start starts a command where the world is.
func (w *world) start(cmd *exec.Cmd) error {
	if w.at == nil {
		return cmd.Start()
	}
	return w.at.do(cmd.Start)
}

func (w *world) ended(r *result, cmd *exec.Cmd, err error) {
	w.t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		w.t.Fatalf("running %q: %v", cmd.Args, err)
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	r.code = cmd.ProcessState.ExitCode()
	if status.Signaled() {
		r.signal = status.Signal()
	}
}

// plain runs a command without walls: the canary.
func (w *world) plain(name string, args ...string) result {
	w.t.Helper()
	return w.finish(w.command(name, args...))
}

// carrel runs the program, and sees that it leaves nothing in home.
func (w *world) carrel(args ...string) result {
	w.t.Helper()
	before := w.homeNames()
	r := w.finish(w.command(w.bin, args...))
	w.checkHome(before)
	return r
}

// run is carrel run with flags, then the command after "--".
func (w *world) run(args ...string) result {
	w.t.Helper()
	words := append([]string{"run"}, args...)
	if w.reword != nil {
		words = w.reword(words)
	}
	return w.carrel(words...)
}

// sh runs a shell script behind the walls and wants it to succeed.
func (w *world) sh(script string, flags ...string) string {
	w.t.Helper()
	r := w.run(append(flags, "--", "bash", "-c", script)...)
	if r.code != 0 {
		w.t.Fatalf("inside: %s\n%s", script, r)
	}
	return r.out
}

// outsideSh runs a shell script without walls and wants it to succeed.
func (w *world) outsideSh(script string) string {
	w.t.Helper()
	r := w.plain("bash", "-c", script)
	if r.code != 0 {
		w.t.Fatalf("outside: %s\n%s", script, r)
	}
	return r.out
}

// homeNames lists home without the project and our own state.
func (w *world) homeNames() map[string]bool {
	names := make(map[string]bool)
	own := []string{w.home + "/.local", w.home + "/.local/state", w.home + "/.local/state/carrel"}
	_ = filepath.WalkDir(w.home, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case p == w.project || p == own[2]:
			return filepath.SkipDir
		case !slices.Contains(own, p):
			names[p] = true
		}
		return nil
	})
	_ = filepath.WalkDir(w.runtime, func(p string, d fs.DirEntry, err error) error {
		names[p] = true
		return nil
	})
	return names
}

func (w *world) checkHome(before map[string]bool) {
	w.t.Helper()
	after := w.homeNames()
	for name := range after {
		if !before[name] && !w.litter {
			w.t.Errorf("left behind in home: %q", name)
		}
	}
	for name := range before {
		if !after[name] && !w.litter {
			w.t.Errorf("gone from home: %q", name)
		}
	}
}

// leaveNow ends a world before its test does, in tests that make many.
func (w *world) leaveNow() {
	w.t.Helper()
	w.leave()
	w.gone = true
}

// leave looks for leftovers of the world and takes it down.
func (w *world) leave() {
	if w.gone {
		return
	}
	for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := w.processes()
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			w.t.Errorf("processes left behind: %v", left)
			for pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			break
		}
	}
	for point := range mountPoints() {
		if strings.HasPrefix(point, w.base+"/") {
			w.t.Errorf("mount left behind: %s", point)
			_ = syscall.Unmount(point, syscall.MNT_DETACH)
		}
	}
	w.passPrograms()
	w.must(os.RemoveAll(w.base))
}

// processes are those that run this world's copy of the program, have its home
// in their environment, or stand in its directories.
func (w *world) processes() map[int]string {
	var ours syscall.Stat_t
	if syscall.Stat(w.bin, &ours) != nil {
		return nil
	}
	found := make(map[int]string)
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		proc := "/proc/" + d.Name()
		var exe syscall.Stat_t
		same := syscall.Stat(proc+"/exe", &exe) == nil && exe.Ino == ours.Ino && exe.Dev == ours.Dev
		environ, _ := os.ReadFile(proc + "/environ")
		cwd, _ := os.Readlink(proc + "/cwd")
		if same || bytes.Contains(environ, []byte("HOME="+w.home+"\x00")) || strings.HasPrefix(cwd, w.base+"/") {
			line, _ := os.ReadFile(proc + "/cmdline")
			found[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		}
	}
	return found
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// need skips with the reason where a tool of the machine is missing.
func (w *world) need(tools ...string) {
	w.t.Helper()
	for _, tool := range tools {
		if !strings.Contains(w.find(tool), "/") {
			w.t.Skipf("%s is not installed here; make test installs it", tool)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
