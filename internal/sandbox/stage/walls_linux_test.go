package stage_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// standing are walls with some more mounts and a command that stays, and the directory of the test
// that they show at /tmp/desk.
func standing(t *testing.T, change func(p *sandbox.Plan, dir string)) (w *sandbox.Walls, dir string) {
	t.Helper()
	p, dir := room(t)
	p.Mounts = append(p.Mounts, bindOf(t, dir))
	p.Command = shell("exec sleep 300")
	if change != nil {
		change(p, dir)
	}
	w, err := launch(t, p)
	if err != nil {
		t.Fatal(err)
	}
	return w, dir
}

// output runs a command and gives what it says, both ways, and how it ended.
func output(t *testing.T, w *sandbox.Walls, c sandbox.Command) (string, sandbox.Exit) {
	t.Helper()
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	id, err := w.Exec(c, [3]*os.File{null, out, out})
	out.Close()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.SetReadDeadline(time.Now().Add(20 * time.Second))
	said, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	e, err := w.Wait(id)
	if err != nil {
		t.Fatal(err)
	}
	return string(said), e
}

// TestWhatTheViewHolds: each kind of mount is what it says, also for one who is root inside.
func TestWhatTheViewHolds(t *testing.T) {
	w, dir := standing(t, func(p *sandbox.Plan, dir string) {
		for name, text := range map[string]string{"secret": "hidden", "settings": "the host's", "plain": "shown", "own/kept": "kept",
			"closed/in": "hidden"} {
			at := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		upper, work := t.TempDir(), t.TempDir()
		p.Mounts = append(p.Mounts,
			sandbox.Mount{Kind: sandbox.MountMask, Target: "/tmp/desk/secret"},
			sandbox.Mount{Kind: sandbox.MountMask, Target: "/tmp/desk/closed", Dir: true},
			sandbox.Mount{Kind: sandbox.MountData, Target: "/tmp/desk/settings", Perm: 0o644, Data: []byte("ours")},
			sandbox.Mount{Kind: sandbox.MountSelf, Target: "/tmp/desk/own", Dir: true, ReadOnly: true},
			sandbox.Mount{Kind: sandbox.MountTmpfs, Target: "/tmp/frozen", Perm: 0o755, Dir: true},
			sandbox.Mount{Kind: sandbox.WriteFile, Target: "/tmp/frozen/made", Perm: 0o640, Data: []byte("made")},
			sandbox.Mount{Kind: sandbox.MakeDir, Target: "/tmp/frozen/dir", Perm: 0o711, Dir: true},
			sandbox.Mount{Kind: sandbox.MakeSymlink, Target: "/tmp/frozen/link", Source: "made"},
			sandbox.Mount{Kind: sandbox.Freeze, Target: "/tmp/frozen", Perm: 0o555},
			sandbox.Mount{Kind: sandbox.MountBind, Target: "/tmp/again", Source: dir, ReadOnly: true, Dir: true},
			sandbox.Mount{Kind: sandbox.MountBind, Target: "/tmp/none", Source: dir + "/none", Optional: true},
			sandbox.Mount{Kind: sandbox.MountOverlay, Target: "/tmp/over", Source: dir, Lower: dir, Upper: upper, Work: work, Dir: true})
	})
	for script, want := range map[string]string{
		"cat /tmp/desk/plain":                           "shown",
		"cat /tmp/desk/secret":                          "cat: /tmp/desk/secret: Permission denied",
		"ls /tmp/desk/closed":                           "ls: cannot open directory '/tmp/desk/closed': Permission denied",
		"cat /tmp/desk/settings":                        "ours",
		"rm /tmp/desk/settings":                         "rm: cannot remove '/tmp/desk/settings': Device or resource busy",
		"cat /tmp/desk/own/kept; echo >/tmp/desk/own/x": "keptsh: 1: cannot create /tmp/desk/own/x: Read-only file system",
		"mv /tmp/desk/own /tmp/desk/other":              "mv: cannot move '/tmp/desk/own' to '/tmp/desk/other': Device or resource busy",
		"cat /tmp/frozen/link; stat -c ' %a' /tmp/frozen/made /tmp/frozen/dir /tmp/frozen": "made 640\n 711\n 555",
		"echo >/tmp/frozen/x":                      "sh: 1: cannot create /tmp/frozen/x: Read-only file system",
		"cat /tmp/again/plain; echo >/tmp/again/x": "shownsh: 1: cannot create /tmp/again/x: Read-only file system",
		"ls /tmp/none":                             "ls: cannot access '/tmp/none': No such file or directory",
		"echo over >/tmp/over/plain; cat /tmp/over/plain /tmp/desk/plain":                  "over\nshown",
		"echo written >/tmp/desk/new; mount -o remount,rw /tmp/again 2>/dev/null; echo $?": "32",
		"echo x >/usr/x": "sh: 1: cannot create /usr/x: Read-only file system",
		"ls -A /":        "bin\ndev\nlib\nlib64\nproc\nrun\ntmp\nusr",
	} {
		if got, _ := output(t, w, shell("export LC_ALL=C\n"+script)); strings.ReplaceAll(strings.TrimSuffix(got, "\n"), "sh: 2:",
			"sh: 1:") != want {
			t.Errorf("%s\ngot  %q\nwant %q", script, got, want)
		}
	}
	if text, err := os.ReadFile(dir + "/new"); string(text) != "written\n" || err != nil {
		t.Errorf("a write to the bound directory: %q, %v", text, err)
	}
}

// TestCommandsHaveNothing: no capability, none to get, no descriptor but three, the variables that
// were given and no others, the first process out of reach.
func TestCommandsHaveNothing(t *testing.T) {
	w, _ := standing(t, func(p *sandbox.Plan, _ string) {
		p.UserLimits = []sandbox.UserLimit{{Name: "max_user_namespaces", Value: 0}}
		p.NProc = 64
	})
	c := shell(`grep -E '^(Cap...|NoNewPrivs|Seccomp):' /proc/self/status; ls /proc/self/fd | wc -l; tr '\0' ' ' </proc/$$/environ; echo
		readlink /proc/1/fd/0; echo $?; unshare -U true 2>/dev/null; echo $?; ulimit -p; cat /proc/1/comm; echo $PWD`)
	c.Env = []string{"PATH=/usr/bin:/bin", "A=b c"}
	got, e := output(t, w, c)
	lines := strings.Split(got, "\n")
	for i, line := range []string{"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
		"CapBnd:\t0000000000000000", "CapAmb:\t0000000000000000",
		"NoNewPrivs:\t1", "Seccomp:\t0", "4", "PATH=/usr/bin:/bin A=b c ", "1", "1", "64", sandbox.StageArg0, "/"} {
		if i >= len(lines) || lines[i] != line {
			t.Errorf("line %d: want %q in\n%s", i, line, got)
			break
		}
	}
	if e.Code != 0 {
		t.Errorf("%+v", e)
	}
}

// TestCommandThatCannotBeStarted: each reason is told by what it is about, with the kernel's word,
// and the walls stand on.
func TestCommandThatCannotBeStarted(t *testing.T) {
	w, dir := standing(t, nil)
	if err := errors.Join(os.WriteFile(dir+"/plain", []byte("text"), 0o644),
		os.WriteFile(dir+"/script", []byte("#!/nowhere\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, c := range []struct {
		argv0, dir, path string
		name             string
		code             syscall.Errno
	}{
		{"none", "/", "", "none", unix.ENOENT}, {"/tmp/desk/none", "/", "", "/tmp/desk/none", unix.ENOENT},
		{"/tmp/desk/plain", "/", "", "/tmp/desk/plain", unix.EACCES}, {"/tmp/desk/script", "/", "", "/tmp/desk/script", unix.ENOENT},
		{"./script", "/tmp/desk", "", "./script", unix.ENOENT}, {"sh", "/none", "", "/none", unix.ENOENT},
		{"plain", "/", "/tmp/desk", "plain", unix.EACCES}, {"", "/", "", "", unix.ENOENT}, {"/tmp", "/", "", "/tmp", unix.EACCES},
	} {
		cmd := sandbox.Command{Argv: []string{c.argv0}, Env: []string{"PATH=tmp/desk:/usr/bin:/bin:" + c.path}, Dir: c.dir}
		_, err := w.Exec(cmd, [3]*os.File{null, null, null})
		var start *sandbox.StartError
		if !errors.As(err, &start) || start.Name != c.name || syscall.Errno(start.Code) != c.code {
			t.Errorf("%q in %s: %+v, want %q and %v", c.argv0, c.dir, err, c.name, c.code)
		}
	}
	if got, e := output(t, w, shell("echo stands")); got != "stands\n" || e.Code != 0 {
		t.Errorf("after that: %q, %+v", got, e)
	}
}

// TestSignalsOfCommands: a signal reaches the command, or all of the group that it leads; that it
// stopped is told, and it goes on.
func TestSignalsOfCommands(t *testing.T) {
	p, dir := room(t)
	p.Mounts = append(p.Mounts, bindOf(t, dir))
	p.Command = shell("exec sleep 300")
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	stdio := [3]*os.File{null, null, null}
	stopped := make(chan string, 10)
	w, err := sandbox.Launch(p, "/proc/self/exe", nil, stdio, nil, nil,
		func(_ *sandbox.Walls, id uint64, sig syscall.Signal) { stopped <- fmt.Sprint(id, " ", sig) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Kill)
	wait := func(name string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			if _, err := os.Lstat(dir + "/" + name); err == nil {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s is not made", name)
			}
		}
	}
	for _, session := range []bool{false, true} {
		c := shell(fmt.Sprintf(`cd /tmp/desk; trap 'touch parent%v' USR1
			sh -c 'trap "touch child%[1]v; exit" USR1; touch up%[1]v; while :; do sleep 0.01; done' &
			while :; do wait; done`, session))
		c.Session = session
		id, err := w.Exec(c, stdio)
		if err != nil {
			t.Fatal(err)
		}
		wait(fmt.Sprintf("up%v", session))
		if err := w.Signal(id, unix.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		wait(fmt.Sprintf("parent%v", session))
		if session {
			wait("childtrue")
		} else if _, err := os.Lstat(dir + "/childfalse"); err == nil {
			t.Error("a signal for the command alone has reached its child")
		}
		if err := w.Signal(id, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if got, want := <-stopped, fmt.Sprint(id, " ", unix.SIGSTOP); got != want {
			t.Errorf("stopped: %s, want %s", got, want)
		}
		if !w.IsStopped(id) || w.IsStopped(sandbox.FirstCommand) || w.IsStopped(id+100) {
			t.Error("what is stopped is not told from what runs")
		}
		_ = w.Signal(id, unix.SIGCONT)
		_ = w.Signal(id, unix.SIGKILL)
		if e, err := w.Wait(id); err != nil || e.Signal != int(unix.SIGKILL) {
			t.Errorf("%+v, %v", e, err)
		}
		if err := w.Signal(id, unix.SIGTERM); err != nil {
			t.Errorf("of a command that has ended: %v", err)
		}
	}
}

// TestEndOfTheWalls: with the first process all ends, also what has left its session, and who waits
// is told.
func TestEndOfTheWalls(t *testing.T) {
	w, dir := standing(t, nil)
	got, _ := output(t, w, shell(`cd /tmp/desk
		setsid sh -c 'exec >/dev/null 2>&1 </dev/null; while :; do touch beats; sleep 0.01; done' &
		until test -e beats; do sleep 0.01; done; echo started`))
	if got != "started\n" {
		t.Errorf("%q", got)
	}
	waited := make(chan error, 1)
	go func() { _, err := w.Wait(sandbox.FirstCommand); waited <- err }()
	w.Kill()
	if err := <-waited; !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("who waits is told %v", err)
	}
	if err := os.Remove(dir + "/beats"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	if _, err := os.Lstat(dir + "/beats"); err == nil {
		t.Error("something inside lives on")
	}
	w.Kill()
}

// TestTerminalsAndSockets: a terminal is one of the workspace's own, and a socket inside is reached by
// its path there, by no link of the proc file system's and by nothing that is none.
func TestTerminalsAndSockets(t *testing.T) {
	w, dir := standing(t, func(p *sandbox.Plan, _ string) {
		p.Mounts = append(p.Mounts, sandbox.Mount{Kind: sandbox.MountPts, Target: "/dev/pts", Dir: true},
			sandbox.Mount{Kind: sandbox.MakeSymlink, Target: "/dev/ptmx", Source: "pts/ptmx"})
	})
	near, far, err := w.NewPty()
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	c := shell("tty; read x; echo got $x; test -t 0 && echo a terminal")
	c.Session, c.Terminal = true, true
	id, err := w.Exec(c, [3]*os.File{far, far, far})
	far.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := near.WriteString("a line\n"); err != nil {
		t.Fatal(err)
	}
	if e, err := w.Wait(id); err != nil || e.Code != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	said, _ := io.ReadAll(near) // until the last program has let go of it
	if got := string(said); !strings.Contains(got, "/dev/pts/0") || !strings.Contains(got, "got a line") ||
		!strings.Contains(got, "a terminal") {
		t.Errorf("%q", got)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dir + "/s", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fd, err := w.DialUnix("/tmp/desk/s")
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{"/tmp/desk/none": unix.ENOENT, "/tmp/desk/file": unix.ECONNREFUSED, "tmp/desk/s": unix.EINVAL,
		dir + "/s": unix.ENOENT} {
		if fd, err := w.DialUnix(path); !errors.Is(err, want) {
			t.Errorf("%s: %d, %v, want %v", path, fd, err, want)
		}
	}
}

// TestMaskOfStandingWalls: a file that was put in the place of a masked one from outside is hidden
// again; the directory's own links lead nowhere else.
func TestMaskOfStandingWalls(t *testing.T) {
	w, dir := standing(t, func(p *sandbox.Plan, dir string) {
		if err := errors.Join(os.WriteFile(dir+"/key", []byte("one"), 0o644), os.Mkdir(dir+"/d", 0o755), os.Symlink("d", dir+"/link"),
			os.WriteFile(dir+"/d/key", []byte("other"), 0o644)); err != nil {
			t.Fatal(err)
		}
		p.Mounts = append(p.Mounts, sandbox.Mount{Kind: sandbox.MountMask, Target: "/tmp/desk/key"})
	})
	read := func(at string) string {
		got, _ := output(t, w, shell("cat "+at+" 2>&1"))
		return got
	}
	if err := errors.Join(os.WriteFile(dir+"/new", []byte("two"), 0o644), os.Rename(dir+"/new", dir+"/key")); err != nil {
		t.Fatal(err)
	}
	if got := read("/tmp/desk/key"); got != "two" {
		t.Fatalf("canary: the new file is seen: %q", got)
	}
	if err := w.Mask("/tmp/desk/key"); err != nil {
		t.Fatal(err)
	}
	if got := read("/tmp/desk/key"); strings.Contains(got, "two") {
		t.Errorf("it is still seen: %q", got)
	}
	for path, want := range map[string]error{"/tmp/desk/none": unix.ENOENT, "/none/x": unix.ENOENT, "/tmp/desk/link/key": unix.ELOOP,
		"/tmp/desk/\x00": unix.EINVAL} {
		if err := w.Mask(path); !errors.Is(err, want) || !strings.Contains(err.Error(), "masking") {
			t.Errorf("%q: %v, want %v", path, err, want)
		}
	}
}
