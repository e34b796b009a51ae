package landlock

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attempts are what a child can try.
var attempts = map[string]func(order) map[string]int{
	"files":     tryFiles,
	"held":      tryHeld,
	"terminal":  tryTerminal,
	"mounts":    tryMounts,
	"outside":   tryOutside,
	"privilege": tryPrivilege,
	"cost":      tryCost,
}

// victims are the names that tryFiles needs in its directory; a slash at the
// end makes a directory.
var victims = []string{
	"file", "sub/", "sub/file", "empty/", "gone", "from", "away", "back", "linked", "cut", "emptied", "mode",
}

// tryFiles does one of each in o.Dir/place; the second place is o.Dir/other.
func tryFiles(o order) map[string]int {
	at := func(name string) string { return filepath.Join(o.Dir, "place", name) }
	other := func(name string) string { return filepath.Join(o.Dir, "other", name) }
	open := func(name string, flags int) error {
		fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0o600)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	return map[string]int{
		"stat":          errnoOf(unix.Stat(at("file"), new(unix.Stat_t))),
		"read":          errnoOf(open(at("file"), unix.O_RDONLY)),
		"list":          errnoOf(open(at("sub"), unix.O_RDONLY|unix.O_DIRECTORY)),
		"path":          errnoOf(open(at("file"), unix.O_PATH)),
		"execute":       errnoOf(execute(at("program"))),
		"write":         errnoOf(open(at("file"), unix.O_WRONLY)),
		"append":        errnoOf(open(at("file"), unix.O_WRONLY|unix.O_APPEND)),
		"open and cut":  errnoOf(open(at("cut"), unix.O_RDONLY|unix.O_TRUNC)),
		"truncate":      errnoOf(unix.Truncate(at("emptied"), 0)),
		"create":        errnoOf(open(at("new"), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)),
		"unnamed":       errnoOf(open(at("."), unix.O_WRONLY|unix.O_TMPFILE)),
		"mkdir":         errnoOf(unix.Mkdir(at("newdir"), 0o700)),
		"rmdir":         errnoOf(unix.Rmdir(at("empty"))),
		"unlink":        errnoOf(unix.Unlink(at("gone"))),
		"symlink":       errnoOf(unix.Symlink("x", at("newlink"))),
		"fifo":          errnoOf(unix.Mkfifo(at("newfifo"), 0o600)),
		"socket":        errnoOf(bindAt(at("newsocket"))),
		"link":          errnoOf(unix.Link(at("linked"), at("linked2"))),
		"rename":        errnoOf(unix.Rename(at("from"), at("to"))),
		"rename deeper": errnoOf(unix.Rename(at("back"), at("sub/back"))),
		"rename out":    errnoOf(unix.Rename(at("away"), other("away"))),
		"link out":      errnoOf(unix.Link(at("linked"), other("linked"))),
		"chmod":         errnoOf(unix.Chmod(at("mode"), 0o644)),
	}
}

func execute(path string) error {
	pid, err := syscall.ForkExec(path, []string{path}, &syscall.ProcAttr{})
	if err != nil {
		return err
	}
	_, err = syscall.Wait4(pid, nil, 0, nil)
	return err
}

func bindAt(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Bind(fd, &unix.SockaddrUnix{Name: path})
}

// tryHeld enters a second, emptier domain while it holds a descriptor.
func tryHeld(o order) map[string]int {
	path := filepath.Join(o.Dir, "place", "file")
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	if _, err := Apply(Ruleset{Files: true}); err != nil {
		panic(err)
	}
	_, writeErr := unix.Write(fd, []byte("x"))
	_, again := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR|unix.O_CLOEXEC, 0)
	return map[string]int{
		"write":    errnoOf(writeErr),
		"truncate": errnoOf(unix.Ftruncate(fd, 0)),
		"reopen":   errnoOf(again),
	}
}

// tryTerminal opens a pseudo terminal and sends requests.
func tryTerminal(order) map[string]int {
	found := map[string]int{}
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	found["open"] = errnoOf(err)
	if err != nil {
		return found
	}
	_, err = unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	found["window size"] = errnoOf(err)
	_, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
	found["number"] = errnoOf(err)
	found["close on exec"] = errnoOf(unix.IoctlSetInt(fd, 0x5451, 0)) // FIOCLEX: never refused
	return found
}

// tryMounts runs in mount and user namespaces of its own.
func tryMounts(o order) map[string]int {
	place := filepath.Join(o.Dir, "place")
	nested := exitOf("/usr/bin/unshare", "-Urm", "/bin/true")
	return map[string]int{
		"propagation": errnoOf(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")),
		"bind":        errnoOf(unix.Mount(place, place, "", unix.MS_BIND, "")),
		"remount":     errnoOf(unix.Mount("", place, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")),
		"tmpfs":       errnoOf(unix.Mount("none", place, "tmpfs", 0, "")),
		"umount":      errnoOf(unix.Unmount(place, unix.MNT_DETACH)),
		"nested":      nested, // changes propagation in a namespace of its own
	}
}

// exitOf runs a program and returns its exit status, 127 where it is missing.
func exitOf(argv ...string) int {
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: os.Environ()})
	if err != nil {
		return 127
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		return 126
	}
	return status.ExitStatus()
}

// tryOutside reaches for a process and a socket outside, then for its own.
func tryOutside(o order) map[string]int {
	own, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "60"}, &syscall.ProcAttr{})
	if err != nil {
		panic(err)
	}
	name := fmt.Sprintf("@%s-own", o.Name)
	listener, err := listenAbstract(name)
	if err != nil {
		panic(err)
	}
	defer unix.Close(listener)
	found := map[string]int{
		"signal outside":  errnoOf(unix.Kill(o.Outside, 0)),
		"signal parent":   errnoOf(unix.Kill(os.Getppid(), 0)),
		"pidfd outside":   errnoOf(signalByDescriptor(o.Outside)),
		"trace outside":   errnoOf(seize(o.Outside)),
		"connect outside": errnoOf(connectAbstract("@" + o.Name)),
		"send outside":    errnoOf(sendAbstract("@" + o.Name + "-datagrams")),
		"signal own":      errnoOf(unix.Kill(own, 0)),
		"trace own":       errnoOf(seize(own)),
		"connect own":     errnoOf(connectAbstract(name)),
		"kill own":        errnoOf(unix.Kill(own, unix.SIGKILL)),
	}
	_, err = syscall.Wait4(own, nil, syscall.WALL, nil)
	found["wait own"] = errnoOf(err)
	return found
}

func signalByDescriptor(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.PidfdSendSignal(fd, 0, nil, 0)
}

func seize(pid int) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func abstractSocket(kind int, use func(fd int) error) error {
	fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return use(fd)
}

func listenAbstract(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		return -1, err
	}
	return fd, unix.Listen(fd, 4)
}

func connectAbstract(name string) error {
	return abstractSocket(unix.SOCK_STREAM, func(fd int) error {
		return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
	})
}

func sendAbstract(name string) error {
	return abstractSocket(unix.SOCK_DGRAM, func(fd int) error {
		return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: name})
	})
}

// tryPrivilege applies a ruleset without no_new_privs, as an ordinary user.
func tryPrivilege(order) map[string]int {
	if unix.Geteuid() == 0 { // the raw call changes this thread only
		const nobody = 65534
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			panic(errno)
		}
	}
	_, err := Apply(Ruleset{Files: true})
	return map[string]int{"apply": errnoOf(err)}
}

// tryCost measures Apply in nanoseconds, in a thread's first domain.
func tryCost(o order) map[string]int {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	r := Ruleset{Files: true, ScopeAbstract: true, ScopeSignal: true, Rules: []Rule{
		{Path: "/", Access: ReadExec},
		{Path: "/dev", Access: ReadWrite},
		{Path: "/tmp", Access: ReadWrite},
		{Path: o.Dir, Access: ReadWrite},
	}}
	start := time.Now()
	_, err := Apply(r)
	took := time.Since(start)
	if err != nil {
		panic(err)
	}
	return map[string]int{"apply ns": int(took.Nanoseconds())}
}
