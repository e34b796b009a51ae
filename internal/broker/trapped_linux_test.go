package broker_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"carrel/internal/broker"
	"carrel/internal/policy"
	"carrel/internal/seccomp"
	"carrel/internal/seccomp/install"

	"golang.org/x/sys/unix"
)

// A trapped program is this test binary twice, in a mount namespace with a new tmpfs
// at trappedDir. The first makes the mirror, makes its own mount read-only, puts the
// filter on and sends the listener and both trees over descriptor 3. It executes
// the second, which makes the calls that it is told and says how long they took.
const (
	trappedVariable = "CARREL_TEST_TRAPPED" // which of the two
	trappedDir      = "/mnt"
	batch           = 1000 // calls between two clean-ups
)

func TestMain(m *testing.M) {
	which, ok := os.LookupEnv(trappedVariable)
	if !ok {
		os.Exit(m.Run())
	}
	do := map[string]func() error{"first": enterTrap, "second": serveCalls}[which]
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	os.Exit(0)
}

func enterTrap() error {
	runtime.LockOSThread()
	for _, step := range []func() error{
		func() error { return unix.Unshare(unix.CLONE_NEWNS) },
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
		func() error { return unix.Mount("tmpfs", trappedDir, "tmpfs", 0, "") },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	mirror, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, trappedDir, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return err
	}
	view, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	arch, err := seccomp.HostArch()
	if err != nil {
		return err
	}
	prog, err := seccomp.Build(seccomp.Options{Arch: arch, Nesting: policy.NestedUserns, Broker: true})
	if err != nil {
		return err
	}
	// The hands have no capability, and could not look at a program that has some.
	const noRoot = 1 // SECBIT_NOROOT of linux/securebits.h
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	listener, err := install.Filter(seccomp.Marshal(prog), true)
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(3, []byte{1}, unix.UnixRights(listener, mirror, view), nil, 0); err != nil {
		return err
	}
	unix.CloseOnExec(3)
	unix.CloseOnExec(listener)
	if err := os.Setenv(trappedVariable, "second"); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", os.Args[:1], os.Environ())
}

// serveCalls takes lines of a way, a kind and a number, says when all is there that
// the calls need, makes them at the next line, and answers nanoseconds.
func serveCalls() error {
	runtime.LockOSThread()
	if err := unix.Chdir(trappedDir); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var way, kind string
		var n int
		if _, err := fmt.Sscan(in.Text(), &way, &kind, &n); err != nil {
			return err
		}
		names, fds, err := prepareCalls(way, kind, n)
		if err != nil {
			return fmt.Errorf("preparing %s %s: %w", way, kind, err)
		}
		fmt.Println("ready")
		in.Scan()
		start := time.Now()
		for i, name := range names {
			if err := timedCalls[kind].do(name, fds[i]); err != nil {
				return fmt.Errorf("%s %s: %w", way, kind, err)
			}
		}
		fmt.Println(time.Since(start).Nanoseconds())
		for _, fd := range fds {
			if fd > 0 {
				unix.Close(fd)
			}
		}
	}
	return in.Err()
}

// timedCall is a kind of call: what has to be there, and the call of one name.
type timedCall struct {
	files, dirs bool
	do          func(name string, fd int) error
}

func closed(fd int, err error) error {
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

var timedCalls = map[string]timedCall{
	"create": {do: func(name string, _ int) error {
		return closed(unix.Open(name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644))
	}},
	"open": {files: true, do: func(name string, _ int) error {
		return closed(unix.Open(name, unix.O_WRONLY|unix.O_CLOEXEC, 0))
	}},
	"access": {files: true, do: func(name string, _ int) error { return unix.Access(name, unix.W_OK) }},
	"chmod":  {files: true, do: func(name string, _ int) error { return unix.Chmod(name, 0o600) }},
	"utimes": {files: true, do: func(name string, _ int) error { return unix.UtimesNano(name, make([]unix.Timespec, 2)) }},
	"futimes": {files: true, do: func(_ string, fd int) error {
		var times [2]unix.Timespec
		if _, _, e := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0); e != 0 {
			return e
		}
		return nil
	}},
	"unlink": {files: true, do: func(name string, _ int) error { return unix.Unlink(name) }},
	"rename": {files: true, do: func(name string, _ int) error { return unix.Rename(name, name+"x") }},
	"move": {files: true, do: func(name string, _ int) error {
		return unix.Rename(name, strings.Replace(name, "from/", "to/", 1))
	}},
	"link":    {files: true, do: func(name string, _ int) error { return unix.Link(name, name+"x") }},
	"symlink": {do: func(name string, _ int) error { return unix.Symlink("target", name) }},
	"mkdir":   {do: func(name string, _ int) error { return unix.Mkdir(name, 0o755) }},
	"rmdir":   {dirs: true, do: func(name string, _ int) error { return unix.Rmdir(name) }},
}

// prepareCalls makes anew what calls of names need that are relative, relative with
// three directories on the way, or absolute.
func prepareCalls(way, kind string, n int) (names []string, fds []int, err error) {
	call, base := timedCalls[kind], map[string]string{"near": "", "deep": "a/b/", "absolute": trappedDir + "/"}[way]
	for _, dir := range []string{"from", "to"} {
		if err := errors.Join(os.RemoveAll(base+dir), os.MkdirAll(base+dir, 0o755)); err != nil {
			return nil, nil, err
		}
	}
	names, fds = make([]string, n), make([]int, n)
	for i := range names {
		names[i] = base + "from/f" + strconv.Itoa(i)
		switch {
		case call.dirs:
			err = unix.Mkdir(names[i], 0o755)
		case kind == "futimes":
			fds[i], err = unix.Open(names[i], unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
		case call.files:
			err = os.WriteFile(names[i], nil, 0o644)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return names, fds, nil
}

// trap is the listener as the broker knows it.
type trap struct{ *seccomp.Listener }

func (t trap) Receive(c *broker.Call) error { return t.Listener.Receive((*seccomp.Notification)(c)) }

// yes allows everything and keeps nothing.
type yes struct{}

func (yes) Decide(*broker.Change) broker.Verdict { return broker.Verdict{Allowed: true} }
func (yes) Before(*broker.Change) error          { return nil }
func (yes) After(*broker.Change, error)          {}

// trapped is a trapped program that the test talks to.
type trapped struct {
	in  *os.File
	out *bufio.Scanner
}

func startTrapped(b *testing.B) *trapped {
	b.Helper()
	if os.Getuid() != 0 {
		b.Skip("needs a mount namespace: only root has one here")
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(pair[0])
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env, cmd.Stderr, cmd.ExtraFiles = append(os.Environ(), trappedVariable+"=first"), os.Stderr, []*os.File{theirs}
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	theirs.Close()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	fds := receive(b, pair[0])
	b.Cleanup(func() { unix.Close(fds[1]); unix.Close(fds[2]) })
	listener, err := seccomp.NewListener(fds[0])
	if err != nil {
		b.Fatal(err)
	}
	var ns unix.Stat_t
	if err := unix.Stat("/proc/"+strconv.Itoa(cmd.Process.Pid)+"/ns/mnt", &ns); err != nil {
		b.Fatal(err)
	}
	br, err := broker.New(broker.Config{Trap: trap{listener}, Mirror: fds[1], View: fds[2], Grants: fds[1], Roots: []string{trappedDir},
		Decider: yes{}, Recorder: yes{}, Umask: 0o022, MountNS: ns.Ino})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(br.Close)
	return &trapped{in: in.(*os.File), out: bufio.NewScanner(out)}
}

func receive(b *testing.B, socket int) []int {
	oob := make([]byte, unix.CmsgSpace(3*4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		b.Fatal(err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		b.Fatalf("the trapped program sent %d messages, want 1: %v", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 3 {
		b.Fatalf("the trapped program sent %d descriptors, want 3: %v", len(fds), err)
	}
	return fds
}

// say tells the program something and gives its answer.
func (c *trapped) say(b *testing.B, words ...any) string {
	b.Helper()
	if _, err := fmt.Fprintln(c.in, words...); err != nil || !c.out.Scan() {
		b.Fatalf("the trapped program has ended: %v %v", err, c.out.Err())
	}
	return c.out.Text()
}

// spent is the processor time of this process, which is the broker.
func spent(b *testing.B) time.Duration {
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// counters count the system calls of the threads that there are, without those of the Go
// scheduler: none where the kernel's trace points cannot be reached.
type counters []int

func countCalls(b *testing.B) (c counters) {
	b.Helper()
	text, err := os.ReadFile("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id")
	if err != nil {
		return nil
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		b.Fatal(err)
	}
	filter, err := unix.BytePtrFromString(fmt.Sprintf("id != %d && id != %d && id != %d", unix.SYS_NANOSLEEP, unix.SYS_FUTEX, unix.SYS_EPOLL_PWAIT))
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range threads {
		tid, _ := strconv.Atoi(t.Name())
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: id}
		fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { unix.Close(fd) })
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_SET_FILTER, uintptr(unsafe.Pointer(filter))); e != 0 {
			b.Fatal(e)
		}
		c = append(c, fd)
	}
	return c
}

func (c counters) sum(b *testing.B) (sum uint64) {
	for _, fd := range c {
		var n [8]byte
		if _, err := unix.Read(fd, n[:]); err != nil {
			b.Fatal(err)
		}
		sum += binary.NativeEndian.Uint64(n[:])
	}
	return sum
}

// BenchmarkTrapped is the time of one call as the program that makes it sees it, and the
// processor time and system calls of a broker that allows everything and keeps nothing,
// on a new tmpfs.
func BenchmarkTrapped(b *testing.B) {
	for _, way := range []string{"near", "deep", "absolute"} {
		for _, kind := range slices.Sorted(maps.Keys(timedCalls)) {
			b.Run(way+"/"+kind, func(b *testing.B) { measureTrapped(b, way, kind) })
		}
	}
}

func measureTrapped(b *testing.B, way, kind string) {
	c := startTrapped(b)
	counted := countCalls(b)
	var wall, cpu time.Duration
	var calls uint64
	for left := b.N; left > 0; left -= batch {
		c.say(b, way, kind, min(left, batch))
		before, done := spent(b), counted.sum(b)
		nanos, err := strconv.ParseInt(c.say(b, "go"), 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		cpu, calls = cpu+spent(b)-before, calls+counted.sum(b)-done
		wall += time.Duration(nanos)
	}
	b.ReportMetric(float64(wall.Nanoseconds())/float64(b.N), "ns/op")
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "broker-ns/op")
	if counted != nil {
		b.ReportMetric(float64(calls)/float64(b.N), "broker-calls/op")
	}
}
