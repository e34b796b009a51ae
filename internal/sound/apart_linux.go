package sound

import "syscall"

// apart keeps a player from the terminal's signals, and from outliving us.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
