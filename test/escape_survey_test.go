//go:build linux

package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The survey is an escape checker in the manner of amicontained, deepce, CDK
// and linpeas: it looks, from inside, at all that such programs look at, and
// prints each finding as one line. It changes nothing; what it could change, it
// opens. Callers compare the lines with what has to be there.

// surveys are its parts. Home, project and runtime directory are written as ~,
// PROJECT and RUNTIME in their findings.
var surveys = []func(find func(string, ...any)){
	surveyMounts, surveyKernelFiles, surveyDescriptors, surveyPrivilege, surveyNamespaces, surveyRoot, surveyOldSecrets,
}

// attackSurvey prints what there is to find, one finding a line. Its arguments
// are home, project and runtime directory; with one more it looks at the tree.
func attackSurvey(a []string) (string, error) {
	if os.Getenv("CARREL") != "1" && os.Getenv("HARMLESS") != "1" {
		return "", errNoWalls
	}
	names := strings.NewReplacer(a[1], "PROJECT", a[2], "RUNTIME", a[0], "~", "/run/user/"+strconv.Itoa(os.Getuid()), "RUNTIME")
	var found []string
	parts := surveys
	if len(a) > 3 {
		parts = []func(func(string, ...any)){surveyTree}
	}
	for _, survey := range parts {
		survey(func(format string, args ...any) { found = append(found, names.Replace(fmt.Sprintf(format, args...))) })
	}
	slices.Sort(found)
	return "\n" + strings.Join(slices.Compact(found), "\n"), nil
}

// surveyMounts finds what can be written, lets set-user-id programs or devices
// work, or receives mounts from somewhere else.
func surveyMounts(find func(string, ...any)) {
	data, _ := os.ReadFile("/proc/self/mountinfo")
	nodes, _ := filepath.Glob("/dev/*")
	for _, p := range nodes {
		if st, err := os.Lstat(p); err == nil {
			special(p, st.Mode(), find)
		}
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		dash := slices.Index(f, "-")
		options := strings.Split(f[5], ",")
		if slices.Contains(options, "rw") {
			find("mount writable %s", f[4])
		}
		if !slices.Contains(options, "nosuid") {
			find("mount with set-user-id programs %s", f[4])
		}
		if !slices.Contains(options, "nodev") {
			find("mount with devices %s", f[4])
		}
		if st, err := os.Lstat(f[4]); err == nil {
			special(f[4], st.Mode(), find)
		}
		for _, tag := range f[6:dash] {
			find("mount that receives others %s %s", f[4], strings.TrimRight(tag, "0123456789"))
		}
	}
}

var perNumber = regexp.MustCompile(`/(task/)?\d+/`)

// surveyKernelFiles opens every file of /proc and /sys for writing. Of processes
// it looks at PID 1 and at itself.
func surveyKernelFiles(find func(string, ...any)) {
	self := "/proc/" + strconv.Itoa(os.Getpid())
	_ = filepath.WalkDir("/proc", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case d.IsDir():
			number, isProcess := strings.CutPrefix(p, "/proc/")
			_, e := strconv.Atoi(number)
			if isProcess && e == nil && p != "/proc/1" && p != self || strings.HasSuffix(p, "/fd") || strings.HasSuffix(p, "/map_files") || strings.HasPrefix(p, self+"/task/") {
				return filepath.SkipDir
			}
		case d.Type().IsRegular():
			openForWriting(p, strings.Replace(p, self+"/", "/proc/self/", 1), find)
		}
		return nil
	})
	_ = filepath.WalkDir("/sys", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			openForWriting(p, p, find)
		}
		return nil
	})
}

func openForWriting(p, name string, find func(string, ...any)) {
	fd, err := unix.Open(p, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
		find("kernel file writable %s", perNumber.ReplaceAllString(name, "/N/"))
	}
}

// surveyTree finds devices, sockets and pipes anywhere in the view: in the whole
// tree, which takes a second, and at every place that something is mounted on,
// which a directory does not tell.
func surveyTree(find func(string, ...any)) {
	_ = filepath.WalkDir("/", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (p == "/proc" || p == "/dev/pts") {
			return fs.SkipDir
		}
		if err == nil {
			special(p, d.Type(), find)
		}
		return nil
	})
}

func special(p string, kind fs.FileMode, find func(string, ...any)) {
	switch {
	case kind&fs.ModeDevice != 0:
		find("device %s", p)
	case kind&fs.ModeSocket != 0:
		find("socket %s", p)
	case kind&fs.ModeNamedPipe != 0:
		find("pipe %s", p)
	}
}

func surveyDescriptors(find func(string, ...any)) {
	open, _ := attackFDs(nil)
	for fd := range strings.FieldsSeq(open) {
		number, to, _ := strings.Cut(fd, "=")
		kind, _, _ := strings.Cut(to, ":")
		find("descriptor %s %s", number, kind)
	}
}

// surveyPrivilege looks at every thread of this process and at PID 1.
func surveyPrivilege(find func(string, ...any)) {
	tasks, _ := filepath.Glob("/proc/self/task/*/status")
	for _, status := range append(tasks, "/proc/1/status") {
		who := "own"
		if status == "/proc/1/status" {
			who = "PID 1"
		}
		data, _ := os.ReadFile(status)
		for line := range strings.Lines(string(data)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			value = strings.TrimSpace(value)
			if strings.HasPrefix(name, "Cap") && strings.Trim(value, "0") != "" {
				find("capabilities of %s %s %s", who, name, value)
			}
			if name == "NoNewPrivs" && value != "1" || name == "Seccomp" && value != "2" {
				find("privilege of %s %s %s", who, name, value)
			}
		}
	}
	if n, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0); err != nil || n&0b1111 != 0b1111 {
		find("secure bits %#x", n)
	}
}

// surveyNamespaces prints the namespaces; who asked knows those outside.
func surveyNamespaces(find func(string, ...any)) {
	for _, kind := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		find("namespace %s", own(kind))
	}
	data, _ := os.ReadFile("/proc/self/uid_map")
	if f := strings.Fields(string(data)); len(f) != 3 || f[2] != "1" {
		find("user ids %s", strings.Join(f, " "))
	}
}

// surveyRoot climbs from the working directory, and lists where that ends.
func surveyRoot(find func(string, ...any)) {
	top, err := unix.Open(strings.Repeat("../", 200), unix.O_PATH, 0)
	var at, root unix.Stat_t
	if err != nil || unix.Fstat(top, &at) != nil || unix.Stat("/", &root) != nil || at.Ino != root.Ino || at.Dev != root.Dev {
		find("the working directory is not below the root")
	}
}

// surveyOldSecrets reads what container runtimes mask, what tells of keys, and
// what the kernel shows to root alone.
func surveyOldSecrets(find func(string, ...any)) {
	private, _ := filepath.Glob("/proc/[a-z]*")
	private = slices.DeleteFunc(private, func(p string) bool {
		st, err := os.Lstat(p)
		return err != nil || !st.Mode().IsRegular() || st.Mode().Perm()&0o004 != 0
	})
	for _, p := range append(private, "/proc/kcore", "/proc/kmsg", "/proc/timer_list", "/proc/sched_debug", "/proc/kpagecount", "/proc/kpageflags",
		"/proc/keys", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/latency_stats", "/proc/acpi/wakeup", "/proc/scsi/scsi",
		"/sys/firmware/efi", "/sys/kernel/security/profile", "/sys/fs/cgroup/cgroup.procs", "/dev/mem", "/dev/kmsg", "/etc/shadow", "/.dockerenv", "/var/run/docker.sock") {
		fd, err := unix.Open(p, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		buf := make([]byte, 64)
		if n, _ := unix.Read(fd, buf); n > 0 {
			find("readable %s", p)
		}
		unix.Close(fd)
	}
}

// aroundMounts is the variable that tells an attack in new namespaces which mount
// namespace is around it.
const aroundMounts = "ATTACK_AROUND"

// attackMountable tries every file system that the kernel has, and some that it
// may have, and gives the names of those that can be mounted and, of these, the
// files that can be written.
func attackMountable([]string) (string, error) {
	if around := os.Getenv(aroundMounts); around == "" || around == own("mnt") {
		return "", errNoWalls
	}
	data, _ := os.ReadFile("/proc/filesystems")
	kinds := map[string]string{"cgroup": "memory", "devpts": "newinstance"}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if f[0] == "nodev" && kinds[f[1]] == "" {
			kinds[f[1]] = ""
		}
	}
	var found []string
	for kind, options := range kinds {
		if unix.Mount("none", "/tmp", kind, 0, options) != nil {
			continue
		}
		found = append(found, kind)
		_ = filepath.WalkDir("/tmp", func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && unix.Access(p, unix.W_OK) == nil {
				found = append(found, kind+":"+strings.TrimPrefix(p, "/tmp/"))
			}
			return nil
		})
		_ = unix.Unmount("/tmp", unix.MNT_DETACH)
	}
	slices.Sort(found)
	return strings.Join(found, " "), nil
}

// attackBare runs the next attack in new namespaces where nobody has an id:
// what uid 0 can make where it may not map itself.
func attackBare(a []string) (string, error) {
	cmd := exec.Command("/proc/self/exe", a[1:]...)
	cmd.Args[0] = attackName
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaceFlags(a[0]), AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN}}
	cmd.Env = append(os.Environ(), aroundMounts+"="+own("mnt"))
	out, err := cmd.Output()
	return "inside: " + strings.TrimSpace(string(out)), err
}

// attackPriority slows down the caller's process group, by both ways.
func attackPriority([]string) (string, error) {
	const lower, worse = 7, 2<<13 | 6 // of best effort
	_, _, e := unix.Syscall(unix.SYS_SETPRIORITY, unix.PRIO_PGRP, 0, lower)
	_, _, e2 := unix.Syscall(unix.SYS_IOPRIO_SET, 2, 0, worse)
	if e != 0 {
		return "", e
	}
	if e2 != 0 {
		return "", e2
	}
	return "", nil
}

// attackOpenUp lets everybody on the machine read and write what a descriptor is.
func attackOpenUp(a []string) (string, error) {
	fd, _ := strconv.Atoi(a[0])
	if err := unix.Fchmod(fd, 0o666); err == nil {
		return "", nil
	}
	return "", unix.Chmod("/proc/self/fd/"+a[0], 0o666)
}

// attackLease holds a file against everybody who opens it to write; with another
// argument until the file "end" is there.
func attackLease(a []string) (string, error) {
	signal.Ignore(syscall.SIGIO)
	fd, err := unix.Open(a[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		return "", err
	}
	if len(a) == 1 {
		return "", nil
	}
	fmt.Println("held")
	for unix.Access("end", unix.F_OK) != nil {
		time.Sleep(10 * time.Millisecond)
	}
	return "", nil
}

// attackCalls makes system calls by number with arguments that none can use, and
// says what each answers.
func attackCalls(a []string) (string, error) {
	if os.Getenv("CARREL") != "1" {
		return "", errNoWalls
	}
	const junk = ^uintptr(0)
	var said []string
	for _, number := range a {
		n, _ := strconv.ParseUint(number, 0, 64)
		_, _, e := unix.RawSyscall6(uintptr(n), junk, junk, junk, junk, junk, junk)
		said = append(said, number+"="+unix.ErrnoName(e))
	}
	return strings.Join(said, " "), nil
}

// attackSetUserID makes files that run with their owner's id, by every call that
// takes a mode; by openat2 only with an argument.
func attackSetUserID(a []string) (string, error) {
	unix.Umask(0)
	const mode = 0o4755
	open := func(name string, flags int) {
		if fd, err := unix.Open(name, flags|unix.O_CLOEXEC, mode); err == nil {
			_ = unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, name+"-linked", unix.AT_SYMLINK_FOLLOW)
			unix.Close(fd)
		}
	}
	open("by-open", unix.O_CREAT|unix.O_WRONLY)
	open(".", unix.O_TMPFILE|unix.O_WRONLY)
	_ = unix.Mknod("by-mknod", unix.S_IFREG|mode, 0)
	_ = os.WriteFile("by-chmod", nil, 0o755)
	_ = unix.Chmod("by-chmod", mode)
	_ = unix.Fchmodat(unix.AT_FDCWD, "by-chmod", mode, unix.AT_SYMLINK_NOFOLLOW)
	if len(a) > 0 {
		if fd, err := unix.Openat2(unix.AT_FDCWD, "by-openat2", &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: mode}); err == nil {
			unix.Close(fd)
		}
	}
	return "", os.WriteFile("done", nil, 0o644)
}
