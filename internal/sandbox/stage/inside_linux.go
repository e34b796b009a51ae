package stage

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// inside is the stage where bubblewrap has made the namespaces and the mounts:
// it has no capability from its start, and everything that takes one is done or
// is not in the plan. Anything inside may start this, and gains nothing: it only
// gives up more, and serves descriptors that its caller already has.
func inside(link *link) error {
	if err := hide(); err != nil {
		return err
	}
	holdSignals()
	if err := unblock(os.Args[2:]); err != nil {
		return err
	}
	if err := greet(link); err != nil {
		return err
	}
	plan, err := takePlan(link)
	if err != nil {
		return err
	}
	if err := check(plan); err != nil {
		return err
	}
	listener, err := listenAPI()
	if err != nil {
		return err
	}
	b := &builder{plan: plan, note: link.note}
	if err := b.listeners(link); err != nil {
		return err
	}
	if err := resourceLimits(); err != nil {
		return err
	}
	if _, err := lockIn(plan); err != nil {
		return err
	}
	return serve(link, &plan.Command, listener, nil)
}

// unblock takes the signals that were kept from bubblewrap, on the thread that
// all commands are started from: they inherit what it blocks.
func unblock(args []string) error {
	if len(args) != 1 {
		return failed("starting inside", "", fmt.Errorf("%d arguments", len(args)))
	}
	var set unix.Sigset_t
	for word := range strings.SplitSeq(args[0], ",") {
		n, err := strconv.ParseUint(word, 10, 8)
		if err != nil || n == 0 || n > 64 {
			return failed("starting inside", "", fmt.Errorf("signal %q", word))
		}
		set.Val[0] |= 1 << (n - 1)
	}
	return failed("unblocking signals", "", unix.PthreadSigmask(unix.SIG_UNBLOCK, &set, nil))
}

// greet tells the supervisor that there is somebody, and in which namespaces.
func greet(l *link) error {
	var names []string
	for _, kind := range sandbox.NamespaceKinds {
		name, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			return failed("reading the name of a namespace", kind, err)
		}
		names = append(names, name)
	}
	l.say(sandbox.Message{Kind: sandbox.MsgHello, Text: strings.Join(names, " ")})
	return nil
}

// check looks whether bubblewrap has made what it was told. It resolves paths
// more than once, and whoever works in the same project at that moment could
// have put links in their way: nothing has been started yet that could use what
// is wrong now.
func check(p *sandbox.Plan) error {
	if p.Engine != sandbox.EngineBubblewrap {
		return failed("checking the walls", "", fmt.Errorf("the plan is for engine %q", p.Engine))
	}
	if err := checkSelf(p); err != nil {
		return err
	}
	last := make(map[string]int)
	for i, m := range p.Mounts {
		if m.Kind != sandbox.Freeze {
			last[m.Target] = i
		}
	}
	for i := range p.Mounts {
		m := &p.Mounts[i]
		if m.Kind != sandbox.Freeze && last[m.Target] != i {
			continue // another lies on it
		}
		if err := checkMount(m); err != nil {
			return failed("checking the walls at", m.Target, err)
		}
	}
	return nil
}

// checkSelf wants the caller's ids, PID 1 and no capability.
func checkSelf(p *sandbox.Plan) error {
	var err error
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	switch {
	case unix.Capget(&header, &has[0]) != nil:
		err = fmt.Errorf("capabilities cannot be read")
	case has != [2]unix.CapUserData{}:
		err = fmt.Errorf("capabilities are left: %x", has)
	case os.Getpid() != 1:
		err = fmt.Errorf("process %d, want 1", os.Getpid())
	case uint32(os.Getuid()) != p.UID || uint32(os.Getgid()) != p.GID || os.Geteuid() != os.Getuid():
		err = fmt.Errorf("user %d, group %d, want %d, %d", os.Getuid(), os.Getgid(), p.UID, p.GID)
	case p.NProc != 0 && !ownUsers():
		err = fmt.Errorf("bubblewrap made no user namespace, so the limit of processes would count your others, too")
	}
	return failed("checking the walls", "", err)
}

// ownUsers says whether this is a user namespace for one user.
func ownUsers() bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	f := strings.Fields(string(text))
	return err == nil && len(f) == 3 && f[2] == "1"
}

const (
	tmpfsMagic = unix.TMPFS_MAGIC
	procMagic  = unix.PROC_SUPER_MAGIC
)

// checkMount looks at one target without following a link.
func checkMount(m *sandbox.Mount) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, m.Target, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	var fs unix.Statfs_t
	var sx unix.Statx_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return err
	}
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO, &sx); err != nil {
		return err
	}
	const root = unix.STATX_ATTR_MOUNT_ROOT
	if sx.Attributes_mask&root == 0 || sx.Attributes&root == 0 {
		return fmt.Errorf("nothing is mounted there: %w", unix.ENOENT) // a mount goes with the file below it
	}
	return wrong(m, &st, &fs)
}

// wrong says what is not as it was asked for.
func wrong(m *sandbox.Mount, st *unix.Stat_t, fs *unix.Statfs_t) error {
	readOnly, noSuid := fs.Flags&unix.ST_RDONLY != 0, fs.Flags&unix.ST_NOSUID != 0
	dir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	empty := dir || st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == 0
	switch m.Kind {
	case sandbox.MountBind:
		if m.Ino != 0 && (st.Ino != m.Ino || st.Dev != m.Dev) {
			return errReplaced
		}
		if m.ReadOnly && !readOnly || !noSuid || fs.Flags&unix.ST_NODEV == 0 {
			return fmt.Errorf("it has the mount flags %#x", fs.Flags)
		}
	case sandbox.MountMask:
		if st.Mode&0o7777 != 0 || !readOnly || dir != m.Dir || !empty {
			return fmt.Errorf("it is not masked: mode %o, mount flags %#x", st.Mode, fs.Flags)
		}
	case sandbox.MountData:
		if !readOnly || dir || st.Size != int64(len(m.Data)) {
			return fmt.Errorf("it is not covered: %d bytes, want %d", st.Size, len(m.Data))
		}
	case sandbox.MountTmpfs:
		if fs.Type != tmpfsMagic {
			return fmt.Errorf("it is on file system %#x", fs.Type)
		}
	case sandbox.MountProc:
		if fs.Type != procMagic {
			return fmt.Errorf("it is on file system %#x", fs.Type)
		}
	case sandbox.Freeze:
		if !readOnly {
			return fmt.Errorf("it can be written")
		}
	}
	return nil
}
