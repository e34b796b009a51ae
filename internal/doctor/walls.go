package doctor

import (
	"fmt"
	"strings"
	"syscall"
)

// mountAPI tries what every workspace is built with: open_tree, move_mount,
// mount_setattr and fsopen, and a new root.
func (p *patient) mountAPI() Check {
	const name = "mounts"
	if p.noUser || p.noMounts {
		return notTried(name, true, "they need a mount namespace")
	}
	c := Check{Name: name, Needed: true, Status: OK, Found: "the new mount API works: open_tree, move_mount, mount_setattr, fsopen"}
	err := p.Try(TrialMounts)
	if err == nil {
		return c
	}
	p.noMounts = true
	c.Status, c.Found, c.Means = Missing, said(err), "nothing can be put behind walls"
	switch errnoOf(err) {
	case syscall.ENOSYS:
		c.Fix = p.newerKernel(floorRun)
	case syscall.EPERM, syscall.EACCES:
		c.Fix = p.permissionFix(errnoOf(err))
	}
	return c
}

// proc tries a fresh procfs. The kernel refuses one where parts of the procfs
// in sight are covered, as containers cover them.
func (p *patient) proc() Check {
	const name = "fresh /proc"
	if p.noUser || p.noMounts {
		return notTried(name, true, "it needs mounts")
	}
	c := Check{Name: name, Needed: true, Status: OK, Found: "can be mounted"}
	err := p.Try(TrialProc)
	if err == nil {
		return c
	}
	c.Status, c.Found, c.Means = Missing, said(err), "the processes of the host would be in sight, so nothing is started"
	switch {
	case p.nested():
		c.Fix = "start the outer workspace with --nested full"
	case p.container() != "":
		c.Fix = p.containerFix()
	default:
		c.Fix = "something is mounted over a part of /proc: findmnt -R /proc shows it"
	}
	return c
}

func (p *patient) filter() Check {
	const name = "system call filter"
	if p.noUser || p.noMounts {
		return notTried(name, true, "it is tried behind walls")
	}
	c := Check{Name: name, Needed: true, Status: OK, Found: "seccomp takes the program"}
	err := p.Try(TrialFilter)
	if err == nil {
		return c
	}
	c.Status, c.Found, c.Means = Missing, said(err), "nothing can be put behind walls"
	switch errnoOf(err) {
	case syscall.EINVAL, syscall.ENOSYS:
		c.Fix = "use a kernel with CONFIG_SECCOMP_FILTER=y"
	case 0:
		c.Fix = "use a machine with an amd64 or arm64 processor"
	}
	return c
}

// overlay goes on without an errno: the stage reports a refused overlay as a
// note, since a workspace goes on without one too.
func (p *patient) overlay() Check {
	const name = "overlay file system"
	if p.noUser || p.noMounts {
		return notTried(name, false, "it needs mounts")
	}
	err := p.Try(TrialOverlay)
	if err == nil {
		return Check{Name: name, Status: OK, Found: "works in a user namespace"}
	}
	c := Check{Name: name, Status: Weak, Found: said(err), Means: "caches of package managers can be read and not added to"}
	major, minor, known := version(p.Release)
	switch kinds, readErr := p.Read("/proc/filesystems"); {
	case known && olderThan(major, minor, floorOverlay):
		c.Fix = "use Linux " + floorOverlay + " or newer"
	case readErr == nil && !strings.Contains(kinds, "\toverlay\n"):
		c.Fix = "sudo modprobe overlay"
	default:
		c.Fix = "put the state directory on ext4, xfs, btrfs or tmpfs: set XDG_STATE_HOME"
	}
	return c
}

// newerKernel names the version that is needed, where this one is older.
func (p *patient) newerKernel(floor string) string {
	if major, minor, ok := version(p.Release); ok && !olderThan(major, minor, floor) {
		return fmt.Sprintf("kernel %s should have it: whatever filters system calls here (a container, systemd) has to let it through", p.Release)
	}
	return "use Linux " + floor + " or newer"
}
