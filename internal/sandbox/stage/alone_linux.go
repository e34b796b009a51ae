package stage

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"carrel/internal/sandbox"
	"carrel/internal/sandbox/landlock"

	"golang.org/x/sys/unix"
)

// guard watches over a run without namespaces. It starts the stage and waits for
// its end, or for that of the supervisor: then it ends everything that the stage has
// started, wherever that has gone. It is in the outer Landlock domain, see
// sandbox.EndDomain, and nothing inside can end it, stop it or read it.
func guard(link *link) error {
	if err := hide(); err != nil {
		return err
	}
	// It does not die with the supervisor: that is what it is there for. If somebody
	// outside has stopped it, it goes on then.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGCONT), 0, 0, 0); err != nil {
		return failed("outliving the supervisor", "", err)
	}
	if err := domained(); err != nil {
		return err
	}
	holdSignals()
	pid, err := syscall.ForkExec("/proc/self/exe", []string{sandbox.StageArg0, sandbox.AloneArg}, &syscall.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: []uintptr{0, 1, 2, uintptr(link.fd)}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return failed("starting the stage", "", err)
	}
	gone := make(chan struct{}, 2)
	go func() {
		hungUp(link.fd)
		gone <- struct{}{}
	}()
	go func() {
		_, _ = unix.Wait4(pid, nil, 0, nil)
		gone <- struct{}{}
	}()
	<-gone
	sandbox.EndDomain()
	return nil
}

// domained wants signals to be kept in a domain that the supervisor is not in:
// whoever starts a guard without one would have it end all that the user runs.
func domained() error {
	parent := os.Getppid()
	var st unix.Stat_t
	err := unix.Stat("/proc/"+strconv.Itoa(parent), &st)
	switch {
	case err != nil:
	case int(st.Uid) != os.Getuid() || os.Getuid() == 0:
		err = fmt.Errorf("the parent is of user %d, and this one of %d", st.Uid, os.Getuid())
	case unix.Kill(parent, 0) != unix.EPERM:
		err = fmt.Errorf("signals reach the parent")
	}
	return failed("looking for the Landlock domain of the run", "", err)
}

// hungUp waits until the supervisor has let go of the control socket, which is the
// stage's to read.
func hungUp(fd int) {
	fds := []unix.PollFd{{Fd: int32(fd)}}
	for {
		if n, err := unix.Poll(fds, -1); err != unix.EINTR && (err != nil || n > 0) {
			return
		}
	}
}

// alone is the stage without namespaces: nothing is built. Commands are in a
// Landlock domain with everything that the plan grants and nothing else, as this
// thread is, which starts them. So they can end or stop this process, and the guard
// takes it from there; they cannot read it.
func alone(link *link) error {
	if err := hide(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return failed("taking over what loses its parent", "", err)
	}
	holdSignals()
	link.say(sandbox.Message{Kind: sandbox.MsgHello})
	plan, err := takePlan(link)
	if err != nil {
		return err
	}
	if plan.Engine == sandbox.EngineNone {
		return plain(link, plan)
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
	if err := handOver(link, plan.Seccomp); err != nil {
		return err
	}
	return serve(link, &plan.Command, -1, nil)
}

// plain starts a command as its user: a domain of its own keeps its signals from
// this process and the guard, and there is nothing else.
func plain(link *link, plan *sandbox.Plan) error {
	if len(plan.Roots) > 0 {
		return failed("starting without namespaces", plan.Roots[0], fmt.Errorf("the plan has it recorded, which takes mounts"))
	}
	if err := noCapabilities(); err != nil {
		return err
	}
	if _, err := landlock.Apply(landlock.Ruleset{ScopeSignal: true, MinABI: sandbox.LandlockABI}); err != nil {
		return failed("applying Landlock", "", err)
	}
	return serve(link, &plan.Command, -1, nil)
}

// handOver puts the filter on and gives the supervisor what the broker needs to
// change modes, owners and times: the host's own root, as there is no other.
func handOver(link *link, filter []byte) error {
	var ns unix.Stat_t
	if err := unix.Stat("/proc/self/ns/mnt", &ns); err != nil {
		return failed("reading the number of the mount namespace", "/proc/self/ns/mnt", err)
	}
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return failed("opening", "/", err)
	}
	defer unix.Close(root)
	notify, err := installFilter(filter, true)
	if err != nil {
		return err
	}
	link.say(sandbox.Message{Kind: sandbox.MsgBroker, ID: ns.Ino}, notify, root, root, root)
	return failed("closing", "the filter's listener", unix.Close(notify))
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
