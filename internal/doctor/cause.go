package doctor

import (
	"fmt"
	"strings"
)

// Cause names why something is refused or missing, for programs: a cause keeps
// its name from version to version. "" is one that could not be found out.
type Cause string

const (
	CauseLimit     Cause = "namespace-limit"        // user.max_*_namespaces is zero or used up
	CauseSwitch    Cause = "userns-switch"          // kernel.unprivileged_userns_clone is 0
	CauseAppArmor  Cause = "apparmor"               // kernel.apparmor_restrict_unprivileged_userns is 1
	CauseSecurity  Cause = "security-module"        // another rule of AppArmor, SELinux and their like
	CauseRoot      Cause = "root"                   // root asks, whom the engine that is left does not hold
	CauseContainer Cause = "container"              // what the container we are in forbids
	CauseFilter    Cause = "syscall-filter"         // a seccomp filter around us
	CauseNested    Cause = "inside-carrel"          // our own walls
	CauseKernel    Cause = "kernel"                 // too old, or built without
	CauseGVisor    Cause = "gvisor"                 // a kernel that has not all of Linux
	CauseWSL1      Cause = "wsl1"                   // no Linux kernel at all
	CauseProcessor Cause = "processor"              // no filter is written for it
	CauseListener  Cause = "listener"               // somebody around us listens to system calls
	CauseCovered   Cause = "proc-covered"           // mounts over parts of /proc
	CauseYama      Cause = "yama"                   // kernel.yama.ptrace_scope
	CauseMemory    Cause = "no-memory"              // none for a small memory file system
	CauseMounts    Cause = "mount-limit"            // fs.mount-max
	CauseNoGroups  Cause = "no-cgroups"             // none mounted, or without the controller
	CauseGroupsRO  Cause = "cgroups-read-only"      // mounted, and cannot be written
	CauseGroups    Cause = "cgroups-not-delegated"  // not ours to write
	CauseGroupBusy Cause = "cgroups-with-processes" // a group that has both processes and groups
	CauseNoPlace   Cause = "no-place"               // neither HOME nor XDG_STATE_HOME
	CauseOwner     Cause = "not-ours"               // others can write it
	CauseReadOnly  Cause = "read-only"              // a file system that is mounted so
	CauseFull      Cause = "disk-full"
	CauseNoExec    Cause = "noexec"
	CauseProgram   Cause = "not-installed"
	CauseKVM       Cause = "no-kvm"        // the kernel does not run machines
	CauseKVMUser   Cause = "kvm-closed"    // it does, and not for this user
	CauseDevice    Cause = "device-closed" // a device is missing, or not for this user
	CauseImage     Cause = "no-image"      // machines have none to be made of
	CauseIDs       Cause = "no-subuids"    // containers of this user have few user ids
	CauseTime      Cause = "no-answer"     // the probe did not end in time
)

// remedy is why something is refused and what would change that.
type remedy struct {
	cause    Cause
	fix      string   // in words
	commands []string // for a shell
}

// with adds a remedy.
func (c Check) with(r remedy) Check {
	c.Cause, c.Fix, c.Commands = r.cause, r.fix, r.commands
	return c
}

// refused is a check whose question was answered with err.
func (c Check) refused(status Status, err error, means string) Check {
	c.Status, c.Found, c.Errno, c.Means = status, said(err), errnoNames[errnoOf(err)], means
	return c
}

// setting is how a sysctl is set now, and for good.
func setting(name, value string) []string {
	return []string{
		fmt.Sprintf("sudo sysctl -w %s=%s", name, value),
		fmt.Sprintf("echo %s=%s | sudo tee -a %s", name, value, sysctlFile),
	}
}

// sysctlFile comes after those of distributions, which set some of the same.
const sysctlFile = "/etc/sysctl.d/99-carrel.conf"

// quoted is a word as a shell reads it.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:,=@%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
