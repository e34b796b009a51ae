//go:build linux

package e2e

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Attacks that take what the kernel counts for a user as a whole: each takes so
// many of it and gives how many it got, or the error that stopped it. After "hold"
// it keeps them until there is a file "end".

func attackWatchers(a []string) (string, error) {
	return taking(a, func() error {
		_, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		return err
	})
}

// attackSignals queues signals that its own thread does not take.
func attackSignals(a []string) (string, error) {
	runtime.LockOSThread()
	const queued = 40 // of the real-time ones
	var set unix.Sigset_t
	set.Val[0] = 1 << (queued - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil); err != nil {
		return "", err
	}
	return taking(a, func() error {
		info := struct {
			signo, errno, code, pad int32
			pid, uid                int32
			rest                    [104]byte
		}{signo: queued, code: -1} // SI_QUEUE
		_, _, e := unix.RawSyscall6(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(os.Getpid()), uintptr(unix.Gettid()), queued, uintptr(unsafe.Pointer(&info)), 0, 0)
		if e != 0 {
			return e
		}
		return nil
	})
}

func taking(a []string, take func() error) (string, error) {
	n, err := strconv.Atoi(a[0])
	for i := range n {
		if err = take(); err != nil {
			fmt.Printf("stopped at %d\n", i)
			break
		}
	}
	if len(a) > 1 && a[1] == "hold" {
		fmt.Println("holding")
		for end := time.Now().Add(30 * time.Second); !exists("end") && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return a[0], err
}

// attackNamespaces makes nested user namespaces that stay.
func attackNamespaces(a []string) (string, error) {
	return taking(a, func() error {
		pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD)|unix.CLONE_NEWUSER, 0, 0, 0, 0, 0)
		if e != 0 {
			return e
		}
		if pid == 0 {
			ts := unix.Timespec{Sec: 30}
			_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
			for {
				_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
		}
		_, err := unix.Open("/proc/"+strconv.Itoa(int(pid))+"/ns/user", unix.O_RDONLY, 0)
		_ = unix.Kill(int(pid), unix.SIGKILL)
		_, _ = unix.Wait4(int(pid), nil, 0, nil)
		return err
	})
}
