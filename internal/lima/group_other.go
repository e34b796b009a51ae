//go:build !unix

package lima

import (
	"os"
	"syscall"
)

var ownGroup *syscall.SysProcAttr

func killGroup(p *os.Process) { _ = p.Kill() }
