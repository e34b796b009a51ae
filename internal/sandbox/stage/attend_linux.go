package stage

import (
	"runtime"
	"syscall"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// Attend obeys a supervisor by the control socket at [sandbox.ControlFD], in a machine of its own:
// there are no walls to build. It is called on the main thread of the first process of a PID and
// a mount namespace. as says which user commands are; where it says nothing they are this process's
// own, which gives its capabilities up. They have the variables of env where they bring none.
func Attend(as syscall.SysProcAttr, env map[string]string) error {
	runtime.LockOSThread()
	if err := hide(); err != nil {
		return err
	}
	holdSignals()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return failed("keeping mounts from the machine", "/", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return failed("mounting", "/proc", err)
	}
	err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err != nil && (err != unix.EINVAL || as.Credential != nil) { // gVisor knows none
		return failed("clearing ambient capabilities", "", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return failed("setting no-new-privileges", "", err)
	}
	runsAs, imageEnv = as, env
	if as.Credential == nil && as.UidMappings == nil {
		if err := dropBounding(); err != nil {
			return err
		}
		if _, err := clearCapabilities(); err != nil {
			return err
		}
	}
	return serve(newLink(controlFD), &sandbox.Command{}, -1, nil)
}

// runsAs says which user commands are, where that is not this process's own.
var runsAs syscall.SysProcAttr
