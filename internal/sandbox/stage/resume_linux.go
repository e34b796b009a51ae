package stage

import (
	"fmt"
	"os"
	"strconv"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// A program that was built with cgo cannot take capabilities from its other
// threads. Its stage starts itself anew instead, from the one thread that is
// confined: execve ends all others, and what comes up has nothing left in any
// thread. It costs one more start, so builds for use have CGO_ENABLED=0.

// resumeArg is the first argument of a stage that starts anew; the listener's
// and the command's descriptors follow.
const resumeArg = "resume"

// startOver replaces this process by the stage that only serves.
func startOver(c *sandbox.Command, listener int) error {
	command, err := unix.MemfdCreate("carrel-command", 0)
	if err != nil {
		return failed("keeping the command", "", err)
	}
	for rest := c.Encode(); len(rest) > 0; {
		n, err := unix.Write(command, rest)
		if err != nil {
			return failed("keeping the command", "", err)
		}
		rest = rest[n:]
	}
	for _, fd := range []int{controlFD, listener} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return failed("keeping a descriptor", "", err)
		}
	}
	// A plan for probing may show neither our program nor a procfs.
	program := sandbox.SelfPath
	if unix.Access(program, unix.X_OK) != nil {
		program = "/proc/self/exe"
	}
	argv := []string{sandbox.StageArg0, resumeArg, strconv.Itoa(listener), strconv.Itoa(command)}
	return failed("starting anew", program, unix.Exec(program, argv, os.Environ()))
}

// resume goes on where startOver left off. Anything inside may start this, and
// gains nothing: it only serves descriptors that its caller already has.
func resume(link *link) error {
	if err := hide(); err != nil {
		return err
	}
	holdSignals()
	var fds [2]int
	for i := range fds {
		if len(os.Args) != 4 {
			return failed("starting anew", "", fmt.Errorf("%d arguments", len(os.Args)))
		}
		fd, err := strconv.Atoi(os.Args[2+i])
		if err != nil {
			return failed("starting anew", "", err)
		}
		fds[i] = fd
		unix.CloseOnExec(fd)
	}
	buf, err := readAll(fds[1])
	unix.Close(fds[1])
	if err != nil {
		return failed("reading the command", "", err)
	}
	c, err := sandbox.DecodeCommand(buf)
	if err != nil {
		return failed("reading the command", "", err)
	}
	return serve(link, &c, fds[0], nil)
}
