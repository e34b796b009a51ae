//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestNoLitter: whatever ends a run, the project, home, the runtime directory
// and the mounts are as before. The state directory is the only exception.
func TestNoLitter(t *testing.T) {
	ends := []struct {
		name string
		flag []string
		end  func(w *world, cmd *exec.Cmd)
	}{
		{"exit", nil, func(w *world, cmd *exec.Cmd) { w.write(w.project+"/end", "") }},
		{"interrupt", nil, func(w *world, cmd *exec.Cmd) { w.must(syscall.Kill(cmd.Process.Pid, syscall.SIGINT)) }},
		{"interrupt of the group", nil, func(w *world, cmd *exec.Cmd) { w.must(syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)) }},
		{"terminate", nil, func(w *world, cmd *exec.Cmd) { w.must(syscall.Kill(cmd.Process.Pid, syscall.SIGTERM)) }},
		{"hang up", nil, func(w *world, cmd *exec.Cmd) { w.must(syscall.Kill(cmd.Process.Pid, syscall.SIGHUP)) }},
		{"kill the supervisor", nil, func(w *world, cmd *exec.Cmd) { w.must(syscall.Kill(cmd.Process.Pid, syscall.SIGKILL)) }},
		{"kill the stage", nil, func(w *world, cmd *exec.Cmd) { w.must(syscall.Kill(childOf(w.t, cmd.Process.Pid), syscall.SIGKILL)) }},
		{"kill the command", nil, func(w *world, cmd *exec.Cmd) {
			w.must(syscall.Kill(childOf(w.t, childOf(w.t, cmd.Process.Pid)), syscall.SIGKILL))
		}},
		{"kill the group", nil, func(w *world, cmd *exec.Cmd) { w.must(syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)) }},
		{"time over", []string{"--timeout", "300ms"}, func(*world, *exec.Cmd) {}},
	}
	eachPersonAlone(t, func(t *testing.T, p person) {
		for _, e := range ends {
			start := time.Now()
			w := newWorld(t, p)
			w.write(w.project+"/file", "x")
			w.write(w.project+"/.env", "SECRET")
			before := w.outsideSh("find . | sort")
			home := w.homeNames()
			args := append([]string{"run", "--deny", "nothing-there", "--deny", "*.pem", "--network", "local"}, e.flag...)
			cmd := w.command(w.bin, append(args, "--", "bash", "-c", "trap 'exit 130' INT; echo ready; mkdir -p ~/x /tmp/y; while [ ! -e end ]; do sleep 0.02; done")...)
			out, err := cmd.StdoutPipe()
			w.must(err)
			w.must(cmd.Start())
			waitFor(t, out, "ready\n")
			e.end(w, cmd)
			_ = cmd.Wait()
			eventually(t, e.name+": the processes are gone", func() bool { return len(w.processes()) == 0 })
			os.Remove(w.project + "/end")
			if after := w.outsideSh("find . | sort"); after != before {
				t.Errorf("%s: the project was\n%sand is\n%s", e.name, before, after)
			}
			w.plain(w.bin, "ps") // sweeps what a killed supervisor leaves in the runtime directory
			w.checkHome(home)
			if left := w.cgroups(); len(left) > 0 {
				t.Errorf("%s: control groups left: %q", e.name, left)
			}
			w.leaveNow()
			if d := time.Since(start); d > 8*time.Second {
				t.Errorf("%s: took %v", e.name, d)
			}
		}
	})
}

// cgroups lists control groups of ours that hold no process any more.
func (w *world) cgroups() []string {
	out, _ := exec.Command("sh", "-c", "find /sys/fs/cgroup -maxdepth 5 -type d -name 'carrel-*' 2>/dev/null").Output()
	var left []string
	for dir := range strings.FieldsSeq(string(out)) {
		if procs, err := os.ReadFile(dir + "/cgroup.procs"); err == nil && len(procs) == 0 {
			time.Sleep(500 * time.Millisecond) // another world's run may just be starting or ending
			if _, err := os.Stat(dir); err == nil {
				if procs, _ := os.ReadFile(dir + "/cgroup.procs"); len(procs) == 0 {
					left = append(left, dir)
				}
			}
		}
	}
	return left
}

// mount mounts a file system for a test run by root.
func (w *world) mount(kind, at, data string) {
	w.t.Helper()
	if os.Getuid() != 0 {
		w.t.Skip("mounting a file system takes root")
	}
	w.mkdir(at, 0o755)
	w.must(unix.Mount("none", at, kind, 0, data))
	w.t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
	w.must(os.Chown(at, w.who.uid, w.who.gid))
}

// TestFullDisk: the state directory is full; the command runs all the same,
// and says what could not be kept.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, space := range []string{"64k", "8k"} {
		w := newWorld(t, ordinary(t))
		w.mount("tmpfs", w.outside+"/state", "size="+space+",nr_inodes=20,mode=0777")
		w.setenv("XDG_STATE_HOME", w.outside+"/state")
		fill := w.write(w.outside+"/state/fill", "")
		if space == "8k" {
			_ = os.WriteFile(fill, make([]byte, 8<<10), 0o600)
		}
		r := w.run("--", "sh", "-c", "echo out; exit 3")
		if r.code != 3 || r.out != "out\n" {
			t.Errorf("%s: %s", space, r)
		}
		r = w.run("--", "no-such-program")
		if r.code != 127 {
			t.Errorf("%s: %s", space, r)
		}
		w.unmount(w.outside + "/state")
	}
}

func (w *world) unmount(at string) {
	w.t.Helper()
	w.must(unix.Unmount(at, unix.MNT_DETACH))
}

// TestReadOnlyState: nothing can be kept. A run with a history is refused before it
// starts, and one without works.
func TestReadOnlyState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.mount("tmpfs", w.outside+"/state", "size=1m")
	w.must(unix.Mount("", w.outside+"/state", "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	w.setenv("XDG_STATE_HOME", w.outside+"/state")
	if r := w.run("--", "echo", "x"); r.out != "" || r.code != 125 || !strings.Contains(r.err, "--history off") {
		t.Errorf("%s", r)
	}
	if r := w.run("--history", "off", "--", "echo", "x"); r.out != "x\n" || r.code != 0 || !strings.Contains(r.err, "state") {
		t.Errorf("%s", r)
	}
	w.unmount(w.outside + "/state")
}

// TestFullProjectDisk: a write that fails outside fails inside with the same error.
func TestFullProjectDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.mount("tmpfs", w.home+"/small", "size=64k")
	w.project = w.home + "/small"
	w.litter = true
	if r := w.run("--", "sh", "-c", "head -c 1000000 /dev/zero > big || rm -f big; echo x > small"); !strings.Contains(r.err, "No space left") || w.read(w.project+"/small") != "x\n" {
		t.Errorf("%s", r)
	}
	if r := w.plain("bash", "-c", w.bin+" run -- head -c 1000000 /dev/zero > out; echo $?; rm out"); r.out == "0\n" {
		t.Errorf("a full disk behind stdout is not noticed: %s", r)
	}
	w.unmount(w.project)
}

// TestProjectsElsewhere: on other file systems, with names that are not text.
func TestProjectsElsewhere(t *testing.T) {
	t.Parallel()
	work := "set -e; echo a > a; mkdir -p d/e; mv a d/e/; ln d/e/a hard; ln -s d/e/a soft; chmod 700 soft; cat soft hard; git init -q; git add .; git -c user.name=x -c user.email=x@x commit -qm x; rm -rf d; git checkout -q .; cat d/e/a; rm -rf d hard soft .git; ls -A; pwd -P"
	check := func(t *testing.T, w *world) {
		w.litter = true
		if out := w.sh(work); out != "a\na\na\n"+w.project+"\n" {
			t.Errorf("%q", out)
		}
		w.write(w.project+"/.env", "SECRET")
		w.write(w.project+"/sub/x.pem", "SECRET")
		if r := w.run("--deny", "**/*.pem", "--", "sh", "-c", "cat .env sub/x.pem"); strings.Contains(r.out, "SECRET") || r.code == 125 {
			t.Errorf("%s", r)
		}
	}
	for i, name := range []string{"\xff\xfe", "new\nline", "back\\slash", "a b\tc", "-rf", strings.Repeat("ä", 120), "*?[x]{a,b}", ":project", "~", "$HOME", "%s", "a:b,c=d"} {
		t.Run("name "+strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.project = w.home + "/src/" + name
			w.mkdir(w.project, 0o755)
			check(t, w)
		})
	}
	t.Run("tmpfs", func(t *testing.T) {
		w := newWorld(t, ordinary(t))
		w.mount("tmpfs", w.home+"/other", "size=16m")
		w.project = w.home + "/other/desk"
		w.mkdir(w.project, 0o755)
		check(t, w)
		w.unmount(w.home + "/other")
	})
	t.Run("overlayfs", func(t *testing.T) {
		w := newWorld(t, ordinary(t))
		for _, d := range []string{"lower", "upper", "work"} {
			w.mkdir(w.outside+"/"+d, 0o755)
		}
		w.mount("overlay", w.home+"/other", fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", w.outside))
		w.project = w.home + "/other/desk"
		w.mkdir(w.project, 0o755)
		check(t, w)
		w.unmount(w.home + "/other")
	})
	t.Run("home on overlayfs", func(t *testing.T) {
		w := newWorld(t, ordinary(t))
		for _, d := range []string{"lower", "upper", "work"} {
			w.mkdir(w.outside+"/"+d, 0o755)
		}
		w.mount("overlay", w.home+"/h", fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", w.outside))
		w.setenv("HOME", w.home+"/h")
		w.write(w.home+"/h/.cache/pip/x", "cached")
		w.write(w.home+"/h/.cargo/bin/tool", "#!/bin/sh\necho tool\n")
		w.must(os.Chmod(w.home+"/h/.cargo/bin/tool", 0o755))
		w.setenv("PATH", w.home+"/h/.cargo/bin:/usr/bin:/bin")
		w.litter = true
		if out := w.sh("tool; echo more > ~/.cache/pip/y; cat ~/.cache/pip/y"); out != "tool\nmore\n" {
			t.Errorf("%q", out)
		}
		w.unmount(w.home + "/h")
	})
	t.Run("read-only", func(t *testing.T) {
		w := newWorld(t, ordinary(t))
		w.mount("tmpfs", w.home+"/other", "size=1m")
		w.write(w.home+"/other/file", "content\n")
		w.must(unix.Mount("", w.home+"/other", "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
		w.project = w.home + "/other"
		if r := w.run("--", "sh", "-c", "cat file; echo x > y"); r.out != "content\n" || !strings.Contains(r.err, "Read-only file system") {
			t.Errorf("%s", r)
		}
		w.unmount(w.home + "/other")
	})
	t.Run("mounts below the project", func(t *testing.T) {
		w := newWorld(t, ordinary(t))
		w.mount("tmpfs", w.project+"/data", "size=1m")
		w.write(w.project+"/data/file", "content\n")
		if out := w.sh("cat data/file; echo more > data/new"); out != "content\n" || w.read(w.project+"/data/new") != "more\n" {
			t.Errorf("%q", out)
		}
		w.unmount(w.project + "/data")
	})
	t.Run("others' files", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("making files of somebody else takes root")
		}
		w := newWorld(t, ordinary(t))
		w.must(os.WriteFile(w.project+"/foreign", []byte("SECRET"), 0o600))
		w.must(os.MkdirAll(w.project+"/closed", 0o700))
		w.must(os.WriteFile(w.project+"/closed/x.pem", []byte("SECRET"), 0o600))
		if r := w.run("--deny", "**/*.pem", "--", "sh", "-c", "cat foreign closed/x.pem; echo x > new && cat new"); r.out != "x\n" {
			t.Errorf("%s", r)
		}
	})
}

// TestInsideOtherWalls: inside ourselves and inside bubblewrap it works, or
// says clearly what is missing.
func TestInsideOtherWalls(t *testing.T) {
	t.Run("carrel in carrel", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, ordinary(t))
		for _, nested := range nestings {
			r := w.run("--nested", nested, "--read", w.bin, "--", w.bin, "run", "--", "echo", "deep")
			fine := r.code == 0 && r.out == "deep\n"
			clear := r.code == 125 && strings.Contains(r.err, "carrel") && strings.Contains(r.err, "hint")
			if !fine && !clear {
				t.Errorf("nested %s: %s", nested, r)
			}
			if !fine && !strings.Contains(r.err, "inside") {
				t.Errorf("nested %s: the message does not say that this is inside a workspace already: %s", nested, r)
			}
		}
	})
	t.Run("in bubblewrap", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, ordinary(t))
		w.need("bwrap")
		w.write(w.project+"/.env", "SECRET")
		r := w.plain("bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--unshare-pid", "--die-with-parent", w.bin, "run", "--", "sh", "-c", "echo deep > made; cat made; cat .env")
		if r.out != "deep\n" {
			t.Errorf("%s", r)
		}
	})
	t.Run("without user namespaces", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, ordinary(t))
		w.need("unshare")
		r := w.plain("unshare", "-Ur", "sh", "-c", "echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --no-new-privs "+w.bin+" run -- echo ran")
		if r.code != 125 || strings.Contains(r.out, "ran") || !strings.Contains(r.err, "namespace") || !strings.Contains(r.err, "hint") {
			t.Errorf("%s", r)
		}
	})
	t.Run("chroot", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("chroot takes root")
		}
		t.Parallel()
		w := newWorld(t, person{"root", 0, 0})
		r := w.plain("chroot", "--skip-chdir", "/", w.bin, "run", "--", "echo", "ran")
		if !(r.code == 0 && r.out == "ran\n") && !(r.code == 125 && strings.Contains(r.err, "hint")) {
			t.Errorf("%s", r)
		}
	})
}

// TestManyAtOnce: runs of one project side by side do not get in each other's way.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	script := ""
	for i := range 20 {
		script += fmt.Sprintf("%s run -- sh -c 'echo %d > f%d; cat f%d' & ", w.bin, i, i, i)
	}
	r := w.plain("bash", "-c", script+"wait")
	if len(strings.Fields(r.out)) != 20 || r.err != "" {
		t.Errorf("%s", r)
	}
}

// TestTenThousandRules: many rules are slow at worst, never wrong.
func TestTenThousandRules(t *testing.T) {
	w := newWorld(t, ordinary(t))
	var config strings.Builder
	config.WriteString("deny:\n")
	for i := range 10000 {
		fmt.Fprintf(&config, "  - 'd%d/x%d.pem'\n", i%100, i)
	}
	w.write(w.home+"/.config/carrel/config.yaml", config.String())
	w.write(w.project+"/d99/x9999.pem", "SECRET")
	w.write(w.project+"/d99/x.txt", "fine")
	start := time.Now()
	r := w.run("--", "sh", "-c", "cat d99/x9999.pem; cat d99/x.txt")
	if r.out != "fine" {
		t.Errorf("%s", r)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
}

// TestSymlinkCycles in what rules name.
func TestSymlinkCycles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.symlink("b", w.project+"/a")
	w.symlink("a", w.project+"/b")
	w.symlink(".", w.project+"/self")
	w.symlink("a", w.project+"/.env")
	w.symlink("../desk", w.project+"/up")
	w.write(w.project+"/x.pem", "SECRET")
	if r := w.run("--deny", "**/*.pem", "--protect", "**/a", "--", "sh", "-c", "cat x.pem self/x.pem up/x.pem; echo fine"); r.out != "fine\n" {
		t.Errorf("%s", r)
	}
	if r := w.run("--read", w.project+"/a", "--", "true"); r.code != 125 {
		t.Errorf("--read of a cycle: %s", r)
	}
}

// TestOutputThatCannotBeWritten: output lost to a full disk is an error, also
// when the command has ended well before that is known.
func TestOutputThatCannotBeWritten(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.mount("tmpfs", w.outside+"/disk", "size=16k,mode=0777")
		out, err := os.Create(w.outside + "/disk/out")
		w.must(err)
		defer out.Close()
		cmd := w.command(w.bin, "run", "--", "sh", "-c", "head -c 100000 /dev/zero; true")
		cmd.Stdout = out
		var said strings.Builder
		cmd.Stderr = &said
		err = cmd.Run()
		if cmd.ProcessState.ExitCode() != 125 || !strings.Contains(said.String(), "no space left on device") {
			t.Errorf("%v, %s", err, said.String())
		}
		out.Close()
		w.unmount(w.outside + "/disk")
	})
}

// remount changes the options of a mounted file system.
func remount(at, data string) error {
	return unix.Mount("none", at, "", unix.MS_REMOUNT, data)
}

// TestCachesStay: a project's private changes of a cache are there in its next run,
// and in one beside it; no run has the disk synced for them at its end, and the
// person's own cache stays as it is.
func TestCachesStay(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.litter = true
		w.write(w.home+"/.cache/pip/x", "cached\n")
		if out := w.sh("cat ~/.cache/pip/x; echo changed > ~/.cache/pip/x; grep -c 'overlay.*volatile' /proc/mounts"); !strings.HasPrefix(out, "cached\n") || strings.HasSuffix(out, "\n0\n") {
			t.Errorf("the first run: %q", out)
		}
		for range 3 {
			r := w.carrel("run", "--", "sh", "-c", "cat ~/.cache/pip/x; echo more >> ~/.cache/pip/y; wc -l < ~/.cache/pip/y")
			if !strings.HasPrefix(r.out, "changed\n") || strings.Contains(r.err, "copy-on-write") {
				t.Errorf("a later run: %s", r)
			}
		}
		cmd, _ := w.desk("--", "sh", "-c", "echo begun > begun; sleep 60")
		eventually(t, "the run to be there", func() bool { return exists(w.project + "/begun") })
		if r := w.carrel("run", "--", "sh", "-c", "cat ~/.cache/pip/x; wc -l < ~/.cache/pip/y"); r.out != "changed\n3\n" || strings.Contains(r.err, "copy-on-write") {
			t.Errorf("a run beside another: %s", r)
		}
		w.must(cmd.Process.Signal(unix.SIGTERM))
		_ = cmd.Wait()
		if got := w.read(w.home + "/.cache/pip/x"); got != "cached\n" || exists(w.home+"/.cache/pip/y") {
			t.Errorf("the person's own cache has %q", got)
		}
	})
}
