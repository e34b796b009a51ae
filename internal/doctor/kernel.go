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
	floorFiles   = "6.2"  // Landlock ABI 3: truncate
	floorScopes  = "6.12" // Landlock ABI 6: signals and abstract sockets
)

// costs say what a kernel below a version does without, oldest version first.
var costs = []struct{ floor, lacks string }{
	{floorOverlay, "caches of package managers are read-only"},
	{floorRun, "no command can run (no mount_setattr)"},
	{floorHistory, "no history of changes, no undo (--history off)"},
	{floorFiles, "no Landlock behind the mounts"},
	{floorScopes, "abstract sockets of the host are in reach with --network open"},
}

// kernel says what follows from the version. It decides nothing: vendors carry
// things back, and the checks below try each of them.
func (p *patient) kernel() Check {
	c := Check{ID: "kernel", Name: "kernel", Status: OK, Found: "Linux " + p.Release}
	major, minor, ok := version(p.Release)
	if !ok {
		c.Status, c.Means = Weak, "its version cannot be read; the checks below say what works"
		return c
	}
	var lacks []string
	var floor string
	for _, cost := range costs {
		if olderThan(major, minor, cost.floor) {
			lacks, floor = append(lacks, "before "+cost.floor+": "+cost.lacks), cost.floor
		}
	}
	if len(lacks) == 0 {
		return c
	}
	c.Status, c.Means = Weak, "unless its vendor has carried them back, "+strings.Join(lacks, "; ")
	return c.with(p.newerKernel(floor))
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
	c := Check{ID: "landlock", Name: "landlock", Status: OK}
	abi, err := p.Landlock()
	if err != nil {
		c.Needed = true
		return c.refused(Missing, err, "whether Landlock holds cannot be told").
			with(remedy{cause: CauseFilter, fix: "whatever filters system calls here (a container, systemd) has to let landlock_create_ruleset through"})
	}
	c.Found = fmt.Sprintf("ABI %d", abi)
	var r remedy
	switch {
	case abi == 0:
		c.Status, c.Found = Weak, "none"
		c.Means = "the mounts hold alone, without Landlock behind them"
		r.fix = "boot with landlock in lsm= (cat /sys/kernel/security/lsm), on a kernel with CONFIG_SECURITY_LANDLOCK=y"
	case abi < 3:
		c.Status, c.Means, r.fix = Weak, "no Landlock for files: it would not stop truncate", "use Linux "+floorFiles+" or newer"
	case abi < 6:
		c.Status, c.Means, r.fix = Weak, "with --network open, abstract sockets of the host are in reach", "use Linux "+floorScopes+" or newer"
	default:
		c.Found += ": files, devices, signals and abstract sockets"
		return c
	}
	r.cause = CauseKernel
	return c.with(r)
}

// terminal is about TIOCSTI, by which a program types into the terminal it was
// started from. Inside, the filter refuses it whatever the kernel says.
func (p *patient) terminal() Check {
	c := Check{ID: "terminal", Name: "terminal input (TIOCSTI)", Status: OK, Found: "off in this kernel"}
	if p.sysctl("dev.tty.legacy_tiocsti") != "0" {
		c.Found = "on in this kernel, refused behind walls"
	}
	return c
}
