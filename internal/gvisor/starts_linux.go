package gvisor

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"syscall"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// Starts is the first process in a sandbox: it starts processes of this program, each with the
// arguments that a line of the standard input has as JSON, and with the next three descriptors. It
// ends with the first of them, or with its input, and the sandbox with it.
func Starts() error {
	for fd := firstFD; unix.SetNonblock(fd, false) == nil; fd++ {
		unix.CloseOnExec(fd)
	}
	over := make(chan error)
	go func() { over <- startEach(os.Stdin, over) }()
	return <-over
}

// startEach starts what each line says.
func startEach(in io.Reader, over chan<- error) error {
	lines := bufio.NewScanner(in)
	for fd := uintptr(firstFD); lines.Scan(); fd += perStart {
		var args []string
		if err := json.Unmarshal(lines.Bytes(), &args); err != nil || len(args) == 0 {
			return fmt.Errorf("reading what to start: %q, %v", lines.Bytes(), err)
		}
		pid, err := syscall.ForkExec("/proc/self/exe", append([]string{"carrel-relay"}, args...), &syscall.ProcAttr{
			Dir: "/", Env: os.Environ(), Files: []uintptr{fd, fd + 1, fd + 2},
		})
		if err != nil {
			return fmt.Errorf("starting %q: %w", args, err)
		}
		for i := range perStart {
			unix.Close(int(fd) + i)
		}
		go func() {
			over <- fmt.Errorf("carrel-relay %s has ended: %s", args[0], sandbox.Reap(pid))
		}()
	}
	return lines.Err()
}
