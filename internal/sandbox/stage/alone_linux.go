package stage

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"carrel/internal/sandbox"
	"carrel/internal/sandbox/landlock"

	"golang.org/x/sys/unix"
)

// alone is the stage without namespaces: nothing is built. It is in a Landlock
// domain already, which has its supervisor's hand on it; commands are in another
// below that, with everything that the plan grants and nothing else. They can
// end this process, which is the end of the run, but not read it.
func alone(link *link) error {
	if err := hide(); err != nil {
		return err
	}
	// Not SIGKILL: with nobody left, this process ends the others.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0); err != nil {
		return failed("outliving the supervisor", "", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return failed("taking over what loses its parent", "", err)
	}
	holdSignals()
	plan, err := takePlan(link)
	if err != nil {
		return err
	}
	if plan.Engine != sandbox.EngineLandlock {
		return failed("confining", "", fmt.Errorf("the plan is for engine %q", plan.Engine))
	}
	if err := noCapabilities(); err != nil {
		return err
	}
	set := landlock.Ruleset{Files: true, ScopeAbstract: true, ScopeSignal: true, MinABI: sandbox.LandlockABI}
	rules, err := granted(plan.Grants)
	if err != nil {
		return err
	}
	set.Rules = rules
	if _, err := landlock.Apply(set); err != nil {
		return failed("applying Landlock", "", err)
	}
	if len(plan.Seccomp) == 0 {
		return failed("installing the seccomp filter", "", fmt.Errorf("the plan has none"))
	}
	if _, err := installFilter(plan.Seccomp, false); err != nil {
		return err
	}
	link.orphaned = sandbox.EndDomain
	defer sandbox.EndDomain()
	return serve(link, &plan.Command, -1, nil)
}

// granted pins what is granted. The descriptors stay open: procfs makes its files
// anew when nobody has them, and a rule is about a file.
func granted(grants []sandbox.Grant) ([]landlock.Rule, error) {
	var rules []landlock.Rule
	for _, g := range grants {
		fd, err := openSource(g.Path)
		if err != nil {
			if n := unix.Errno(errno(err)); g.Optional && (n == unix.ENOENT || n == unix.ENOTDIR || n == unix.EACCES) {
				continue
			}
			return nil, err
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return nil, failed("reading source", g.Path, err)
		}
		if g.Ino != 0 && (st.Ino != g.Ino || st.Dev != g.Dev) {
			return nil, failed("opening source", g.Path, errReplaced)
		}
		rules = append(rules, landlock.Rule{FD: fd, Access: accessOf(g)})
	}
	return rules, nil
}

func accessOf(g sandbox.Grant) landlock.Access {
	switch {
	case g.Device:
		return landlock.Read | landlock.Write | landlock.Ioctl
	case g.Data:
		return landlock.Read
	case g.Write:
		return landlock.ReadWrite &^ landlock.Ioctl
	}
	return landlock.ReadExec
}

// noCapabilities gives up what an ordinary user may have been given, on the
// thread that commands are started from, and wants none to be left.
func noCapabilities() error {
	if os.Getuid() == 0 || os.Geteuid() != os.Getuid() {
		return failed("giving up capabilities", "", fmt.Errorf("user %d, acting as %d, want an ordinary one", os.Getuid(), os.Geteuid()))
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return failed("clearing ambient capabilities", "", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, e := unix.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	runtime.KeepAlive(&header)
	runtime.KeepAlive(&none)
	if e != 0 {
		return failed("dropping capabilities", "", e)
	}
	return failed("setting no-new-privileges", "", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
}
