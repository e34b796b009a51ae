package tty

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"carrel/internal/stdio"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// DrainTime is how long the output of a command that has ended may take to arrive.
const DrainTime = 300 * time.Millisecond

// Dup moves a descriptor into one that the runtime's poller takes: it decides when a
// file is made of it.
func Dup(f *os.File) int {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	f.Close()
	if err != nil {
		return -1
	}
	_ = unix.SetNonblock(fd, true)
	return fd
}

// The largest terminal that there is.
const (
	MaxColumns = 500
	MaxRows    = 300
)

// Resize tells a terminal its size; 0 leaves it as it is.
func Resize(near *os.File, columns, rows int) {
	if columns <= 0 || rows <= 0 {
		return
	}
	_ = unix.IoctlSetWinsize(int(near.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(min(columns, MaxColumns)), Row: uint16(min(rows, MaxRows))})
	_ = unix.SetNonblock(int(near.Fd()), true)
}

// Raw puts this process's terminal into raw mode, and gives what takes it back; also
// when this process is asked to end.
func Raw() (func(), error) {
	was, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return nil, fmt.Errorf("taking the terminal over: %w", err)
	}
	in := make(chan os.Signal, 1)
	signal.Notify(in, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGINT)
	go func() {
		if s, ok := <-in; ok {
			_ = term.Restore(int(os.Stdin.Fd()), was)
			stdio.DieBy(s.(syscall.Signal))
		}
	}()
	return func() {
		signal.Stop(in)
		close(in)
		_ = term.Restore(int(os.Stdin.Fd()), was)
	}, nil
}

// OnResize calls a function at each new size of the terminal.
func OnResize(do func()) func() {
	in := make(chan os.Signal, 1)
	signal.Notify(in, unix.SIGWINCH)
	go func() {
		for range in {
			do()
		}
	}()
	return func() { signal.Stop(in); close(in) }
}
