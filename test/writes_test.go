//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoWriteOutsideTheProject: some writes fail, some land in a private copy;
// none reaches the host.
func TestNoWriteOutsideTheProject(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		existing := w.write(w.home+"/.bashrc", "mine\n")
		unit := "carrel-e2e-" + w.number()
		targets := []string{
			existing, w.home + "/.profile", w.home + "/.zshrc", w.home + "/new", w.home + "/.config/autostart/x.desktop", w.home + "/.config/systemd/user/x.service",
			w.home + "/.local/bin/git", w.home + "/.local/share/applications/x.desktop", w.home + "/src/other", w.outside + "/file", w.runtime + "/file",
			"/usr/" + unit, "/usr/local/bin/" + unit, "/etc/" + unit, "/etc/cron.d/" + unit, "/opt/" + unit, "/var/lib/" + unit, "/" + unit, "/tmp/" + unit, "/var/tmp/" + unit, "/dev/shm/" + unit, "/dev/" + unit, "/run/" + unit, "/bin/" + unit,
		}
		t.Cleanup(func() {
			for _, f := range targets {
				if strings.HasSuffix(f, unit) {
					os.Remove(f)
				}
			}
		})
		for _, nested := range nestings {
			for _, home := range []string{"toolchains", "full", "none"} {
				var script strings.Builder
				for _, f := range targets {
					fmt.Fprintf(&script, "mkdir -p \"$(dirname %[1]s)\"; echo owned >> %[1]s; rm -f %[1]s.gone; ", f)
				}
				w.run("--nested", nested, "--home", home, "--", "bash", "-c", script.String())
				for _, f := range targets {
					if data, err := os.ReadFile(f); err == nil && strings.Contains(string(data), "owned") {
						t.Errorf("nested %s, home %s: written outside: %s", nested, home, f)
						os.Remove(f)
					}
				}
			}
		}
		if w.read(existing) != "mine\n" {
			t.Error(".bashrc was changed")
		}
		w.mustWork("write", w.outside+"/file", "--", "write", w.home+"/new")
		if p.uid == 0 {
			w.mustWork("write", "/etc/"+unit, "--", "write", "/usr/local/bin/"+unit, "--", "write", "/"+unit)
		}
		os.Remove(w.home + "/new")
	})
}

// TestKernelSettings: sysctl files check the uid, not a capability, so that
// uid 0 inside must not reach them.
func TestKernelSettings(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		settings := []string{"/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/proc/sys/fs/file-max", "/proc/sys/kernel/hostname", "/proc/sys/net/core/somaxconn"}
		var args []string
		for _, s := range settings {
			args = append(args, "rewrite", s, "--")
		}
		args = args[:len(args)-1]
		if p.uid == 0 {
			w.mustWork(args...)
		}
		for _, nested := range nestings {
			w.fails([]string{"--nested", nested}, args, "EROFS", "EACCES", "EPERM", "ENOENT")
			w.fails([]string{"--nested", nested}, []string{"openw", "/proc/sysrq-trigger"}, "EROFS", "EACCES", "EPERM", "ENOENT", "EIO")
			w.fails([]string{"--nested", nested}, []string{"list", "/sys"}, "ENOENT", "EACCES")
		}
	})
}

// TestDevices: no disks, no memory, no console of the machine.
func TestDevices(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		got := w.sh("ls /dev | grep -vxE 'full|null|zero|random|urandom|tty|fd|std(in|out|err)|ptmx|pts|shm|console|mqueue' || true")
		if got != "" {
			t.Errorf("devices inside: %q", got)
		}
		w.sh("echo x >/dev/null && head -c 4 /dev/zero >/dev/null && head -c 4 /dev/urandom >/dev/null && ! echo x >/dev/full")
		if p.uid == 0 {
			if r := w.run("--device", "/dev/kmsg", "--", "test", "-c", "/dev/kmsg"); r.code != 0 {
				t.Errorf("--device: %s", r)
			}
			if r := w.run("--", "test", "-e", "/dev/kmsg"); r.code == 0 {
				t.Error("a device is there without --device")
			}
		}
	})
}

// TestGrantedDirectories: --read and --write give exactly what they say.
func TestGrantedDirectories(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		file := w.write(w.outside+"/shared/file", "text")
		secret := w.write(w.outside+"/secret", "SECRET")
		if got := w.attack([]string{"--read", w.outside + "/shared"}, "read", file); got != "ok text" {
			t.Errorf("--read: %q", got)
		}
		w.refused([]string{"--read", w.outside + "/shared"}, []string{"write", file}, "EROFS", "EACCES")
		w.fails([]string{"--write", w.outside + "/shared"}, []string{"read", secret}, "ENOENT")
		w.write(file, "text")
		if got := w.attack([]string{"--write", w.outside + "/shared"}, "write", file); got != "ok" || w.read(file) != "textowned\n" {
			t.Errorf("--write: %q, %q", got, w.read(file))
		}
		if r := w.run("--read", w.outside+"/missing", "--", "true"); r.code != 125 || !strings.Contains(r.err, "missing") {
			t.Errorf("--read of nothing: %s", r)
		}
		if r := w.run("--read", w.outside+"/shared", "--deny", w.outside+"/shared/file", "--", "cat", file); r.code == 0 {
			t.Errorf("deny below read: %s", r)
		}
		w.symlink(w.outside+"/secret", w.outside+"/shared/link")
		w.fails([]string{"--write", w.outside + "/shared"}, []string{"read", w.outside + "/shared/link"}, "ENOENT")
	})
}

// TestHardLinksAcrossTheWalls: the project and a read-only grant are two
// mounts; a link from one to the other would make the second writable.
func TestHardLinksAcrossTheWalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	file := w.write(w.outside+"/shared/file", "text")
	r := w.run("--read", w.outside+"/shared", "--", "ln", file, w.project+"/alias")
	if _, err := os.Lstat(w.project + "/alias"); r.code == 0 || err == nil {
		t.Errorf("linked: %s", r)
	}
	if r := w.plain("ln", file, w.project+"/alias"); r.code != 0 {
		t.Fatalf("canary: %s", r)
	}
}

// swapping exchanges two paths again and again until the test ends or stop is
// called, which gives the number of exchanges.
func swapping(t *testing.T, a, b string) (stop func() int) {
	t.Helper()
	end := make(chan struct{})
	var wg sync.WaitGroup
	swaps := 0
	wg.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
				if unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE) == nil {
					swaps++
				}
			}
		}
	})
	stop = sync.OnceValue(func() int {
		close(end)
		wg.Wait()
		return swaps
	})
	t.Cleanup(func() { stop() })
	return stop
}

// TestProjectSwappedWhileStarting: somebody exchanges the project for a symlink
// to a private directory again and again while commands start in it. The
// caller stands in the project all the time, so nothing may ever be written to
// the private one.
func TestProjectSwappedWhileStarting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	private := w.outside + "/private"
	w.mkdir(private, 0o700)
	project, link := w.home+"/src/racing/real", w.home+"/src/racing/link"
	w.mkdir(project, 0o700)
	w.symlink(private, link)
	script := "ready; for i in $(seq " + often("200", "4000") + "); do " + w.bin + " run -- sh -c 'echo owned > mark'$i'; echo owned > " + project + "/mark'$i; echo $?; done"
	script = strings.Replace(script, "ready", "touch ready; while [ -e ready ]; do sleep 0.01; done", 1)
	cmd := w.command("bash", "-c", script)
	cmd.Dir = project
	var out strings.Builder
	cmd.Stdout = &out
	w.must(cmd.Start())
	eventually(t, "the shell stands in the project", func() bool { _, err := os.Lstat(project + "/ready"); return err == nil })
	stop := swapping(t, project, link)
	removedAt(project+"/ready", link+"/ready")
	w.must(cmd.Wait())
	swaps := stop()
	t.Logf("%d swaps, %d starts succeeded, %d were refused", swaps, strings.Count(out.String(), "0\n"), strings.Count(out.String(), "125\n"))
	if entries, err := os.ReadDir(private); err != nil || len(entries) > 0 {
		t.Errorf("written to the private directory: %v %v", entries, err)
	}
	if swaps < 200 {
		t.Errorf("only %d swaps: the race did not take place", swaps)
	}
}

// removedAt removes a file that is at one of the paths, and changes places.
func removedAt(paths ...string) {
	for {
		for _, p := range paths {
			if os.Remove(p) == nil {
				return
			}
		}
	}
}

// TestSwappedGrantIsRefused: a component below the project that a rule names is
// exchanged for a symlink to a private directory while commands start. The
// rule is the protected name, the private directory must never be mounted.
func TestSwappedGrantIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	secret := w.write(w.outside+"/private/tasks.json", "SECRET")
	w.write(w.project+"/.vscode/tasks.json", "mine")
	w.symlink(w.outside+"/private", w.project+"/swap")
	stop := swapping(t, w.project+"/.vscode", w.project+"/swap")
	seen := make(map[string]int)
	for range often(100, 2000) {
		r := w.run("--", "sh", "-c", "cat .vscode/tasks.json swap/tasks.json 2>/dev/null; echo owned >> swap/tasks.json; true")
		seen[strconv.Itoa(r.code)+" "+r.out]++
		if strings.Contains(r.out, "SECRET") {
			t.Fatalf("the private directory was mounted: %s", r)
		}
	}
	stop()
	t.Logf("%d different outcomes", len(seen))
	if w.read(secret) != "SECRET" {
		t.Errorf("written outside: %q", w.read(secret))
	}
}

// TestHomeAsProjectIsRefused: without --write, home and / are no project.
func TestHomeAsProjectIsRefused(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		for _, dir := range []string{w.home, "/"} {
			cmd := w.command(w.bin, "run", "--", "sh", "-c", "echo owned > "+dir+"/carrel-e2e-owned")
			cmd.Dir = dir
			r := w.finish(cmd)
			if _, err := os.Lstat(dir + "/carrel-e2e-owned"); err == nil {
				t.Errorf("%s was written: %s", dir, r)
				os.Remove(dir + "/carrel-e2e-owned")
			}
			if !strings.Contains(r.err, "--write") {
				t.Errorf("in %s: %s", dir, r)
			}
		}
		cmd := w.command(w.bin, "run", "--write", w.home, "--", "sh", "-c", "echo mine > "+w.home+"/made")
		cmd.Dir = w.home
		if r := w.finish(cmd); r.code != 0 || w.read(w.home+"/made") != "mine\n" {
			t.Errorf("--write: %s", r)
		}
	})
}

// TestSharedMemoryAndQueues: System V objects of the host are not the workspace's.
func TestSharedMemoryAndQueues(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("ipcmk", "ipcs")
	r := w.plain("ipcmk", "-M", "4096")
	id := strings.TrimSpace(r.out[strings.LastIndex(r.out, ":")+1:])
	t.Cleanup(func() { w.plainQuiet("ipcrm", "-m", id) })
	const count = "ipcs -m | grep -c ^0x || true"
	if out := w.outsideSh(count); out == "0\n" {
		t.Fatalf("canary: %q", out)
	}
	if out := w.sh(count); out != "0\n" {
		t.Errorf("shared memory of the host inside: %q", out)
	}
}

// plainQuiet runs a command whose end does not matter.
func (w *world) plainQuiet(name string, args ...string) {
	cmd := w.command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: w.who.credential()}
	_ = cmd.Run()
}
