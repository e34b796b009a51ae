package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

// Versions that something depends on.
const (
	floorOverlay = "5.11" // overlayfs in user namespaces
	floorRun     = "5.12" // mount_setattr
	floorHistory = "5.19" // seccomp notification that survives signals (WAIT_KILLABLE_RECV)
)

func (p *patient) kernel() Check {
	c := Check{Name: "kernel", Needed: true, Status: OK, Found: "Linux " + p.Release}
	major, minor, ok := version(p.Release)
	switch {
	case !ok:
		c.Status, c.Means = Weak, "its version cannot be read; the checks below say what works"
	case olderThan(major, minor, floorRun):
		c.Status, c.Means, c.Fix = Missing, "it lacks mount_setattr", "use Linux "+floorRun+" or newer"
	case olderThan(major, minor, floorHistory):
		c.Status, c.Means, c.Fix = Weak, "commands run; the history of changes (undo) will not", "use Linux "+floorHistory+" or newer"
	}
	return c
}

// version reads the first two numbers of a release such as "6.8.0-45-generic".
func version(release string) (major, minor int, ok bool) {
	a, rest, _ := strings.Cut(release, ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	major, errA := strconv.Atoi(a)
	minor, errB := strconv.Atoi(rest[:end])
	return major, minor, errA == nil && errB == nil
}

func olderThan(major, minor int, floor string) bool {
	a, b, _ := version(floor)
	return major < a || major == a && minor < b
}

func (p *patient) landlock() Check {
	c := Check{Name: "landlock", Status: OK}
	abi, err := p.Landlock()
	if err != nil {
		c.Status, c.Needed, c.Found = Missing, true, said(err)
		c.Means, c.Fix = "whether the second layer holds cannot be told", "whatever filters system calls here (a container, systemd) has to let landlock_create_ruleset through"
		return c
	}
	c.Found = fmt.Sprintf("ABI %d", abi)
	switch {
	case abi == 0:
		c.Status, c.Found = Weak, "none"
		c.Means = "the mounts hold alone, without a second layer behind them"
		c.Fix = "boot with landlock in lsm= (cat /sys/kernel/security/lsm), on a kernel with CONFIG_SECURITY_LANDLOCK=y"
	case abi < 3:
		c.Status, c.Means, c.Fix = Weak, "no second layer for files: it would not stop truncate", "use Linux 6.2 or newer"
	case abi < 6:
		c.Status, c.Means, c.Fix = Weak, "with --network open, abstract sockets of the host are in reach", "use Linux 6.12 or newer"
	default:
		c.Found += ": files, devices, signals and abstract sockets"
	}
	return c
}

func (p *patient) yama() Check {
	c := Check{Name: "ptrace (Yama)", Status: OK, Found: "no Yama"}
	if scope := p.sysctl("kernel.yama.ptrace_scope"); scope != "" {
		c.Found = "ptrace_scope " + scope
		if scope == "3" {
			c.Status = Weak
			c.Means = "no debugger works inside, and the history of changes (undo) will not"
			c.Fix = "set kernel.yama.ptrace_scope to 2 or less and reboot: 3 cannot be taken back while running"
		}
	}
	return c
}

// terminal is about TIOCSTI, by which a program types into the terminal it was
// started from. Inside, the filter refuses it whatever the kernel says.
func (p *patient) terminal() Check {
	c := Check{Name: "terminal input (TIOCSTI)", Status: OK, Found: "off in this kernel"}
	if p.sysctl("dev.tty.legacy_tiocsti") != "0" {
		c.Found = "on in this kernel, refused behind walls"
	}
	return c
}
