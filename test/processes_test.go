//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sleeper starts a process of the person outside the walls.
func (w *world) sleeper() *exec.Cmd {
	w.t.Helper()
	cmd := w.command("sleep", "300")
	w.must(cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func alive(cmd *exec.Cmd) bool {
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WNOHANG, nil)
	return err == nil && pid == 0
}

func TestProcessesOutsideAreInvisible(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		s := w.sleeper()
		pid := strconv.Itoa(s.Process.Pid)
		w.refused(nil, []string{"kill", pid, "0"}, "ESRCH")
		w.refused(nil, []string{"read", "/proc/" + pid + "/environ"}, "ENOENT")
		if out := w.sh("ls /proc | grep -c '^[0-9]'"); strings.TrimSpace(out) > "9" || len(out) > 2 {
			t.Errorf("%s processes are visible", out)
		}
		if !alive(s) {
			t.Error("the process outside is gone")
		}
	})
}

// TestSignalsDoNotLeaveTheWalls: kill(-1) and kill(0) go to everybody that the
// caller may signal. The command shares its process group with the caller
// outside, as any program of a pipeline does.
func TestSignalsDoNotLeaveTheWalls(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		for _, nested := range []string{"none", "userns", "full"} {
			for _, target := range []string{"0", "-1"} {
				w := newWorld(t, p)
				s := w.sleeper()
				inside := w.bin + " run --nested " + nested + " --read " + built.attack + " -- " + built.attack
				r := w.plain("bash", "-c", inside+" kill "+target+" 9 "+own("pid")+"; echo survived")
				if strings.Contains(r.out, "NO WALLS") {
					t.Fatalf("nested %s: the walls are not up", nested)
				}
				if !strings.Contains(r.out, "survived") {
					t.Errorf("nested %s: kill %s reached the caller: %s", nested, target, r)
				}
				if !alive(s) {
					t.Errorf("nested %s: kill %s reached a process outside", nested, target)
				}
				w.leaveNow2(s)
			}
		}
	})
	w := newWorld(t, ordinary(t))
	if r := w.plain("bash", "-c", built.attack+" kill 0 9; echo survived"); strings.Contains(r.out, "survived") {
		t.Fatalf("canary: kill 0 outside: %s", r)
	}
}

// leaveNow2 ends a world that has a process of the test's own.
func (w *world) leaveNow2(s *exec.Cmd) {
	w.t.Helper()
	_ = s.Process.Kill()
	_ = s.Wait()
	w.leaveNow()
}

// onlyInside begins a script that would hurt the machine without walls.
var onlyInside = `[ "$(readlink /proc/self/ns/pid)" != "` + own("pid") + `" ] || { echo NO WALLS; exit 9; }; `

// TestStageIsUnreadable: PID 1 inside is ours and holds the way out.
func TestStageIsUnreadable(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		for _, nested := range []string{"none", "userns", "full"} {
			w := newWorld(t, p)
			flags := []string{"--nested", nested}
			for _, name := range []string{"environ", "mem", "maps", "auxv", "stack", "personality", "io", "pagemap", "syscall", "fd/3", "fdinfo/3"} {
				w.fails(flags, []string{"read", "/proc/1/" + name}, "EACCES", "EPERM", "ENOENT")
			}
			for _, name := range []string{"root", "cwd", "map_files"} {
				w.fails(flags, []string{"list", "/proc/1/" + name}, "EACCES", "EPERM", "ENOENT")
			}
			w.fails(flags, []string{"ptrace", "1"}, "EPERM")
			w.fails(flags, []string{"procvm", "1"}, "EPERM")
			// A neighbour is readable: the above is not just a broken /proc.
			out := w.sh("sleep 5 & cat /proc/$!/environ >/dev/null && ls /proc/$!/fd >/dev/null && ls /proc/$!/root/ >/dev/null && echo readable; kill $!", flags...)
			if out != "readable\n" {
				t.Fatalf("canary: %q", out)
			}
			if r := w.run(append(flags, "--", "bash", "-c", onlyInside+"for s in $(seq 31); do kill -$s 1; done; sleep 0.1; echo alive")...); r.out != "alive\n" || r.code != 0 {
				t.Errorf("nested %s: signals to PID 1: %s", nested, r)
			}
		}
	})
}

// TestPrivileges: no capability, none to gain, no new privileges, a filter.
func TestPrivileges(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		const none = "0000000000000000"
		want := "ok CapInh=" + none + " CapPrm=" + none + " CapEff=" + none + " CapBnd=" + none + " CapAmb=" + none + " NoNewPrivs=1 Seccomp=2"
		for _, nested := range []string{"none", "userns", "full"} {
			if got := w.attack([]string{"--nested", nested}, "status"); got != want {
				t.Errorf("nested %s: %s", nested, got)
			}
		}
		if w.canary("status") == want {
			t.Error("canary: it is the same outside")
		}
	})
}

func TestSetuidProgramsArePowerless(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("making a setuid program takes root")
	}
	w := newWorld(t, ordinary(t))
	suid := w.base + "/bin/suid"
	w.must(os.MkdirAll(suid, 0o755))
	suid += "/attack"
	w.must(copyFile(built.attack, suid, 0o755))
	w.must(os.Chmod(suid, 0o755|os.ModeSetuid))
	if r := w.plain(suid, "euid"); r.out != "ok 0\n" {
		t.Fatalf("canary: %s", r)
	}
	if r := w.run("--read", suid, "--", suid, "euid"); r.out != "ok "+strconv.Itoa(plainUID)+"\n" {
		t.Errorf("a setuid program inside: %s", r)
	}
	root := newWorld(t, person{"root", 0, 0})
	if r := root.plain("su", "-c", "id -u", "nobody", "-s", "/bin/sh"); r.out != "65534\n" {
		t.Fatalf("canary: %s", r)
	}
	if r := root.run("--", "su", "-c", "id -u", "nobody", "-s", "/bin/sh"); r.code == 0 {
		t.Errorf("su by root inside: %s", r)
	}
	root.mkdir(root.project+"/mnt", 0o755)
	if r := root.run("--", "mount", "-t", "tmpfs", "none", root.project+"/mnt"); r.code == 0 {
		t.Errorf("mount by root inside: %s", r)
	}
	if out := w.sh("grep -cv nosuid /proc/self/mountinfo || true"); out != "0\n" {
		t.Errorf("mounts without nosuid: %s", w.sh("grep -v nosuid /proc/self/mountinfo"))
	}
}

func TestOnlyStandardDescriptorsCross(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		secret := w.write(w.outside+"/secret", "SECRET")
		dir, err := os.Open(w.outside)
		w.must(err)
		defer dir.Close()
		file, err := os.Open(secret)
		w.must(err)
		defer file.Close()
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		w.must(err)
		socket := os.NewFile(uintptr(pair[0]), "socket")
		defer socket.Close()
		defer syscall.Close(pair[1])
		extra := []*os.File{dir, file, socket, nil, dir}
		cmd := w.command(built.attack, "fds")
		cmd.ExtraFiles = extra
		if r := w.finish(cmd); !strings.Contains(r.out, " 4="+secret) || !strings.Contains(r.out, " 7="+w.outside) {
			t.Fatalf("canary: %s", r)
		}
		cmd = w.command(w.bin, "run", "--read", built.attack, "--", built.attack, "fds")
		cmd.ExtraFiles = extra
		r := w.finish(cmd)
		for word := range strings.FieldsSeq(strings.TrimPrefix(r.out, "ok")) {
			if fd, _, _ := strings.Cut(word, "="); fd != "0" && fd != "1" && fd != "2" {
				t.Errorf("a descriptor crossed: %s", word)
			}
		}
		if strings.Count(r.out, "=") != 3 {
			t.Errorf("descriptors inside: %s", r)
		}
	})
}

// TestInheritedFilesCannotBeReopened: a file that was opened for reading must
// not become writable, and one for writing not readable.
func TestInheritedFilesCannotBeReopened(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		path := w.write(w.outside+"/input", "original")
		attack := func(name, fd string, args ...string) string {
			in, err := os.OpenFile(path, os.O_RDONLY, 0)
			w.must(err)
			defer in.Close()
			out, err := os.OpenFile(path, os.O_WRONLY, 0)
			w.must(err)
			defer out.Close()
			cmd := w.command(name, append(args, "reopen", fd)...)
			var report strings.Builder
			switch fd {
			case "0":
				cmd.Stdin, cmd.Stdout = in, &report
			case "2":
				cmd.Stderr, cmd.Stdout = out, &report
			}
			w.finish(cmd)
			return strings.TrimSpace(report.String())
		}
		for _, fd := range []string{"0", "2"} {
			w.write(path, "original")
			if got := attack(built.attack, fd); got != "ok" || w.read(path) != "ownednal" {
				t.Fatalf("canary: fd %s: %q, %q", fd, got, w.read(path))
			}
			w.write(path, "original")
			if got := attack(w.bin, fd, "run", "--read", built.attack, "--", built.attack); got == "ok" || got == "" {
				t.Errorf("fd %s inside: %q", fd, got)
			}
			if w.read(path) != "original" {
				t.Errorf("fd %s: the file is now %q", fd, w.read(path))
			}
		}
	})
}

func TestDirectoryAsStandardDescriptorIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	dir, err := os.Open(w.outside)
	w.must(err)
	defer dir.Close()
	for fd := range 3 {
		cmd := w.command(w.bin, "run", "--", "true")
		var report strings.Builder
		cmd.Stderr = &report
		switch fd {
		case 0:
			cmd.Stdin = dir
		case 1:
			cmd.Stdout = dir
		case 2:
			cmd.Stderr = dir
		}
		if r := w.finish(cmd); r.code != 125 || fd < 2 && !strings.Contains(report.String(), "directory") {
			t.Errorf("descriptor %d: %s%s", fd, r, report.String())
		}
	}
}

func TestForkBomb(t *testing.T) {
	eachPersonAlone(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		start := time.Now()
		r := w.run("--pids", "64", "--read", built.attack, "--", built.attack, "forkbomb")
		if r.code == 125 && strings.Contains(r.err, "cannot be held here") && p.uid == 0 {
			t.Skipf("no control group to limit root here: %s", r.err)
		}
		if r.out != "EAGAIN\n" {
			t.Errorf("--pids 64: %s", r)
		}
		if time.Since(start) > 20*time.Second {
			t.Error("the host was not well")
		}
		if w.plain("true").code != 0 {
			t.Error("the host cannot start a program")
		}
		if r := w.run("--pids", "64", "--", "bash", "-c", "for i in 1 2 3 4 5; do sleep 0.01 & done; wait; echo fine"); r.out != "fine\n" {
			t.Errorf("the limit hurts what is below it: %s", r)
		}
	})
}
