package hostprogram

import (
	"os/exec"
	"syscall"
)

// apart gives a helper a session of its own: it has no terminal to ask at, and ends
// with all that it has started in it.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
