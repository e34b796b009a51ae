package stage

import (
	"strconv"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// procfs gives the workspace a procfs of its own. The kernel refuses a fresh one
// where parts of the one in sight are covered, as container managers cover them.
// That one is never shown instead: it has the processes of everybody around. A
// plan that says so goes on with one that has the workspace's processes alone,
// where the kernel gives that, or with none, and the user is told.
func (b *builder) procfs(m *sandbox.Mount) error {
	err := b.tree.fresh(m, "proc", nil)
	if n := unix.Errno(errno(err)); m.Optional && (n == unix.EPERM || n == unix.EACCES) {
		b.noProc = true
		err = b.insteadOfProc(m)
	}
	if err == nil {
		err = b.openLimits()
	}
	if err == nil {
		err = b.openPorts()
	}
	if err == nil {
		b.procs, err = b.tree.openWith(m.Target, unix.O_PATH|unix.O_DIRECTORY)
	}
	return err
}

// sayProcfs gives the supervisor the procfs of this PID namespace, where there is one. It
// finds the workspace's processes there without a look at all the others.
func sayProcfs(l *link, dir int) {
	if dir >= 0 {
		l.say(sandbox.Message{Kind: sandbox.MsgProc}, dir)
		unix.Close(dir)
	}
}

const whyNoProc = "the kernel refuses a fresh /proc, as parts of the one here are covered; `carrel doctor` says what to do: "

// insteadOfProc mounts a procfs that has nothing but processes, or makes an
// empty directory, which stays read-only with the root.
func (b *builder) insteadOfProc(m *sandbox.Mount) error {
	if b.tree.fresh(m, "proc", [][2]string{{"subset", "pid"}}) == nil {
		b.note(whyNoProc + "inside, /proc has processes and nothing else")
		return nil
	}
	at, err := b.tree.target(m.Target, true)
	if err != nil {
		return err
	}
	unix.Close(at)
	b.note(whyNoProc + "inside, /proc is all but empty, and programs that look at processes do not work")
	for _, name := range machineFiles {
		b.machineFile(name, m.Target+"/"+name)
	}
	return nil
}

// machineFiles say what programs size themselves by, and nothing of a process.
var machineFiles = []string{"cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version"}

// machineFile shows one file of the procfs around us. Whatever keeps it from
// being shown, a program finds one file less.
func (b *builder) machineFile(name, target string) {
	fd, err := unix.Openat(b.proc, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
		_ = b.tree.bindOver(fd, target, false)
	}
}

// setting opens one of the kernel's settings for writing. Those used here belong
// to the namespaces of whoever opens them, whichever procfs they are found in.
func (b *builder) setting(name string) (int, error) {
	if b.noProc {
		return unix.Openat(b.proc, "sys/"+name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	}
	return b.tree.openWith("/proc/sys/"+name, unix.O_WRONLY)
}

// openLimits opens the limits of the user namespace as soon as there is a
// procfs: later steps may make /proc/sys read-only. Where the one around us is
// read-only and there is no other, the filter holds the level alone, which is
// told. A kernel may lack a limit that only keeps something for others.
func (b *builder) openLimits() error {
	for _, l := range b.plan.UserLimits {
		fd, err := b.setting("user/" + l.Name)
		if err != nil && b.noProc {
			if l.Value == 0 {
				b.note("no limit of nested namespaces can be set (" + l.Name + ": " + err.Error() + "); the system call filter alone keeps them from being made")
			}
			fd, err = -1, nil
		}
		if err == unix.ENOENT && l.Value > 0 {
			fd, err = -1, nil
		}
		if err != nil {
			return failed("opening the limit of a user namespace", l.Name, err)
		}
		b.limits = append(b.limits, fd)
	}
	return b.limitPIDs()
}

// limitPIDs leaves process numbers to programs outside: whoever starts processes
// until there is no number left keeps everybody from starting one. Without a fresh
// procfs the setting would be looked for in somebody else's.
func (b *builder) limitPIDs() error {
	if b.plan.HighestPID == 0 || b.noProc {
		return nil
	}
	fd, err := b.setting("kernel/pid_max")
	if err != nil {
		return failed("opening the limit of process numbers", "kernel.pid_max", err)
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(strconv.FormatUint(b.plan.HighestPID, 10)))
	return failed("limiting process numbers", "kernel.pid_max", err)
}

// writeLimits takes from every descendant the namespaces that the level
// forbids, and more than its part of what the user has. It comes after the last
// mount: a detached mount counts as a mount namespace while it is made.
func (b *builder) writeLimits() error {
	for i, l := range b.plan.UserLimits {
		if b.limits[i] < 0 {
			continue
		}
		_, err := unix.Write(b.limits[i], []byte(strconv.FormatUint(l.Value, 10)))
		unix.Close(b.limits[i])
		if err != nil {
			return failed("limiting the user namespace", l.Name, err)
		}
	}
	return nil
}

// lowPorts is the first port that needs no privilege. It belongs to the network
// namespace, so what is written there concerns nobody outside.
const lowPorts = "net/ipv4/ip_unprivileged_port_start"

// openPorts lets every port be listened on: listeners for names and host ports
// are made when the stage has no capability any more. It comes as soon as there
// is a procfs, as later steps may make it read-only. A filtered network cannot
// be without; in a local one, programs have the ports from 1024 on.
func (b *builder) openPorts() error {
	if !b.plan.Loopback {
		return nil
	}
	fd, err := b.setting(lowPorts)
	if err != nil && b.noProc && !b.plan.Pool {
		b.note("ports below 1024 cannot be listened on: " + err.Error())
		return nil
	}
	if err != nil {
		return failed("opening", "/proc/sys/"+lowPorts, err)
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("0"))
	return failed("opening low ports in", "/proc/sys/"+lowPorts, err)
}
