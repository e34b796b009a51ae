package doctor

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// mountAPI tries what every workspace is built with: open_tree, move_mount,
// mount_setattr and fsopen, and a new root.
func (p *patient) mountAPI() Check {
	c := Check{ID: "mounts", Name: "mounts", Needed: true, Status: OK, Found: "the new mount API works: open_tree, move_mount, mount_setattr, fsopen"}
	if p.noUser || p.noMounts {
		return notTried(c, "they need a mount namespace")
	}
	err := p.Try(TrialMounts)
	if err == nil {
		return c
	}
	p.noMounts = true
	return c.refused(Missing, err, "nothing can be put behind walls").with(p.mountRemedy(err))
}

func (p *patient) mountRemedy(err error) remedy {
	switch errnoOf(err) {
	case syscall.ENOSYS:
		return p.newerKernel(floorRun)
	case syscall.EPERM, syscall.EACCES:
		return p.permissionRemedy(errnoOf(err))
	case syscall.ENOSPC:
		return remedy{cause: CauseMounts, fix: "there are as many mounts as fs.mount-max allows: take some away (findmnt), or raise it", commands: setting("fs.mount-max", "200000")}
	}
	return p.resourceRemedy(err)
}

// proc tries a fresh procfs. The kernel refuses one where parts of the procfs
// in sight are covered, as containers cover them; commands then get another.
func (p *patient) proc() Check {
	c := Check{ID: "proc", Name: "fresh /proc", Needed: true, Status: OK, Found: "can be mounted"}
	if p.noUser || p.noMounts {
		return notTried(c, "it needs mounts")
	}
	err := p.Try(TrialProc)
	if err == nil {
		return c
	}
	if without := p.Try(TrialNoProc); without == nil {
		c.Needed = false
		c = c.refused(Weak, err, "commands run with a /proc that is all but empty: ps, top and debuggers do not work, programs do not find themselves (/proc/self), bash has no <(...); where /proc/sys is read-only, too, there is no filtered network")
	} else {
		c = c.refused(Missing, err, "nothing can be put behind walls")
	}
	return c.with(p.procRemedy(err))
}

// emptyInProc are made to be mounted on and hide nothing, as the kernel knows.
var emptyInProc = []string{"/proc/sys/fs/binfmt_misc", "/proc/fs/nfsd"}

func (p *patient) procRemedy(err error) remedy {
	errno := errnoOf(err)
	if errno != syscall.EPERM && errno != syscall.EACCES {
		return p.mountRemedy(err)
	}
	over := slices.DeleteFunc(coversOf(p.mounts(), "/proc"), func(at string) bool { return slices.Contains(emptyInProc, at) })
	switch {
	case p.nested():
		return p.nestedRemedy()
	case p.container() != "":
		return p.containerRemedy()
	case len(over) == 0:
		return remedy{cause: CauseCovered, fix: "something is mounted over a part of /proc, or /proc is not the machine's own: findmnt -R /proc shows it", commands: []string{"findmnt -R /proc"}}
	}
	r := remedy{cause: CauseCovered, fix: fmt.Sprintf("%d mounts cover parts of /proc: take them away, unless they hide something on purpose", len(over))}
	for i := len(over) - 1; i >= 0; i-- {
		r.commands = append(r.commands, "sudo umount "+quoted(over[i]))
	}
	return r
}

func (p *patient) filter() Check {
	c := Check{ID: "filter", Name: "system call filter", Needed: true, Status: OK, Found: "seccomp takes the program"}
	if p.noUser || p.noMounts {
		return notTried(c, "it is tried behind walls")
	}
	err := p.Try(TrialFilter)
	if err == nil {
		return c
	}
	return c.refused(Missing, err, "nothing can be put behind walls").with(p.filterRemedy(err))
}

func (p *patient) filterRemedy(err error) remedy {
	switch errnoOf(err) {
	case syscall.EINVAL, syscall.ENOSYS:
		if r, ok := p.otherKernel(); ok {
			return r
		}
		return remedy{cause: CauseKernel, fix: "use a kernel with CONFIG_SECCOMP_FILTER=y"}
	case syscall.EPERM, syscall.EACCES:
		return p.permissionRemedy(errnoOf(err))
	case 0:
		return remedy{cause: CauseProcessor, fix: "use a machine with an amd64 or arm64 processor"}
	}
	return p.resourceRemedy(err)
}

const withoutHistory = "commands run with --history off only: changes are neither decided nor recorded one by one, and there is no undo"

// history tries what the broker needs: a filter with a listener that holds
// callers through signals.
func (p *patient) history() Check {
	c := Check{ID: "history", Name: "history of changes", Status: OK, Found: "changes can be stopped to be decided and recorded"}
	if p.noUser || p.noMounts {
		return notTried(c, "it is tried behind walls")
	}
	err := p.Try(TrialHistory)
	if err == nil {
		return c
	}
	c = c.refused(Weak, err, withoutHistory)
	switch errnoOf(err) {
	case syscall.EBUSY:
		if p.nested() {
			return c.with(remedy{cause: CauseNested, fix: "run the command itself, it is behind walls here; or start the outer workspace with --nested full --history off"})
		}
		return c.with(remedy{cause: CauseListener, fix: "a program around this one (a sandbox, a container manager) listens to system calls already, and the kernel allows only one: start carrel outside of it, or run without the history",
			commands: []string{"carrel run --history off -- $SHELL"}})
	case syscall.EINVAL:
		if _, other := p.otherKernel(); !other {
			return c.with(p.newerKernel(floorHistory))
		}
	}
	return c.with(p.filterRemedy(err))
}

// memory asks whether the broker can read what a caller points to.
func (p *patient) memory() Check {
	c := Check{ID: "memory", Name: "memory of callers", Status: OK, Found: "can be read"}
	if p.noUser {
		return notTried(c, "it is tried with a user namespace")
	}
	scope := p.sysctl("kernel.yama.ptrace_scope")
	if scope != "" {
		c.Found += ", Yama's ptrace_scope is " + scope
	}
	err := p.Memory()
	if err == nil {
		return c
	}
	c = c.refused(Weak, err, withoutHistory+"; no debugger works inside")
	switch errno := errnoOf(err); {
	case errno == syscall.EPERM && scope == "3":
		return c.with(remedy{cause: CauseYama, fix: "Yama forbids it to everybody, until the next boot: set it to 2 or less where it is set, then reboot",
			commands: []string{"grep -rs ptrace_scope /etc/sysctl.conf /etc/sysctl.d /usr/lib/sysctl.d", "echo kernel.yama.ptrace_scope=1 | sudo tee -a " + sysctlFile, "sudo reboot"}})
	case errno == syscall.EPERM && p.container() != "":
		return c.with(p.containerRemedy())
	case errno == syscall.EPERM || errno == syscall.EACCES:
		return c.with(p.permissionRemedy(errno))
	case errno == syscall.ENOSYS:
		if r, ok := p.otherKernel(); ok {
			return c.with(r)
		}
		return c.with(remedy{cause: CauseKernel, fix: "use a kernel with CONFIG_CROSS_MEMORY_ATTACH=y"})
	}
	return c.with(p.resourceRemedy(err))
}

// overlay goes on without an errno: the stage reports a refused overlay as a
// note, since a workspace goes on without one too.
func (p *patient) overlay() Check {
	c := Check{ID: "overlay", Name: "overlay file system", Status: OK, Found: "works in a user namespace"}
	if p.noUser || p.noMounts {
		return notTried(c, "it needs mounts")
	}
	err := p.Try(TrialOverlay)
	if err == nil {
		return c
	}
	c = c.refused(Weak, err, "caches of package managers can be read and not added to")
	major, minor, known := version(p.Release)
	switch kinds, readErr := p.Read("/proc/filesystems"); {
	case known && olderThan(major, minor, floorOverlay):
		return c.with(remedy{cause: CauseKernel, fix: "use Linux " + floorOverlay + " or newer"})
	case readErr == nil && !strings.Contains(kinds, "\toverlay\n"):
		return c.with(remedy{cause: CauseKernel, fix: "load the module", commands: []string{"sudo modprobe overlay"}})
	}
	return c.with(remedy{fix: "put the state directory on ext4, xfs, btrfs or tmpfs: set XDG_STATE_HOME"})
}

// newerKernel names the version that is needed, where this one is older.
func (m *Machine) newerKernel(floor string) remedy {
	if r, ok := m.otherKernel(); ok {
		return r
	}
	if major, minor, ok := version(m.Release); ok && !olderThan(major, minor, floor) {
		return remedy{cause: CauseFilter, fix: fmt.Sprintf("kernel %s should have it: whatever filters system calls here (a container, systemd) has to let it through", m.Release)}
	}
	r := remedy{cause: CauseKernel, fix: "use Linux " + floor + " or newer"}
	if m.wsl() == 2 {
		r.fix += ", in PowerShell: wsl --update"
	}
	return r
}
