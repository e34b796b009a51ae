//go:build unix

package container

import (
	"os"
	"os/exec"
	"syscall"
)

// ends has the program asked to end, in a process group of its own, so that a key of the
// person's terminal reaches Carrel alone and the engine can take away what it has begun.
func ends(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// openRegular opens a file without waiting, should it be a FIFO by now, and without following.
func openRegular(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
}
