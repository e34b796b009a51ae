package xfilter

import (
	"os/exec"
	"syscall"
)

// newGroup gives a program a process group, so that all that it starts can be
// ended with it.
func newGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
