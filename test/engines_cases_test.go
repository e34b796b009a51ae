//go:build linux

package e2e

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bothBubblewraps refuse a dimension, and so does landlock.
func bothBubblewraps(dimension string) map[string]string {
	return map[string]string{"bubblewrap": dimension, "setuid bubblewrap": dimension, "landlock": dimension}
}

// landlockRefuses what the others hold.
func landlockRefuses(dimension string) map[string]string {
	return map[string]string{"landlock": dimension}
}

// carved is what has no place below what is written.
const carved = "files below what is written"

// gone are the answers for what is not there or hidden.
var gone = []string{"ENOENT", "EACCES"}

// engineCases are the rows: the order is that of the manual.
var engineCases = []engineCase{
	{name: "nothing outside is read", shares: true, holds: func(d *desk) {
		secret, key := d.write(d.outside+"/secret", "secret"), d.write(d.home+"/.ssh/id_ed25519", "key")
		d.refused(d.flags, []string{"read", secret, "--", "read", key, "--", "list", d.outside}, gone...)
	}},
	{name: "nothing outside is written", shares: true, holds: func(d *desk) {
		file := d.write(d.outside+"/file", "as it was")
		d.mustWork("rewrite", file)
		d.fails(d.flags, []string{"write", file, "--", "write", d.outside + "/new", "--", "write", "/usr/new", "--", "write", "/etc/new"}, "ENOENT", "EACCES", "EROFS")
		if d.read(file) != "as it was" || exists(d.outside+"/new") {
			d.t.Error("something outside was written")
		}
	}},
	{name: "the project is written", shares: true, holds: func(d *desk) {
		d.behindWalls("echo made > made; mkdir sub; mv made sub/moved")
		if d.read(d.project+"/sub/moved") != "made\n" {
			d.t.Error("the project was not written")
		}
	}},
	{name: "home is private", shares: true, holds: func(d *desk) {
		d.behindWalls("echo x > ~/made && cat ~/made")
		if exists(d.home + "/made") {
			d.t.Error("home was written")
		}
	}},
	{name: "/tmp, /var/tmp and /dev/shm are private", shares: true, differs: instead("refused: TMPDIR is private", temporaryElsewhere), holds: func(d *desk) {
		outside := d.hostTemp() + "/file"
		d.must(os.WriteFile(outside, []byte("outside"), 0o644))
		d.refused(d.flags, []string{"read", outside}, gone...)
		for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
			name := dir + "/carrel-e2e-" + d.number()
			if d.behindWalls("echo inside > "+name+" && cat "+name) != "inside\n" || exists(name) {
				d.t.Errorf("%s is not private", dir)
			}
		}
	}},
	{name: "what is read-only stays so", flags: []string{"--read", "/var/lib/dpkg"}, holds: func(d *desk) {
		own := d.write(d.outside+"/own", "as it was")
		flags := append(d.flags, "--read", d.outside)
		d.refused(flags, []string{"rewrite", own}, "EROFS", "EACCES")
		d.sh("! mv "+own+" "+d.outside+"/other; ! chmod 777 "+own+"; ! rm -f "+own, flags...)
		if st, err := os.Stat(own); err != nil || st.Mode().Perm() != 0o600 {
			d.t.Errorf("what was shown read-only was changed: %v %v", st, err)
		}
	}},
	{name: "masks", flags: []string{"--deny", "secret.txt", "--deny", "hidden"}, refuses: landlockRefuses(carved), before: func(d *desk) { d.write(d.project+"/secret.txt", "secret") }, holds: func(d *desk) {
		file, below := d.write(d.project+"/secret.txt", "secret"), d.write(d.project+"/hidden/file", "secret")
		env := d.write(d.project+"/.env", "secret")
		d.refused(d.flags, []string{"read", file, "--", "read", below, "--", "list", d.project + "/hidden", "--", "read", env, "--", "opath", file}, gone...)
		d.sh("! mv secret.txt other; ! mv hidden other; ! rm -rf hidden; ! cp --reflink=auto .env other", d.flags...)
		if d.read(file) != "secret" || d.read(below) != "secret" || exists(d.project+"/other") {
			d.t.Error("what was masked was changed")
		}
	}},
	{name: "masks below what is read", before: func(d *desk) { d.write(d.outside+"/shown/secret/key", "secret") }, holds: masksBelowRead},
	{name: "carve-outs of what can be written", flags: []string{"--protect", "kept.txt"}, refuses: landlockRefuses(carved), before: func(d *desk) { d.write(d.project+"/kept.txt", "as it was") }, differs: also(nil, gvisorColumn, "held", belowWithHistory), holds: func(d *desk) {
		kept := d.write(d.project+"/sub/kept.txt", "as it was")
		flags := append(d.flags, "--protect", "sub/kept.txt")
		d.refused(flags, []string{"rewrite", kept}, "EROFS", "EACCES")
		d.sh("cat sub/kept.txt; ! mv sub/kept.txt x; ! mv sub x; ! rm sub/kept.txt; echo y > sub/other", flags...)
		if d.read(kept) != "as it was" || d.read(d.project+"/sub/other") != "y\n" {
			d.t.Error("what was protected was changed, or its neighbour was not")
		}
	}},
	{name: "protected names", refuses: landlockRefuses(carved), before: func(d *desk) { d.repository() }, differs: also(nil, gvisorColumn, "held", belowWithHistory), holds: protectedNames},
	{name: "links put in the way while it starts", flags: []string{"--deny", "sub/secret.txt"}, refuses: landlockRefuses(carved), before: func(d *desk) { d.write(d.project+"/sub/secret.txt", "secret") }, holds: linkInTheWay},
	{name: "no socket of the host", shares: true, differs: also(nil, gvisorColumn, "held", noSocketInSandbox), holds: func(d *desk) {
		paths := []string{d.runtime + "/bus", d.outside + "/agent.sock", d.project + "/server.sock"}
		var args []string
		for _, path := range paths {
			d.listen("unix", path)
			d.own(path)
			args = append(args, "--", "connect", path)
		}
		d.refused(append(d.flags, "--network", "open"), args[1:], "ENOENT", "EACCES", "ECONNREFUSED")
	}},
	{name: "no abstract socket of the host", shares: true, differs: also(also(nil, limaColumn, "held", noAbstractInMachine), gvisorColumn, "held", noAbstractInSandbox), holds: func(d *desk) {
		name := "carrel-e2e-" + d.number()
		d.listen("unix", "@"+name)
		for _, network := range []string{"closed", "local", "open"} {
			if network != "local" || !d.alone() {
				d.refused(append(d.flags, "--network", network), []string{"abstract", name}, "ECONNREFUSED", "EPERM", "EACCES")
			}
		}
	}},
	{name: "network closed", flags: []string{"--network", "closed"}, holds: func(d *desk) {
		d.refused(d.flags, []string{"tcp", portOf(d.listen("tcp4", "127.0.0.1:0"))}, "ENETUNREACH", "ECONNREFUSED", "EACCES")
	}},
	{name: "network local, with a port of the host", flags: []string{"--network", "local"}, refuses: landlockRefuses("network local"), holds: func(d *desk) {
		listed, other := portOf(d.listen("tcp4", "127.0.0.1:0")), portOf(d.listen("tcp4", "127.0.0.1:0"))
		d.refused(d.flags, []string{"tcp", listed}, "ECONNREFUSED")
		got := d.attack(append(d.flags, "--host-port", listed), "tcp", listed, "--", "tcp", other)
		if got != "ok "+greeting+"\nECONNREFUSED" {
			d.t.Errorf("the listed port and another: %q", got)
		}
	}},
	{name: "network local, with a port below 1024", flags: []string{"--network", "local", "--host-port", "80"}, refuses: map[string]string{"bubblewrap": "network port 80", "setuid bubblewrap": "network port 80", "landlock": "network local"}, holds: func(d *desk) {
		if got := d.attack(d.flags, "tcp", "80"); strings.Contains(got, "EACCES") {
			d.t.Errorf("the listed port: %q", got)
		}
	}},
	{name: "network filtered", flags: []string{"--network", "filtered"}, refuses: bothBubblewraps("network filtered"), holds: func(d *desk) {
		d.refused(d.flags, []string{"tcp", portOf(d.listen("tcp4", "127.0.0.1:0"))}, "ECONNREFUSED")
	}},
	{name: "processes outside are not there", shares: true, differs: instead("seen, and nothing else", processesSeen), holds: func(d *desk) {
		s := d.sleeper()
		pid := strconv.Itoa(s.Process.Pid)
		d.refused(d.flags, []string{"kill", pid, "0", "--", "read", "/proc/" + pid + "/environ"}, "ESRCH", "ENOENT")
		d.fails(d.flags, []string{"kill", pid, "9", "--", "ptrace", pid, "--", "procvm", pid}, "ESRCH", "EPERM")
		if !alive(s) {
			d.t.Error("the process outside is gone")
		}
	}},
	{name: "signals stay inside", differs: instead("held", signalsStay), holds: func(d *desk) {
		for _, target := range []string{"0", "-1"} {
			s := d.sleeper()
			r := d.world.run(append(d.flags, "--read", built.attack, "--", built.attack, "kill", target, "9", own("pid"))...)
			if strings.Contains(r.out, "NO WALLS") {
				d.t.Fatal("the walls are not up")
			}
			if r.signal == syscall.SIGKILL && r.code == -1 && !strings.Contains(r.err, "carrel: ") {
				r = d.world.run(append(d.flags, "--", "true")...) // carrel dies as its command does
			}
			if !alive(s) {
				d.t.Errorf("kill %s reached a process outside: %s", target, r)
			}
		}
	}},
	{name: "PID 1 is ours, and not readable", differs: also(instead("the host's; ours cannot be read or outlived", stageIsOurs), gvisorColumn, "held; to end it ends the workspace", firstInSandbox), holds: func(d *desk) {
		d.fails(d.flags, []string{"read", "/proc/1/environ", "--", "read", "/proc/1/mem", "--", "list", "/proc/1/root", "--", "read", "/proc/1/fd/3", "--", "ptrace", "1"}, "EACCES", "EPERM", "ENOENT")
		if out := d.behindWalls(onlyInside + "kill -9 1; kill -STOP 1; kill -TERM 1; kill -INT 1; sleep 0.1; echo alive"); out != "alive\n" {
			d.t.Errorf("signals to PID 1: %q", out)
		}
	}},
	{name: "no privilege, none to gain", differs: also(also(instead("held", noPrivilege), limaColumn, "held", withoutFilter), gvisorColumn, "held", noPrivilegeInSandbox), holds: func(d *desk) {
		const none = "0000000000000000"
		got := d.attack(d.flags, "status")
		if !strings.HasPrefix(got, "ok CapInh="+none+" CapPrm="+none+" CapEff="+none+" ") || !strings.HasSuffix(got, " CapAmb="+none+" NoNewPrivs=1 Seccomp=2") {
			d.t.Errorf("privileges: %s", got)
		}
	}},
	{name: "no descriptor leads out", shares: true, differs: instead("held", noDescriptor), holds: func(d *desk) {
		for _, fd := range strings.Fields(d.attack(d.flags, "fds"))[1:] {
			if n, _, _ := strings.Cut(fd, "="); n != "0" && n != "1" && n != "2" {
				d.t.Errorf("descriptor %s", fd)
			}
		}
	}},
	{name: "a smaller kernel", shares: true, differs: also(also(nil, limaColumn, "not held: it is another kernel", withoutFilter), gvisorColumn, "not held: it is another kernel", anotherKernel), holds: func(d *desk) {
		d.fails(d.flags, []string{"iouring", "--", "bpf", "--", "perf", "--", "keyctl", "--", "userfaultfd", "--", "fanotify", "--", "setns", "--", "mount", "--", "socket", "2", "3", "1"},
			"EPERM", "ENOSYS", "EPROTONOSUPPORT", "EAFNOSUPPORT", "ESOCKTNOSUPPORT", "EACCES")
	}},
	{name: "nested none", flags: []string{"--nested", "none"}, refuses: map[string]string{limaColumn: "nested none", gvisorColumn: "nested none"}, holds: func(d *desk) {
		d.fails(d.flags, []string{"in", "user", "euid"}, "EPERM", "ENOSPC")
	}},
	{name: "nested userns", flags: []string{"--nested", "userns"},
		refuses: map[string]string{"landlock": "nested userns", limaColumn: "nested userns", gvisorColumn: "nested userns"}, holds: func(d *desk) {
			if d.wrap == nil { // the whole system gives none there
				if got := d.attack(d.flags, "in", "user+pid", "euid"); got != "ok inside: ok 0" {
					d.t.Errorf("a user namespace inside: %q", got)
				}
			}
			d.fails(d.flags, []string{"in", "user+mnt", "euid"}, "EPERM", "ENOSPC")
		}},
	{name: "nested full", flags: []string{"--nested", "full"}, refuses: bothBubblewraps("nested full"), holds: func(d *desk) {
		if got := d.attack(d.flags, "in", "user+mnt", "mount"); got != "ok inside: ok" {
			d.t.Errorf("a mount inside: %q", got)
		}
	}},
	{name: "history on", shares: true, history: "on", refuses: noHistory, holds: func(d *desk) {
		d.write(d.project+"/kept", "as it was")
		d.behindWalls("echo x > made; echo y > kept; chmod 700 kept; rm -f kept; x=${TMPDIR:-/tmp}/x; touch $x && chmod 700 $x")
		if exists(d.project + "/kept") {
			d.t.Error("the change was not made")
		}
		d.plain(d.bin, "undo")
		if exists(d.project+"/made") || d.read(d.project+"/kept") != "as it was" {
			d.t.Error("the run was not taken back")
		}
	}},
	{name: "protected names, with history on", history: "on", refuses: noHistory, before: func(d *desk) { d.repository() }, holds: protectedNames},
	{name: "carve-outs of what can be written, with history on", history: "on", flags: []string{"--protect", "sub/kept.txt"}, refuses: noHistory,
		before: func(d *desk) { d.write(d.project+"/sub/kept.txt", "as it was") }, holds: carveOuts},
	{name: "programs.allow", before: func(d *desk) { d.allowed("/bin/true", "/usr/bin/touch") },
		refuses: alsoBoxes(bothBubblewraps("programs allow"), "programs allow"), holds: func(d *desk) {
			if r := d.world.run(append(d.flags, "--", "/bin/true")...); r.code != 0 {
				d.t.Errorf("a listed program: %s", r)
			}
		}},
	{name: "devices", flags: []string{"--device", "/dev/urandom"},
		refuses: alsoBoxes(map[string]string{"bubblewrap": "devices /dev/urandom", "setuid bubblewrap": "devices /dev/urandom"},
			"devices /dev/urandom"),
		holds: func(d *desk) {
			d.behindWalls("head -c1 /dev/urandom >/dev/null")
		}},
	{name: "limit of processes", flags: []string{"--pids", "20"},
		refuses: map[string]string{"setuid bubblewrap": "limit of processes", "landlock": "limit of processes", limaColumn: "limit of processes", gvisorColumn: "limit of processes"},
		holds: func(d *desk) {
			if n := d.attack(d.flags, "forkbomb"); n != "EAGAIN" {
				d.t.Errorf("a fork bomb: %s", n)
			}
		}},
	{name: "generated files", shares: true, differs: instead("in home; the system's own in /etc", generatedAtHome), holds: func(d *desk) {
		if got := d.behindWalls("id -un; [ -w /etc/passwd ] || echo fixed; ls -d /run/carrel/bin/xdg-open"); !strings.Contains(got, "fixed\n/run/carrel/bin/xdg-open\n") {
			d.t.Errorf("%q", got)
		}
	}},
	{name: "statuses and signals of the command", shares: true, holds: func(d *desk) {
		if r := d.world.run(append(d.flags, "--", "sh", "-c", "exit 3")...); r.code != 3 {
			d.t.Errorf("exit 3: %s", r)
		}
		if r := d.world.run(append(d.flags, "--", "sh", "-c", "kill -TERM $$")...); r.signal != syscall.SIGTERM && r.code != 143 {
			d.t.Errorf("SIGTERM: %s", r)
		}
	}},
	{name: "an interrupt of the whole group is the command's", holds: func(d *desk) {
		cmd := d.command(d.bin, append([]string{"run"}, append(d.flags, "--", "bash", "-c", "trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done")...)...)
		out, err := cmd.StdoutPipe()
		d.must(err)
		d.must(cmd.Start())
		waitFor(d.t, out, "ready\n")
		d.must(syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
		waitFor(d.t, out, "caught\n")
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 7 {
			d.t.Errorf("the status is not the command's: %v", err)
		}
	}},
	{name: "nothing is left of a run that is killed", holds: nothingLeft,
		differs: also(map[string]difference{containerColumn: {"held", noContainerLeft}}, limaColumn, "held", nothingInMachine)},
}

// ours says whether nothing but our own programs makes mounts.
func (d *desk) ours() bool {
	return slices.Contains(d.flags, "namespaces") || slices.Contains(d.flags, containerColumn) || slices.Contains(d.flags, limaColumn)
}

// alsoBoxes adds what a container, a machine and a sandbox refuse.
func alsoBoxes(others map[string]string, dimension string) map[string]string {
	others[containerColumn], others[limaColumn], others[gvisorColumn] = dimension, dimension, dimension
	return others
}

// noHistory is what makes the walls by another's mounts.
var noHistory = map[string]string{"bubblewrap": "history on", "setuid bubblewrap": "history on"}

func protectedNames(d *desk) {
	before := d.snapshot()
	d.behindWalls("echo id > .git/hooks/pre-commit; git config alias.x '!id'; mv .git/hooks .git/h; mv .git old; echo two > file; git commit -qam two")
	if d.snapshot() != before || strings.Count(d.outsideSh("git log --oneline"), "\n") != 2 {
		d.t.Error("git would run something else now, or a commit did not work")
	}
}

func carveOuts(d *desk) {
	kept := d.project + "/sub/kept.txt"
	d.refused(d.flags, []string{"rewrite", kept}, "EROFS", "EACCES", "EBUSY")
	d.sh("cat sub/kept.txt; ! mv sub/kept.txt x; ! mv sub x; ! rm sub/kept.txt; ! chmod 777 sub/kept.txt; ! ln sub/kept.txt other; echo y > sub/other", d.flags...)
	if st, err := os.Stat(kept); err != nil || st.Mode().Perm() != 0o600 || d.read(kept) != "as it was" || d.read(d.project+"/sub/other") != "y\n" {
		d.t.Error("what was protected was changed, or its neighbour was not")
	}
}

// linkInTheWay: while a run starts, what works in the same project already puts
// a link out of it where something is to be mounted. The start may fail; what
// the link leads to is never shown, and nothing in it changes. bubblewrap
// looks whether a mask's place is there, and then calls creat: by a link in
// between it can be made to leave an empty file of that name somewhere, or to
// empty one (docs/engines.md).
func linkInTheWay(d *desk) {
	secret := d.write(d.project+"/sub/secret.txt", "secret")
	lure := d.outside + "/lure"
	outside := d.write(lure+"/outside", "OUTSIDE")
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Rename(d.project+"/sub", d.project+"/away")
				_ = os.Symlink(lure, d.project+"/sub")
				time.Sleep(200 * time.Microsecond)
				_ = os.Remove(d.project + "/sub")
				_ = os.Rename(d.project+"/away", d.project+"/sub")
				time.Sleep(6 * time.Millisecond)
			}
		}
	}()
	ran := 0
	tries := 40
	if slices.Contains(d.flags, containerColumn) || slices.Contains(d.flags, limaColumn) {
		tries = 8 // each takes longer
	} else if slices.Contains(d.flags, gvisorColumn) {
		tries = 4
	}
	for range tries {
		r := d.world.run(append(d.flags, "--", "sh", "-c", "echo ran; cat sub/outside")...)
		if strings.Contains(r.out, "OUTSIDE") {
			d.t.Errorf("what lies outside was shown: %s", r)
			break
		}
		if strings.Contains(r.out, "ran") {
			ran++
		}
	}
	close(stop)
	<-done
	if ran == 0 {
		d.t.Error("no run got through: nothing was tried")
	}
	if made, err := os.ReadFile(lure + "/secret.txt"); err == nil && (len(made) > 0 || d.ours()) {
		d.t.Errorf("made where the link leads: %q", made)
	}
	if _, err := os.Lstat(d.project + "/away"); err == nil {
		secret = d.project + "/away/secret.txt" // a mount point that was made in between keeps the name
	}
	emptied := d.read(secret) == "" && !d.ours()
	if hidden, out := d.read(secret), d.read(outside); hidden != "secret" && !emptied || out != "OUTSIDE" {
		d.t.Errorf("a file was changed: %s has %q, %s has %q", secret, hidden, outside, out)
	}
}

// nothingLeft ends runs by SIGKILL of each of their processes, and of the first
// one while the others are stopped.
func nothingLeft(d *desk) {
	before := d.outsideSh("find . | sort")
	depths := []int{0, 1, 2, -2}
	if d.alone() {
		depths = append(depths, 3) // there is a guard between
	}
	for _, depth := range depths {
		cmd := d.command(d.bin, append([]string{"run"}, append(d.flags, "--", "bash", "-c", "echo ready; (setsid sleep 300 &); sleep 300")...)...)
		out, err := cmd.StdoutPipe()
		d.must(err)
		d.must(cmd.Start())
		waitFor(d.t, out, "ready\n")
		victim := cmd.Process.Pid
		for range depth {
			victim = childOf(d.t, victim)
		}
		for range -depth {
			victim = childOf(d.t, victim)
			d.must(syscall.Kill(victim, syscall.SIGSTOP))
		}
		if depth < 0 {
			victim = cmd.Process.Pid
		}
		d.must(syscall.Kill(victim, syscall.SIGKILL))
		_ = cmd.Wait()
		eventually(d.t, "the processes are gone", func() bool { return len(d.processes()) == 0 })
	}
	if after := d.outsideSh("find . | sort"); after != before {
		d.t.Errorf("the project was\n%sand is\n%s", before, after)
	}
	d.plain(d.bin, "ps")
	d.litter = true // what a killed supervisor leaves in its runtime directory is swept
}
