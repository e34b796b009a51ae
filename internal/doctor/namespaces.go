package doctor

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"carrel/internal/incontainer"
)

// userLimit is what a limit is set to that was zero: most machines have more.
const userLimit = 15000

func (p *patient) userNamespaces() Check {
	c := Check{ID: "user-namespaces", Name: "user namespaces", Needed: true, Status: OK, Found: "can be made, with this uid mapped"}
	err := p.Namespace()
	if err == nil {
		return c
	}
	p.noUser = true
	return c.refused(Missing, err, "carrel has no walls of its own; engines bubblewrap and landlock hold some policies, and less").with(p.namespaceRemedy(err, User))
}

// withoutNamespaces says what is left where there are none.
func withoutNamespaces(p *patient) Check {
	c := Check{ID: "without-namespaces", Name: "walls without namespaces", Status: OK, Found: "not needed"}
	if !p.noUser && !p.noMounts {
		return c
	}
	abi, err := p.Landlock()
	switch {
	case err != nil:
		c.Status, c.Found = Missing, "engine landlock takes Landlock, which cannot be asked for"
		return c
	case abi < 6:
		c.Status, c.Found, c.Means = Missing, fmt.Sprintf("engine landlock takes Landlock ABI 6, and this is %d", abi), noEngine
		return c.with(p.newerKernel(floorScopes))
	case p.UID == 0:
		c.Status, c.Found, c.Means = Missing, "engine landlock does not hold root", noEngine
		return c.with(remedy{cause: CauseRoot, fix: incontainer.AsUser(p.container())})
	}
	c.Found = "engine landlock holds commands of this user, with the history and undo"
	c.Status = Weak
	c.Means = "no filtered and no local network, no desktop, no Unix sockets, no /tmp; names and sizes of files outside can be asked for"
	return c
}

const noEngine = "no command can run behind walls, unless bubblewrap makes some"

// otherNamespaces tries the kinds together, and apart only where that fails.
func (p *patient) otherNamespaces() Check {
	c := Check{ID: "namespaces", Name: "mount, pid, ipc, uts and cgroup namespaces", Needed: true, Status: OK, Found: "can be made"}
	if p.noUser {
		return notTried(c, "they need a user namespace")
	}
	kinds := []Kind{Mnt, PID, IPC, UTS, Cgroup}
	err := p.Namespace(kinds...)
	if err == nil {
		return c
	}
	p.noMounts = true
	c = c.refused(Missing, err, "nothing can be put behind walls").with(p.namespaceRemedy(err, User))
	for _, k := range kinds {
		if err := p.Namespace(k); err != nil {
			c.Found, c.Errno = string(k)+" namespace "+said(err), errnoNames[errnoOf(err)]
			return c.with(p.namespaceRemedy(err, k))
		}
	}
	return c
}

func (p *patient) networkNamespace() Check {
	c := Check{ID: "network-namespaces", Name: "network namespaces", Needed: true, Status: OK, Found: "can be made, with a loopback interface"}
	if p.noUser {
		return notTried(c, "they need a user namespace")
	}
	err := p.Namespace(Net)
	if err == nil && !p.noMounts {
		err = p.Try(TrialLoopback)
	}
	if err == nil {
		return c
	}
	return c.refused(Missing, err, "only --network open works: the others need a network of their own").with(p.namespaceRemedy(err, Net))
}

// namespaceRemedy says what lets this user make a namespace, by what the kernel
// answered.
func (p *patient) namespaceRemedy(err error, kind Kind) remedy {
	switch errnoOf(err) {
	case syscall.ENOSPC, syscall.EUSERS:
		return p.limitRemedy(kind)
	case syscall.EINVAL, syscall.ENOSYS:
		if r, ok := p.otherKernel(); ok {
			return r
		}
		return remedy{cause: CauseKernel, fix: fmt.Sprintf("use a kernel with %s=y", kernelOption(kind))}
	case syscall.EPERM, syscall.EACCES:
		return p.permissionRemedy(errnoOf(err))
	}
	return p.resourceRemedy(err)
}

// resourceRemedy is for answers that have nothing to do with rights.
func (m *Machine) resourceRemedy(err error) remedy {
	switch errnoOf(err) {
	case syscall.ENOMEM, syscall.EAGAIN:
		return remedy{cause: CauseMemory, fix: "free some memory or processes, or raise the limits of the container or session (ulimit -u, memory)", commands: []string{"free -h", "ulimit -u"}}
	case syscall.ETIMEDOUT:
		return remedy{cause: CauseTime, fix: "something hangs: see the kernel log", commands: []string{"sudo dmesg | tail"}}
	}
	return remedy{}
}

// kernelOption is the build option of a kind of namespace.
func kernelOption(kind Kind) string {
	switch kind {
	case Mnt:
		return "CONFIG_NAMESPACES"
	case Cgroup:
		return "CONFIG_CGROUPS"
	}
	return "CONFIG_" + strings.ToUpper(string(kind)) + "_NS"
}

// limitRemedy is for a count that is used up or zero. Inside our own walls that
// is how the nesting level is held.
func (m *Machine) limitRemedy(kind Kind) remedy {
	if m.nested() {
		return m.nestedRemedy()
	}
	name, to := fmt.Sprintf("user.max_%s_namespaces", kind), userLimit
	r := remedy{cause: CauseLimit, fix: "it is the limit of namespaces"}
	switch now, err := strconv.Atoi(m.sysctl(name)); {
	case err == nil && now > 0:
		to = max(to, 2*now)
		r.fix = fmt.Sprintf("the limit of %d is used up: end what holds them (lsns -t %s), or raise it", now, kind)
	case err == nil:
		r.fix = "the limit is 0, so there can be none: raise it"
	}
	r.commands = setting(name, strconv.Itoa(to))
	return r
}

// permissionRemedy goes from what is certain to what is likely.
func (p *patient) permissionRemedy(errno syscall.Errno) remedy {
	if r, ok := p.otherKernel(); ok {
		return r
	}
	confined := p.confinedBy()
	switch {
	case p.nested():
		return p.nestedRemedy()
	case p.UID != 0 && p.sysctl("kernel.unprivileged_userns_clone") == "0":
		return remedy{cause: CauseSwitch, fix: "a setting forbids them for users: allow them", commands: setting("kernel.unprivileged_userns_clone", "1")}
	case p.container() != "" && (p.filtered() || confined != "" || !p.apparmorRestricts()):
		return p.containerRemedy()
	case p.apparmorRestricts() && confined == "":
		return p.apparmorRemedy()
	case p.filtered():
		return remedy{cause: CauseFilter, fix: "a system call filter of whatever started this shell refuses it: start carrel outside of it (a systemd unit: RestrictNamespaces=no, and no SystemCallFilter= that excludes @mount)"}
	case confined != "":
		return remedy{cause: CauseSecurity, fix: fmt.Sprintf("AppArmor confines this shell by the profile %q: start carrel outside of it, or let the profile have userns, mount and pivot_root", confined)}
	case errno == syscall.EACCES:
		return remedy{cause: CauseSecurity, fix: "a security module (SELinux, AppArmor) refuses it: see the kernel log", commands: []string{"journalctl -k | grep -i denied"}}
	}
	return remedy{fix: "in a chroot, leave it: the kernel makes no user namespace there; else see the kernel log", commands: []string{"journalctl -k | tail"}}
}

// sysctl reads one setting, "" where the kernel has none.
func (m *Machine) sysctl(name string) string {
	text, err := m.Read("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(text)
}
