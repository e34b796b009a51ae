//go:build linux

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// limaColumn is the backend lima: another kernel instead of walls. Its rows have the history on, which it
// does not do without, and the limactl that is a script.
const limaColumn = "lima"

// limaSettings are what a person has to say of machines.
const limaSettings = "lima: {image: /images/debian.qcow2}\n"

// inMachine are the flags.
var inMachine = []string{"--backend", "lima"}

// copyLimactl puts the limactl that is a script into a directory.
func copyLimactl(to string) (err error) {
	for _, name := range []string{"limactl", "mounts.py"} {
		err = errors.Join(err, copyFile("../internal/lima/testdata/"+name, filepath.Join(to, name), 0o755))
	}
	return err
}

// limactlCaps are what that script takes to make a machine as an ordinary user.
var limactlCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_CHROOT, unix.CAP_SYS_PTRACE, unix.CAP_NET_ADMIN,
	unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL, unix.CAP_CHOWN, unix.CAP_SETFCAP}

// machined is a world with the limactl that is a script, for an ordinary user: Lima refuses root.
func machined(t *testing.T) *world {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	w := bareWorld(t, ordinary(t))
	own, machines, relay := w.base+"/limactl", w.base+"/lima", w.base+"/bin/carrel-relay"
	w.mkdir(own, 0o755)
	w.mkdir(machines, 0o755)
	w.must(errors.Join(copyLimactl(own), copyFile(filepath.Join(filepath.Dir(built.carrel), "carrel-relay"), relay, 0o755)))
	t.Cleanup(func() { // before the world is left, which looks for what still runs
		_ = exec.Command("pkill", "-KILL", "-f", own+"/mounts.py").Run() // which keeps machines
		w.must(os.Remove(relay))
	})
	w.setenv("LIMA_HOME", machines)
	for i, e := range w.env {
		if rest, ok := strings.CutPrefix(e, "PATH="); ok {
			w.env[i] = "PATH=" + own + ":" + rest
		}
	}
	w.wrap = func(cmd *exec.Cmd) { cmd.SysProcAttr.AmbientCaps = limactlCaps }
	for _, name := range pageAgents {
		w.script(machines+"/_programs/"+name, "#!/bin/bash\n"+obedient+"\n")
	}
	w.config(limaSettings)
	return w
}

// also adds what a column has in place of the others.
func also(others map[string]difference, column, cell string, holds func(d *desk)) map[string]difference {
	if others == nil {
		others = make(map[string]difference)
	}
	others[column] = difference{cell, holds}
	return others
}

// noAbstractInMachine: an open network is another template, and so another machine.
func noAbstractInMachine(d *desk) {
	name := "carrel-e2e-" + d.number()
	d.listen("unix", "@"+name)
	for _, network := range []string{"closed", "local", "open"} {
		if network == "open" {
			d.fine("lima", "recreate", "--network", network)
		}
		d.refused(append(d.flags, "--network", network), []string{"abstract", name}, "ECONNREFUSED", "EPERM", "EACCES")
	}
}

// withoutFilter: a command in a machine has no privilege, and its kernel, which is not this host's, is
// not kept from it.
func withoutFilter(d *desk) {
	const none = "0000000000000000"
	got := d.attack(d.flags, "status")
	if !strings.HasPrefix(got, "ok CapInh="+none+" CapPrm="+none+" CapEff="+none+" ") ||
		!strings.HasSuffix(got, " CapAmb="+none+" NoNewPrivs=1 Seccomp=0") {
		d.t.Errorf("privileges: %s", got)
	}
}

// nothingInMachine ends a run by SIGKILL of its supervisor.
func nothingInMachine(d *desk) {
	d.behindWalls("true") // which makes the machine
	before := d.outsideSh("find . | sort")
	marked := "sleep 300." + d.number()
	left := func() bool { return exec.Command("pgrep", "-f", marked).Run() == nil }
	cmd := d.command(d.bin, append([]string{"run"}, append(d.flags, "--", "bash", "-c", "echo ready; (setsid "+marked+" &); "+marked)...)...)
	out, err := cmd.StdoutPipe()
	d.must(err)
	d.must(cmd.Start())
	waitFor(d.t, out, "ready\n")
	if !left() {
		d.t.Error("canary: the command is not seen")
	}
	d.must(syscall.Kill(cmd.Process.Pid, syscall.SIGKILL))
	_ = cmd.Wait()
	eventually(d.t, "the commands are gone", func() bool { return !left() })
	if after := d.outsideSh("find . | sort"); after != before {
		d.t.Errorf("the project was\n%sand is\n%s", before, after)
	}
	d.litter = true // what the killed supervisor left in its runtime directory is swept by the next
	d.behindWalls("true")
	d.litter = false
}
