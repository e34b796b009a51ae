//go:build linux

package e2e

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// gvisorColumn is the backend gvisor: a kernel of its own instead of this host's. Its rows have the history on,
// which it does not do without.
const gvisorColumn = "gvisor"

// belowWithHistory is in the row with the history on: a sandbox has no other.
func belowWithHistory(*desk) {}

// staysInSandbox is a desk with a workspace that stays, for the rows that share it: a start costs more
// than all that such a row does.
func staysInSandbox(t *testing.T, c column) *desk {
	d := newDesk(t, c, engineCase{})
	attack := []string{"--read", built.attack}
	s := d.stays("shared", append(d.flags, attack...)...)
	d.reword = func(words []string) []string {
		at := slices.Index(words, "--")
		flags := words[1:at]
		if !slices.Equal(flags, d.flags) && !slices.Equal(flags, append(d.flags[:len(d.flags):len(d.flags)], attack...)) {
			d.t.Fatalf("the shared workspace was not started with %q", flags)
		}
		return s.words("exec", words[at:]...)
	}
	return d
}

// sharedBy is the desk for a row that shares it, and nil for others.
func (d *desk) sharedBy(t *testing.T, row engineCase) *desk {
	if d == nil || !row.shares {
		return nil
	}
	w := *d.world
	w.t = t
	return &desk{world: &w, flags: d.flags}
}

func noSocketInSandbox(d *desk) {
	paths := []string{d.runtime + "/bus", d.outside + "/agent.sock", d.project + "/server.sock"}
	var args []string
	for _, path := range paths {
		d.listen("unix", path)
		d.own(path)
		args = append(args, "--", "connect", path)
	}
	d.refused(d.flags, args[1:], "ENOENT", "EACCES", "ECONNREFUSED")
	for _, path := range paths {
		_ = os.Remove(path)
	}
}

func noAbstractInSandbox(d *desk) {
	name := "carrel-e2e-" + d.number()
	d.listen("unix", "@"+name)
	d.refused(d.flags, []string{"abstract", name}, "ECONNREFUSED", "EPERM", "EACCES")
}

// firstInSandbox: the first process cannot be read. To end it ends the workspace and no more.
func firstInSandbox(d *desk) {
	d.fails(d.flags, []string{"read", "/proc/1/environ", "--", "read", "/proc/1/mem", "--", "list", "/proc/1/root", "--",
		"read", "/proc/1/fd/3", "--", "ptrace", "1"},
		"EACCES", "EPERM", "ENOENT")
	s := d.sleeper()
	r := d.world.run(append(d.flags, "--", "bash", "-c", onlyInside+"kill -9 1; sleep 60; echo alive")...)
	if strings.Contains(r.out, "NO WALLS") || r.out == "alive\n" || !alive(s) {
		d.t.Errorf("signals to PID 1: %s", r)
	}
}

// noPrivilegeInSandbox: gVisor does not show all of what a process has, so that a set-user-id program shows it.
func noPrivilegeInSandbox(d *desk) {
	const none = "0000000000000000"
	if got := d.attack(d.flags, "status"); !strings.HasPrefix(got, "ok CapInh="+none+" CapPrm="+none+" CapEff="+none+" ") {
		d.t.Errorf("privileges: %s", got)
	}
	suid := d.base + "/bin/suid"
	d.must(os.MkdirAll(suid, 0o755))
	suid += "/attack"
	d.must(copyFile(built.attack, suid, 0o755))
	d.must(os.Chmod(suid, 0o755|os.ModeSetuid))
	d.mustRun(suid, "ok 0")
	if r := d.world.run(append(d.flags, "--read", suid, "--", suid, "euid")...); r.out != "ok "+strconv.Itoa(plainUID)+"\n" {
		d.t.Errorf("a set-user-id program: %s", r)
	}
	d.must(os.RemoveAll(d.base + "/bin/suid"))
}

// anotherKernel: what it has of system calls is not this host's.
func anotherKernel(d *desk) {
	d.fails(d.flags, []string{"iouring", "--", "bpf", "--", "userfaultfd", "--", "fanotify", "--", "setns", "--", "mount", "--",
		"socket", "2", "3", "1"},
		"EPERM", "ENOSYS", "EPROTONOSUPPORT", "EAFNOSUPPORT", "ESOCKTNOSUPPORT", "EACCES")
	if got := d.behindWalls("uname -r"); got != "4.4.0\n" {
		d.t.Errorf("the kernel: %q", got)
	}
}
