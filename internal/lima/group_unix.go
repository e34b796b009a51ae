//go:build unix

package lima

import (
	"os"
	"syscall"
)

// ownGroup keeps a terminal's signals from limactl, and lets it be killed with its ssh.
var ownGroup = &syscall.SysProcAttr{Setpgid: true}

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
