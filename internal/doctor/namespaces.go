package doctor

import (
	"fmt"
	"strings"
	"syscall"
)

func (p *patient) userNamespaces() Check {
	c := Check{Name: "user namespaces", Needed: true, Status: OK, Found: "can be made, with this uid mapped"}
	err := p.Namespace()
	if err == nil {
		return c
	}
	p.noUser = true
	c.Status, c.Found, c.Means = Missing, said(err), "nothing can be put behind walls"
	c.Fix = p.namespaceFix(err, "user")
	return c
}

// otherNamespaces tries the kinds together, and apart only where that fails.
func (p *patient) otherNamespaces() Check {
	const name = "mount, pid, ipc, uts and cgroup namespaces"
	if p.noUser {
		return notTried(name, true, "they need a user namespace")
	}
	c := Check{Name: name, Needed: true, Status: OK, Found: "can be made"}
	kinds := []Kind{Mnt, PID, IPC, UTS, Cgroup}
	err := p.Namespace(kinds...)
	if err == nil {
		return c
	}
	p.noMounts = true
	c.Status, c.Found, c.Means = Missing, said(err), "nothing can be put behind walls"
	c.Fix = p.namespaceFix(err, "user")
	for _, k := range kinds {
		if err := p.Namespace(k); err != nil {
			c.Found, c.Fix = string(k)+" namespace "+said(err), p.namespaceFix(err, k)
			break
		}
	}
	return c
}

func (p *patient) networkNamespace() Check {
	const name = "network namespaces"
	if p.noUser {
		return notTried(name, true, "they need a user namespace")
	}
	c := Check{Name: name, Needed: true, Status: OK, Found: "can be made, with a loopback interface"}
	err := p.Namespace(Net)
	if err == nil && !p.noMounts {
		err = p.Try(TrialLoopback)
	}
	if err == nil {
		return c
	}
	c.Status, c.Found = Missing, said(err)
	c.Means = "only --network open works: the others need a network of their own"
	c.Fix = p.namespaceFix(err, Net)
	return c
}

// namespaceFix says what lets this user make a namespace, by what the kernel
// answered. "user" stands for the user namespace itself.
func (p *patient) namespaceFix(err error, kind Kind) string {
	switch errnoOf(err) {
	case syscall.ENOSPC, syscall.EUSERS:
		return p.limitFix(kind)
	case syscall.EINVAL, syscall.ENOSYS:
		return fmt.Sprintf("use a kernel with %s=y", kernelOption(kind))
	case syscall.EPERM, syscall.EACCES:
		return p.permissionFix(errnoOf(err))
	}
	return ""
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

// limitFix is for a count that is used up or zero. Inside our own walls that is
// how the nesting level is held.
func (p *patient) limitFix(kind Kind) string {
	if p.nested() {
		return "start the outer workspace with --nested full"
	}
	name := fmt.Sprintf("user.max_%s_namespaces", kind)
	fix := setting(name, "15000")
	if now := p.sysctl(name); now != "" {
		fix += fmt.Sprintf("\n(it is %s now)", now)
	}
	return fix
}

// permissionFix goes from what is certain to what is likely.
func (p *patient) permissionFix(errno syscall.Errno) string {
	switch {
	case p.nested():
		return "start the outer workspace with --nested full"
	case p.sysctl("kernel.unprivileged_userns_clone") == "0" && p.UID != 0:
		return setting("kernel.unprivileged_userns_clone", "1")
	case p.apparmorRestricts():
		return p.apparmorFix()
	case p.container() != "":
		return p.containerFix()
	case p.filtered():
		return "a system call filter of whatever started this shell refuses it: start it without (systemd: RestrictNamespaces=no)"
	case errno == syscall.EACCES:
		return "a security module (SELinux, AppArmor) refuses it: see the kernel log, journalctl -k | grep -i denied"
	}
	return "in a chroot, leave it: the kernel makes no user namespace there; else see the kernel log, journalctl -k"
}

// setting is how a sysctl is set now and for good.
func setting(name, value string) string {
	return fmt.Sprintf("sudo sysctl -w %s=%s\necho %s=%s | sudo tee /etc/sysctl.d/60-carrel.conf", name, value, name, value)
}

// sysctl reads one setting, "" where the kernel has none.
func (p *patient) sysctl(name string) string {
	text, err := p.Read("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(text)
}
