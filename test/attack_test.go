//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attacks are what a hostile program may try, by name. Each gives a short
// result, or the error that stopped it.
var attacks = map[string]func(args []string) (string, error){
	"read":     attackRead,
	"list":     attackList,
	"write":    attackWrite,
	"openw":    attackOpenForWriting,
	"rewrite":  attackRewrite,
	"reopen":   attackReopen,
	"opath":    attackOPath,
	"connect":  func(a []string) (string, error) { return attackConnect(unix.AF_UNIX, a[0]) },
	"abstract": func(a []string) (string, error) { return attackConnect(unix.AF_UNIX, "@"+a[0]) },
	"tcp":      func(a []string) (string, error) { return attackConnect(unix.AF_INET, a[0]) },
	"kill":     attackKill,
	"fds":      attackFDs,
	"euid":     func([]string) (string, error) { return strconv.Itoa(os.Geteuid()), nil },
	"status":   attackStatus,
	"argv":     attackArgv,
	"tiocsti":  attackTiocsti,
	"socket":   attackSocket,
	"in":       attackIn,
	"forkbomb": attackForkBomb,
	"watchers": attackWatchers,
	"signals":  attackSignals,
	"nests":    attackNamespaces,
	"mount":    attackMount,
	"chroot":   func(a []string) (string, error) { return "", unix.Chroot(".") },
	"ptrace":   attackPtrace,
	"procvm":   attackProcVM,
	"iouring":  func([]string) (string, error) { return plainCall(unix.SYS_IO_URING_SETUP, 4, buffer(120), 0, 0, 0) },
	"bpf":      attackBPF,
	"keyctl":   func([]string) (string, error) { return plainCall(unix.SYS_KEYCTL, 0, ^uintptr(2), 1, 0, 0) },
	"userfaultfd": func([]string) (string, error) {
		return plainCall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1, 0, 0, 0, 0)
	},
	"perf":   attackPerf,
	"openat": attackHandle,
	"fanotify": func([]string) (string, error) {
		return plainCall(unix.SYS_FANOTIFY_INIT, unix.FAN_CLASS_NOTIF|0x200, unix.O_RDONLY, 0, 0, 0)
	},
	"setns": func([]string) (string, error) {
		fd, err := unix.Open("/proc/self/ns/uts", unix.O_RDONLY, 0)
		if err != nil {
			return "", err
		}
		return plainCall(unix.SYS_SETNS, uintptr(fd), unix.CLONE_NEWUTS, 0, 0, 0)
	},
	"clock": func([]string) (string, error) {
		ts := unix.Timespec{Nsec: -1} // never valid: EINVAL where the call itself is allowed
		return plainCall(unix.SYS_CLOCK_SETTIME, unix.CLOCK_REALTIME, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	},
	"survey":    attackSurvey,
	"mountable": attackMountable,
	"bare":      attackBare,
	"priority":  attackPriority,
	"lease":     attackLease,
	"calls":     attackCalls,
	"setuid":    attackSetUserID,
	"openup":    attackOpenUp,
	"syslog":    func([]string) (string, error) { return plainCall(unix.SYS_SYSLOG, 10, 0, 0, 0, 0) },
	"under":     attackUnder,
	"mknod":     func(a []string) (string, error) { return "", unix.Mknod(a[0], unix.S_IFBLK|0o600, 7<<8) },
	"change":    attackChange,
	"hostname":  func([]string) (string, error) { h, _ := os.Hostname(); return "", unix.Sethostname([]byte(h)) },
}

// attackMain runs attacks, each with its arguments, "--" between them, and
// prints one line for each: "ok RESULT" or the name of the error.
func attackMain(args []string) int {
	for len(args) > 0 {
		one := args
		if i := slices.Index(args, "--"); i >= 0 {
			one, args = args[:i], args[i+1:]
		} else {
			args = nil
		}
		f := attacks[one[0]]
		if f == nil {
			f = netAttacks[one[0]]
		}
		if f == nil {
			fmt.Fprintf(os.Stderr, "no attack %q\n", one[0])
			return 2
		}
		start := time.Now()
		text, err := f(one[1:])
		text = verdict(text, err)
		if took := time.Since(start); err != nil && took > quick {
			text += fmt.Sprintf(" (slow: %v)", took.Round(time.Millisecond))
		}
		fmt.Println(text)
	}
	return 0
}

func verdict(text string, err error) string {
	if err == nil {
		return strings.TrimSpace("ok " + text)
	}
	var n syscall.Errno
	if errors.As(err, &n) {
		return unix.ErrnoName(n)
	}
	return "error " + strings.ReplaceAll(err.Error(), "\n", " ")
}

func plainCall(nr, a, b, c, d, e uintptr) (string, error) {
	r, _, n := unix.Syscall6(nr, a, b, c, d, e, 0)
	if n != 0 {
		return "", n
	}
	return strconv.Itoa(int(r)), nil
}

func buffer(n int) uintptr {
	b := make([]byte, n)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

var kept [][]byte

func attackRead(a []string) (string, error) {
	f, err := os.Open(a[0])
	if err != nil {
		return "", err
	}
	defer f.Close()
	buf := make([]byte, 64)
	n, err := f.Read(buf)
	if err == io.EOF {
		err = nil
	}
	return strings.ReplaceAll(string(buf[:n]), "\n", " "), err
}

func attackList(a []string) (string, error) {
	entries, err := os.ReadDir(a[0])
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " "), err
}

func attackWrite(a []string) (string, error) {
	f, err := os.OpenFile(a[0], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString("owned\n")
	return "", errors.Join(err, f.Close())
}

// attackRewrite writes what is there already: success changes nothing.
func attackRewrite(a []string) (string, error) {
	data, err := os.ReadFile(a[0])
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(a[0], os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	return "", errors.Join(err, f.Close())
}

// attackReopen turns an inherited descriptor into a writable one.
func attackReopen(a []string) (string, error) {
	f, err := os.OpenFile("/proc/self/fd/"+a[0], os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return "", fmt.Errorf("not a regular file: %v", st.Mode())
	}
	_, err = f.WriteAt([]byte("owned"), 0)
	return "", err
}

// attackOPath opens a path without access and asks for access afterwards.
func attackOPath(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_PATH, 0)
	if err != nil {
		return "", err
	}
	return attackRead([]string{"/proc/self/fd/" + strconv.Itoa(fd)})
}

func attackConnect(family int, to string) (string, error) {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var addr unix.Sockaddr = &unix.SockaddrUnix{Name: to}
	if family == unix.AF_INET {
		port, _ := strconv.Atoi(to)
		addr = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port}
	}
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 3})
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: 3})
	if err := unix.Connect(fd, addr); err != nil {
		return "", err
	}
	buf := make([]byte, 64)
	n, err := unix.Read(fd, buf)
	return string(buf[:max(n, 0)]), err
}

func attackKill(a []string) (string, error) {
	pid, _ := strconv.Atoi(a[0])
	sig, _ := strconv.Atoi(a[1])
	if pid == -1 && sig != 0 { // everybody: only among others than the tests' own
		if len(a) < 3 || own("pid") == a[2] {
			return "", errNoWalls
		}
	}
	return "", unix.Kill(pid, syscall.Signal(sig))
}

// errNoWalls is what an attack gives that would hurt the machine, where it
// finds itself without walls.
var errNoWalls = errors.New("NO WALLS: the attack was not made")

// own names the process's own namespace of a kind.
func own(kind string) string {
	link, _ := os.Readlink("/proc/self/ns/" + kind)
	return link
}

// attackOpenForWriting opens a file for writing and writes nothing: for files
// of the kernel in which every letter is a command.
func attackOpenForWriting(a []string) (string, error) {
	f, err := os.OpenFile(a[0], os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	return "", f.Close()
}

// attackMount mounts on a directory of its own and takes the mount away.
func attackMount([]string) (string, error) {
	dir, err := os.MkdirTemp("", "attack")
	if err != nil {
		return "", err
	}
	defer os.Remove(dir)
	if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
		return "", err
	}
	return "", unix.Unmount(dir, unix.MNT_DETACH)
}

// attackFDs lists the descriptors that exist beside its own.
func attackFDs([]string) (string, error) {
	var open []string
	for fd := range 1024 {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil {
			continue
		}
		link, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if strings.HasPrefix(link, "anon_inode:[event") || strings.HasPrefix(link, "/sys/fs/cgroup/cpu") { // the runtime's own
			continue
		}
		open = append(open, fmt.Sprintf("%d=%s", fd, link))
	}
	return strings.Join(open, " "), nil
}

// attackStatus gives what the kernel says of the process's privileges.
func attackStatus([]string) (string, error) {
	data, err := os.ReadFile("/proc/self/status")
	var out []string
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp":
			out = append(out, name+"="+strings.TrimSpace(value))
		}
	}
	return strings.Join(out, " "), err
}

// attackArgv shows its arguments byte by byte, for tests of what arrives.
func attackArgv(a []string) (string, error) { return fmt.Sprintf("%q", a), nil }

func attackTiocsti([]string) (string, error) {
	tty, err := unix.Open("/dev/tty", unix.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	c := [1]byte{'x'}
	return plainCall(unix.SYS_IOCTL, uintptr(tty), unix.TIOCSTI, uintptr(unsafe.Pointer(&c[0])), 0, 0)
}

func attackSocket(a []string) (string, error) {
	var n [3]int
	for i := range n {
		n[i], _ = strconv.Atoi(a[i])
	}
	fd, err := unix.Socket(n[0], n[1], n[2])
	if err == nil {
		unix.Close(fd)
	}
	return "", err
}

// attackIn runs the next attack in new namespaces, as their root.
func attackIn(a []string) (string, error) {
	cmd := exec.Command("/proc/self/exe", a[1:]...)
	cmd.Args[0] = attackName
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaceFlags(a[0])}
	cmd.Env = append(os.Environ(), aroundMounts+"="+own("mnt"))
	if strings.Contains(a[0], "user") {
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.Output()
	var start *exec.ExitError
	if errors.As(err, &start) {
		return "", fmt.Errorf("%s %s", err, start.Stderr)
	}
	return "inside: " + strings.TrimSpace(string(out)), err
}

// namespaceFlags reads "user+mnt".
func namespaceFlags(names string) (flags uintptr) {
	of := map[string]uintptr{"user": unix.CLONE_NEWUSER, "net": unix.CLONE_NEWNET, "mnt": unix.CLONE_NEWNS, "pid": unix.CLONE_NEWPID, "cgroup": unix.CLONE_NEWCGROUP}
	for name := range strings.SplitSeq(names, "+") {
		flags |= of[name]
	}
	return flags
}

// maxForks keeps a machine without walls alive.
const maxForks = 300

// attackForkBomb forks sleepers until it may not, and reports how many.
func attackForkBomb([]string) (string, error) {
	count := 0
	for ; count < maxForks; count++ {
		pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if e != 0 {
			return strconv.Itoa(count), e
		}
		if pid == 0 {
			ts := unix.Timespec{Sec: 5}
			_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
			for {
				_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
		}
	}
	return strconv.Itoa(count), nil
}

func attackPtrace(a []string) (string, error) {
	runtime.LockOSThread()
	pid, _ := strconv.Atoi(a[0])
	err := unix.PtraceSeize(pid)
	return "", err
}

func attackProcVM(a []string) (string, error) {
	pid, _ := strconv.Atoi(a[0])
	var b [8]byte
	local := []unix.Iovec{{Base: &b[0], Len: 8}}
	_, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	return "", err
}

func attackBPF([]string) (string, error) {
	var attr struct{ kind, key, value, entries, rest [1]uint32 }
	attr.kind[0], attr.key[0], attr.value[0], attr.entries[0] = unix.BPF_MAP_TYPE_ARRAY, 4, 4, 1
	return plainCall(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0, 0)
}

func attackPerf([]string) (string, error) {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Bits: unix.PerfBitExcludeKernel}
	attr.Size = uint32(unsafe.Sizeof(attr))
	_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
	return "", err
}

// attackHandle opens a file by its handle, around every path.
func attackHandle(a []string) (string, error) {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, a[0], 0)
	if err != nil {
		return "", err
	}
	dir, err := unix.Open(filepath.Dir(a[0]), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	_, err = unix.OpenByHandleAt(dir, h, unix.O_RDONLY)
	return "", err
}

// attack runs one attack inside the walls and gives its verdict.
func (w *world) attack(flags []string, args ...string) string {
	w.t.Helper()
	flags = append(slices.Clone(flags), "--read", built.attack, "--", built.attack)
	r := w.run(append(flags, args...)...)
	if r.code != 0 {
		w.t.Fatalf("attack %q: %s", args[:min(len(args), 4)], r)
	}
	return strings.TrimSuffix(r.out, "\n")
}

// canary runs one attack outside and gives its verdict.
func (w *world) canary(args ...string) string {
	w.t.Helper()
	r := w.plain(built.attack, args...)
	if r.code != 0 {
		w.t.Fatalf("canary %q: %s", args, r)
	}
	return strings.TrimSuffix(r.out, "\n")
}

// mustWork fails the test where an attack does not succeed outside: then its
// failure inside would prove nothing.
func (w *world) mustWork(args ...string) {
	w.t.Helper()
	for line := range strings.Lines(w.canary(args...)) {
		if !strings.HasPrefix(line, "ok") {
			w.t.Fatalf("canary: %q outside gives %q; the attack is broken", args, strings.TrimSpace(line))
		}
	}
}

// refused wants an attack to succeed outside and to fail inside with one of
// the errors.
func (w *world) refused(flags, args []string, errs ...string) {
	w.t.Helper()
	w.mustWork(args...)
	w.fails(flags, args, errs...)
}

// fails wants an attack to fail inside with one of the errors.
func (w *world) fails(flags, args []string, errs ...string) {
	w.t.Helper()
	single := strings.Split(strings.Join(args, "\x00"), "\x00--\x00")
	for i, got := range strings.Split(w.attack(flags, args...), "\n") {
		if !slices.Contains(errs, strings.TrimPrefix(got, "ok inside: ")) {
			w.t.Errorf("inside %q: %q gives %q, want one of %q", flags, strings.Split(single[i], "\x00"), got, errs)
		}
	}
}

// TestAttacksAreKnown keeps the table from holding what no test tries.
func TestAttacksAreKnown(t *testing.T) {
	sources, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, s := range sources {
		if strings.HasPrefix(s, "attack_") {
			continue
		}
		data, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	for _, name := range slices.AppendSeq(slices.Collect(maps.Keys(attacks)), maps.Keys(netAttacks)) {
		if !strings.Contains(all.String(), strconv.Quote(name)) {
			t.Errorf("attack %q is tried by no test", name)
		}
	}
}
