//go:build unix

package container

import (
	"os/exec"
	"syscall"
)

// ends has the program asked to end, in a process group of its own, so that a key of the
// person's terminal reaches Carrel alone and the engine can take away what it has begun.
func ends(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
