package lima

import "syscall"

var endsWithUs = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
