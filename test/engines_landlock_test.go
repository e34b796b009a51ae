//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// instead is what the column landlock has in place of the others.
func instead(cell string, holds func(d *desk)) map[string]difference {
	return map[string]difference{"landlock": {cell, holds}}
}

// alone says that the column has no namespaces.
func (d *desk) alone() bool { return slices.Contains(d.flags, "landlock") }

// standsAlone looks, without attacking anything, whether commands are held: they
// have the filter and no new privileges, and a file that all may read cannot be.
func standsAlone(d *desk) {
	d.t.Helper()
	plain := d.write(d.outside+"/plain", "plain")
	d.must(os.Chmod(plain, 0o644))
	d.mustWork("read", plain)
	cmd, pid := d.running("cat " + plain + " && echo NO WALLS")
	status := d.read(fmt.Sprintf("/proc/%d/status", pid))
	if got := d.ends(cmd); !strings.Contains(status, "Seccomp:\t2\n") || !strings.Contains(status, "NoNewPrivs:\t1\n") || strings.Contains(got, "NO WALLS") {
		d.t.Fatalf("NO WALLS: landlock: nothing was attacked: %s, %s", status, got)
	}
	r := d.world.run(append(d.flags, "--json", "--", "true")...)
	if !strings.Contains(r.err, `"engine":"landlock"`) || !strings.Contains(r.err, "carrel: engine landlock, asked for by --engine; weaker than carrel's own namespaces: names, sizes") {
		d.t.Errorf("the engine, and what is weaker: %s", r)
	}
}

// running starts a command that runs a script once its standard input ends, and
// gives its number.
func (d *desk) running(script string) (*exec.Cmd, int) {
	d.t.Helper()
	cmd := d.command(d.bin, append([]string{"run"}, append(d.flags, "--", "bash", "-c", "echo $$; read -r _; "+script)...)...)
	var said strings.Builder
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	d.must(err)
	out, err := cmd.StdoutPipe()
	d.must(err)
	d.must(cmd.Start())
	d.t.Cleanup(func() { in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	buf := make([]byte, 64)
	n, _ := out.Read(buf)
	pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	if err != nil {
		d.t.Fatalf("no number of the command: %q %s", buf[:n], said.String())
	}
	d.input, d.output = in, out
	return cmd, pid
}

// ends lets a running command go on, and gives what it printed.
func (d *desk) ends(cmd *exec.Cmd) string {
	d.t.Helper()
	d.input.Close()
	var out strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := d.output.Read(buf)
		out.Write(buf[:n])
		if err != nil {
			break
		}
	}
	_ = cmd.Wait()
	return out.String()
}

// masksBelowRead: what is denied in what is shown read-only cannot be read.
func masksBelowRead(d *desk) {
	shown, key := d.write(d.outside+"/shown/deep/file", "shown"), d.outside+"/shown/secret/key"
	flags := append(d.flags, "--read", d.outside+"/shown", "--deny", d.outside+"/shown/secret")
	if got := d.sh("cat "+shown, flags...); got != "shown" {
		d.t.Errorf("what is granted: %q", got)
	}
	d.refused(flags, []string{"read", key, "--", "list", d.outside + "/shown/secret"}, gone...)
}

func temporaryElsewhere(d *desk) {
	outside := d.hostTemp() + "/file"
	d.must(os.WriteFile(outside, []byte("outside"), 0o644))
	d.refused(d.flags, []string{"read", outside}, gone...)
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		name := dir + "/carrel-e2e-" + d.number()
		if d.behindWalls("! echo inside > " + name); exists(name) {
			d.t.Errorf("%s was written", name)
		}
	}
	where := strings.TrimSpace(d.behindWalls("f=$(mktemp) && echo inside > $f && cat $f >&2; echo $f"))
	if !strings.HasPrefix(where, d.home+"/.local/state/carrel/private/") || exists(where) {
		d.t.Errorf("the private file was %q, or is still there", where)
	}
	d.swept()
}

func processesSeen(d *desk) {
	s := d.sleeper()
	pid := strconv.Itoa(s.Process.Pid)
	at := "/proc/" + pid
	d.refused(d.flags, []string{"kill", pid, "0", "--", "read", at + "/environ", "--", "read", at + "/cmdline", "--", "read", at + "/status", "--", "list", "/proc", "--", "list", at + "/fd", "--", "list", at + "/root"}, "EPERM", "EACCES")
	d.fails(d.flags, []string{"kill", pid, "9", "--", "kill", pid, "19", "--", "ptrace", pid, "--", "procvm", pid}, "EPERM")
	d.behindWalls("! prlimit --pid " + pid + " --nofile=1:1; ! renice -n 5 -p " + pid + "; ! taskset -p 1 " + pid + "; ! ionice -c 3 -p " + pid)
	limits, err := os.ReadFile(at + "/limits")
	if err != nil || strings.Contains(string(limits), "Max open files            1 ") || !alive(s) {
		d.t.Errorf("the process outside was changed: %s %v", limits, err)
	}
}

// signalsStay: to a group, to all and to one. The guard of the run is out of reach,
// and the workspace ends with the stage.
func signalsStay(d *desk) {
	d.litter = true // of the other run
	for _, target := range []string{"0", "-1"} {
		s := d.sleeper()
		other, pid := d.running("echo other")
		r := d.world.run(append(d.flags, "--read", built.attack, "--", built.attack, "kill", target, "9", "held by "+d.base)...)
		if strings.Contains(r.out, "NO WALLS") {
			d.t.Fatal("the walls are not up")
		}
		if !alive(s) || syscall.Kill(pid, 0) != nil {
			d.t.Errorf("kill %s reached a process outside: %s", target, r)
		}
		if got := d.ends(other); got != "other\n" {
			d.t.Errorf("kill %s reached another workspace: %q", target, got)
		}
	}
	d.swept()
}

// swept has a run remove what killed ones have left.
func (d *desk) swept() {
	d.t.Helper()
	d.behindWalls("true")
	if left, err := os.ReadDir(d.home + "/.local/state/carrel/private"); err != nil || len(left) > 0 {
		d.t.Errorf("private directories are left: %v %v", left, err)
	}
}

// stageIsOurs: what is above the command cannot be read, and ending or stopping it
// ends the run and leaves nothing.
func stageIsOurs(d *desk) {
	d.litter = true // of the run that goes on meanwhile
	for _, sig := range []string{"KILL", "STOP"} {
		cmd, pid := d.running("(setsid sleep 300 &); kill -" + sig + " $PPID; sleep 300")
		stage := parentOf(d.t, pid)
		guard := parentOf(d.t, stage)
		at := "/proc/" + strconv.Itoa(stage)
		d.fails(d.flags, []string{"read", at + "/environ", "--", "read", at + "/mem", "--", "list", at + "/fd", "--", "kill", strconv.Itoa(guard), "9", "--", "ptrace", strconv.Itoa(stage)}, "EACCES", "EPERM")
		d.input.Close()
		if sig == "STOP" {
			eventually(d.t, "the stage is stopped", func() bool { return strings.Contains(d.read(at+"/status"), "State:\tT") })
			d.must(syscall.Kill(cmd.Process.Pid, syscall.SIGKILL)) // the worst moment for it
		}
		_ = cmd.Wait()
		eventually(d.t, "nothing is left after "+sig, func() bool { return len(d.processes()) == 0 })
	}
	d.swept()
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	f := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if err != nil || len(f) < 2 {
		t.Fatalf("process %d: %v", pid, err)
	}
	parent, _ := strconv.Atoi(f[1])
	return parent
}

func noPrivilege(d *desk) {
	cmd, pid := d.running("true")
	status := d.read(fmt.Sprintf("/proc/%d/status", pid))
	for _, line := range []string{"CapInh:", "CapPrm:", "CapEff:", "CapAmb:"} {
		if !strings.Contains(status, line+"\t0000000000000000\n") {
			d.t.Errorf("%s in %s", line, status)
		}
	}
	d.ends(cmd)
	if os.Getuid() == 0 {
		suid := d.base + "/bin/suid"
		d.must(os.MkdirAll(suid, 0o755))
		suid += "/attack"
		d.must(copyFile(built.attack, suid, 0o755))
		d.must(os.Chmod(suid, 0o755|os.ModeSetuid))
		d.mustRun(suid, "ok 0")
		if r := d.world.run(append(d.flags, "--read", suid, "--", suid, "euid")...); r.out != "ok "+strconv.Itoa(plainUID)+"\n" {
			d.t.Errorf("a set-user-id program: %s", r)
		}
	}
}

// mustRun is the canary of a set-user-id program.
func (d *desk) mustRun(suid, want string) {
	d.t.Helper()
	if r := d.plain(suid, "euid"); strings.TrimSpace(r.out) != want {
		d.t.Fatalf("canary: outside it is %s", r)
	}
}

func noDescriptor(d *desk) {
	cmd, pid := d.running("true")
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	d.must(err)
	for _, fd := range fds {
		if n, _ := strconv.Atoi(fd.Name()); n > 2 && n != 255 { // the shell's own
			to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name()))
			d.t.Errorf("descriptor %s: %s", fd.Name(), to)
		}
	}
	d.ends(cmd)
}

// TestLandlockEndsForks: what forks all the time, in sessions of its own, ends with
// its run, whoever is killed.
func TestLandlockEndsForks(t *testing.T) {
	t.Parallel()
	d := newDesk(t, column{"landlock", []string{"--engine", "landlock"}, nil}, engineCase{})
	d.litter = true
	// The limit is of all processes of the user, and other tests have theirs.
	storm := "ulimit -u 400; fork() { while :; do (setsid sleep 100 &) 2>/dev/null; sleep 0.01; done; }; for i in 1 2 3 4; do setsid bash -c \"$(declare -f fork); fork\" 2>/dev/null & done; echo ready; sleep 100"
	for _, depth := range []int{0, 1, 2, 3} {
		cmd := d.command(d.bin, append([]string{"run"}, append(d.flags, "--", "bash", "-c", storm)...)...)
		out, err := cmd.StdoutPipe()
		d.must(err)
		d.must(cmd.Start())
		waitFor(t, out, "ready\n")
		eventually(t, "there are some", func() bool { return len(d.processes()) > 20 })
		victim := cmd.Process.Pid
		for range depth {
			victim = childOf(t, victim)
		}
		d.must(syscall.Kill(victim, syscall.SIGKILL))
		_ = cmd.Wait()
		eventually(t, "the processes are gone", func() bool { return len(d.processes()) == 0 })
	}
	d.swept()
}

// TestLandlockKeepsItsProgram: what a mount would keep unchanged and at its name,
// and no rule speaks of, is the broker's to keep.
func TestLandlockKeepsItsProgram(t *testing.T) {
	t.Parallel()
	d := newDesk(t, column{"landlock", []string{"--engine", "landlock"}, nil}, engineCase{history: "on"})
	own := d.project + "/bin/sub/carrel"
	d.write(d.project+"/bin/sub/other", "x")
	d.must(copyFile(d.bin, own, 0o755))
	d.own(own)
	d.bin = own
	before, err := os.Stat(own)
	d.must(err)
	d.sh("! echo x >>bin/sub/carrel; ! rm -f bin/sub/carrel; ! mv bin/sub/carrel x; ! mv bin/sub x; ! mv bin x; ! rm -rf bin; ! chmod 700 bin/sub/carrel; ! ln bin/sub/carrel x; ! cp /bin/true bin/sub/carrel; echo y >bin/sub/other", d.flags...)
	if after, err := os.Stat(own); err != nil || !os.SameFile(before, after) || after.Mode() != before.Mode() || after.ModTime() != before.ModTime() || d.read(d.project+"/bin/sub/other") != "y\n" {
		t.Errorf("the program was changed, or its neighbour was not: %v %v", after, err)
	}
}

// TestLandlockMetadata: what Landlock does not see is changed where files may be
// written, by name and by descriptor, and nowhere else.
func TestLandlockMetadata(t *testing.T) {
	t.Parallel()
	d := newDesk(t, column{"landlock", []string{"--engine", "landlock"}, nil}, engineCase{})
	shown, hidden := d.write(d.outside+"/shown/own", "x"), d.write(d.outside+"/hidden", "x")
	d.must(os.Symlink(shown, d.project+"/link"))
	d.must(os.Symlink(d.outside, d.project+"/way"))
	d.write(d.project+"/mine", "x")
	relative, err := filepath.Rel(d.project, hidden)
	d.must(err)
	d.litter = true // below outside nothing is compared by mode
	script := `for f in ` + shown + ` ` + hidden + ` link way/hidden ` + relative + `; do
	chmod 777 $f; touch -h $f; touch -d 2001-01-01 $f; chgrp $(id -g) $f; done
chmod 777 /dev/fd/3; touch -d 2001-01-01 /dev/fd/3; chmod 777 /proc/self/fd/3
chmod 755 way; mv mine way/; ln mine way/mine; mv ` + hidden + ` .; ln ` + hidden + ` .; true`
	before := d.outsideSh("cd " + d.outside + " && stat -c '%n %a %Y %g' . hidden shown shown/own")
	d.sh("exec 3<"+shown+"; "+script, append(d.flags, "--read", d.outside+"/shown")...)
	if after := d.outsideSh("cd " + d.outside + " && stat -c '%n %a %Y %g' . hidden shown shown/own"); after != before {
		t.Errorf("outside was\n%sand is\n%s", before, after)
	}
	d.sh("chmod 701 mine; touch -d 2001-01-01 mine; exec 3<mine; chmod 711 /dev/fd/3; mkdir x; chmod 700 x", d.flags...)
	if got := d.outsideSh("stat -c '%a %Y' mine"); got != "711 978307200\n" {
		t.Errorf("in the project: %q", got)
	}
	if d.outsideSh("cp -a "+hidden+" h && chmod 777 h && stat -c %a h") != "777\n" {
		t.Error("canary: chmod does not work outside")
	}
}

func generatedAtHome(d *desk) {
	got := d.behindWalls("id -u; cat /etc/passwd | head -1; ls ~/.bashrc ~/.gitconfig; echo x >>~/.bashrc")
	if !strings.Contains(got, "root:") || !strings.Contains(got, "/.gitconfig") || exists(d.home+"/.gitconfig") {
		d.t.Errorf("%q", got)
	}
}
