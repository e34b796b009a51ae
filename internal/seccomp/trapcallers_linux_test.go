package seccomp

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"carrel/internal/seccomp/install"
)

// callers run with every thread behind the broker's filter, and return the
// result of each call, negative for an errno.
var callers = map[string]func() map[string]int{
	"rows":    callRowsTrapped,
	"open":    callOpen,
	"mkdir":   callMkdir,
	"many":    callMany,
	"signals": callUnderSignals,
	"endless": callEndlessly,
	"late":    callLate,
	"idle":    func() map[string]int { unix.Pause(); return nil },
}

// mkdir is the trapped call of most callers; its arguments reach nothing.
func mkdir(mode uintptr) int { return raw(unix.SYS_MKDIRAT, ^uintptr(0), 0, mode) }

func raw(nr uintptr, args ...uintptr) int {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return -int(errno)
	}
	return int(r)
}

// harmless says whether the outcome of a row at level userns can be tried on
// this process. Rows have no valid pointer and no descriptor of ours but 0 to 3.
func harmless(row conditionRow) bool {
	if row.userns != 0 {
		return true
	}
	switch row.call {
	case "clone", "unshare", "write", "futex":
		return false
	}
	return true
}

// callRowsTrapped makes the calls of brokerRows.
func callRowsTrapped() map[string]int {
	numbers, found := map[string]uint32{}, map[string]int{}
	calls, err := Calls(parseLevel("userns"))
	if err != nil {
		panic(err)
	}
	for _, c := range calls {
		numbers[c.Name] = c.Number
	}
	for _, row := range brokerRows {
		nr, here := numbers[row.call]
		if !here || !harmless(row) {
			continue
		}
		var args [6]uintptr
		for i, a := range row.args {
			args[i] = uintptr(a)
		}
		found[rowName(row)] = raw(uintptr(nr), args[:]...)
	}
	return found
}

// callOpen opens a file that is not there and writes to what it is given.
func callOpen() map[string]int {
	path := []byte("/nowhere/file\x00")
	fd := raw(unix.SYS_OPENAT, 0, uintptr(unsafe.Pointer(&path[0])), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	runtime.KeepAlive(path)
	if fd < 0 {
		return map[string]int{"fd": fd}
	}
	n, _ := unix.Write(fd, []byte("granted"))
	flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	// Its own directory, for real.
	made := 0
	if err := unix.Mkdir("made", 0o700); err != nil {
		made = -int(err.(syscall.Errno))
	}
	read, err := os.Open(".")
	if err == nil {
		read.Close()
	}
	return map[string]int{"fd": fd, "written": n, "flags": flags, "mkdir": made, "open": -errnoOf(err)}
}

func callMkdir() map[string]int { return map[string]int{"mkdir": mkdir(0)} }

// callMany makes a call in each of 100 threads at once.
func callMany() map[string]int {
	var group sync.WaitGroup
	var mutex sync.Mutex
	found := map[string]int{}
	for i := range 100 {
		group.Go(func() {
			r := mkdir(uintptr(i))
			mutex.Lock()
			found[fmt.Sprint(i)] = r
			mutex.Unlock()
		})
	}
	group.Wait()
	return found
}

// callUnderSignals is interrupted every millisecond while its calls wait.
func callUnderSignals() map[string]int {
	seen := make(chan os.Signal, 1)
	signal.Notify(seen, unix.SIGALRM)
	every := unix.Timeval{Usec: 1000}
	if _, err := unix.Setitimer(unix.ITIMER_REAL, unix.Itimerval{Interval: every, Value: every}); err != nil {
		panic(err)
	}
	<-seen
	found := map[string]int{}
	for i := range 20 {
		found[fmt.Sprint(i)] = mkdir(uintptr(i))
	}
	return found
}

// callEndlessly is for measuring: it ends when its call gets an errno.
func callEndlessly() map[string]int {
	runtime.LockOSThread()
	count := 0
	for start := time.Now(); ; count++ {
		// RawSyscall: the scheduler's part is not measured.
		if _, _, errno := unix.RawSyscall(unix.SYS_MKDIRAT, ^uintptr(0), 0, 0); errno != 0 {
			return map[string]int{"calls": count, "ns": int(time.Since(start))}
		}
	}
}

// callLate waits until nobody listens any more, and asks for a plain filter and
// for a listener of its own.
func callLate() map[string]int {
	allow := []unix.SockFilter{{Code: 0x06, K: 0x7fff0000}}
	prog := unix.SockFprog{Len: 1, Filter: &allow[0]}
	ask := func(flags uintptr) int {
		return raw(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	}
	return map[string]int{"mkdir": mkdir(0), "plain": ask(0), "listener": ask(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER), "for all threads": ask(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV | unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH)}
}

// probeListeners installs a plain filter, then one with a listener, then
// another. It is a probe: no filter is there at first.
func probeListeners() map[string]int {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	plain := parseLevel("userns")
	traps := plain
	traps.Broker = true
	prog, err := Build(plain)
	if err != nil {
		panic(err)
	}
	with, err := Build(traps)
	if err != nil {
		panic(err)
	}
	if err := installPlain(prog); err != nil {
		panic(err)
	}
	_, first := install.Filter(Marshal(with), true)
	_, second := install.Filter(Marshal(with), true)
	return map[string]int{
		"plain then listener": errnoOf(first),
		"second":              errnoOf(second),
		"check":               errnoOf(askForListener()),
	}
}
