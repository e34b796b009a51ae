package stage

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// Places on the way. The new root is built over oldRoot's /proc (or another
// directory that is never a source) and becomes "/" by pivot_root; scratchDir
// holds the generated files until they are bound, and is gone before any
// command runs.
const scratchDir = "/.carrel"

// apiSocket is where commands inside reach their supervisor.
const apiSocket = "/run/carrel/api.sock"

// maxListenBacklog is enough for a burst of shims; each is answered at once.
const maxListenBacklog = 64

// builder builds one view.
type builder struct {
	plan     *sandbox.Plan
	note     func(string)
	tree     rootTree
	proc     int // the old root's /proc
	noProc   bool
	mountNS  uint64 // number of our mount namespace; only with roots
	scratch  int
	serial   int
	limits   []int // open files of plan.UserLimits, -1 where there is none
	overlays map[string]overlayBase
	bound    map[string]int // listeners below what is frozen, by their paths
	packets  []int          // see packetSockets
	procs    int            // the directory /proc inside, -1 where nothing is mounted there
	copies   []int          // of Mount.Copies
}

func (b *builder) build() error {
	if err := b.view(); err != nil {
		return err
	}
	if err := b.noExec(); err != nil {
		return err
	}
	return b.network()
}

// View makes the mounts of a plan, and has them be the root of this process, whose namespaces are
// its own. What the plan says beside its mounts is left out: another kernel makes the walls.
func View(plan *sandbox.Plan, note func(string)) error {
	defer unix.Umask(unix.Umask(0))
	return (&builder{plan: plan, note: note}).view()
}

// view makes the mounts, and has them be the root.
func (b *builder) view() error {
	b.tree.memory, b.procs = make(map[uint64]bool), -1
	// Private, not slave: what is mounted outside later would come in beside the
	// plan, to be written even where only reading was granted.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return failed("making mounts private", "/", err)
	}
	if err := b.newRoot(); err != nil {
		return err
	}
	for i := range b.plan.Mounts {
		if err := b.step(&b.plan.Mounts[i]); err != nil {
			return err
		}
	}
	return b.pivot()
}

// newRoot attaches a tmpfs where no source can be: a mount hides what is below
// it, and sources are still to be opened.
func (b *builder) newRoot() error {
	proc, err := unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return failed("opening", "/proc", err)
	}
	b.proc = proc
	if len(b.plan.Roots) > 0 {
		var ns unix.Stat_t
		if err := unix.Fstatat(proc, "self/ns/mnt", &ns, 0); err != nil {
			return failed("reading the number of the mount namespace", "/proc/self/ns/mnt", err)
		}
		b.mountNS = ns.Ino
	}
	fs, err := memoryFS("0755", 16<<20)
	if err != nil {
		return failed("making the new root", "", err)
	}
	for _, at := range []string{"/sys", "/proc", "/mnt"} {
		if b.isSource(at) {
			continue
		}
		if err = unix.MoveMount(fs, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err == nil {
			break
		}
	}
	if err != nil {
		return failed("attaching the new root", "/sys", err)
	}
	b.tree.root = fs
	b.tree.remember(fs)
	scratch, err := memoryFS("0700", 0)
	if err != nil {
		return failed("making the scratch directory", "", err)
	}
	b.tree.remember(scratch)
	if err := unix.Mkdirat(b.tree.root, scratchDir[1:], 0o700); err != nil {
		return failed("making the scratch directory", scratchDir, err)
	}
	b.scratch = scratch
	return failed("attaching the scratch directory", scratchDir,
		unix.MoveMount(scratch, "", b.tree.root, scratchDir[1:], unix.MOVE_MOUNT_F_EMPTY_PATH))
}

// isSource says whether a place of the host is still to be opened.
func (b *builder) isSource(at string) bool {
	return slices.ContainsFunc(b.plan.Mounts, func(m sandbox.Mount) bool { return m.Kind == sandbox.MountHost && m.Source == at })
}

// noExec comes before the mirror is made: what the broker opens lies on the
// mirror's mounts. A place that has no mount of its own is no error: optional
// steps may have found nothing, and Landlock refuses starts there too.
func (b *builder) noExec() error {
	for _, p := range b.plan.NoExec {
		err := unix.MountSetattr(unix.AT_FDCWD, p, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOEXEC})
		if err != nil && err != unix.ENOENT && err != unix.EINVAL {
			return failed("keeping programs out of", p, err)
		}
	}
	return nil
}

// pivot makes the new root "/", drops the old one and what was only for building.
func (b *builder) pivot() error {
	if err := unix.Fchdir(b.tree.root); err != nil {
		return failed("entering the new root", "", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return failed("replacing the root", "", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return failed("dropping the old root", "", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return failed("entering the new root", "/", err)
	}
	unix.Close(b.scratch)
	unix.Close(b.proc)
	for _, o := range b.overlays {
		unix.Close(o.fd)
	}
	if err := unix.Unmount(scratchDir, unix.MNT_DETACH); err != nil {
		return failed("dropping the scratch directory", scratchDir, err)
	}
	return failed("dropping the scratch directory", scratchDir, unix.Rmdir(scratchDir))
}

// listen makes the inside API's socket and freezes the root. The listener is
// handed to the supervisor, which accepts on it: no socket file exists outside.
func (b *builder) listen() (int, error) {
	fd, err := listenAPI()
	if err != nil {
		return -1, err
	}
	b.bound = make(map[string]int)
	for _, l := range b.plan.Listeners {
		if l.Network == "unix" && strings.HasPrefix(l.Address, path.Dir(apiSocket)+"/") {
			if b.bound[l.Address], err = listenAt(l.Address); err != nil {
				return -1, failed("listening inside on", l.Address, err)
			}
		}
	}
	denied, err := unix.Open(sandbox.DeniedPath, unix.O_CREAT|unix.O_EXCL|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, failed("making what masks show", sandbox.DeniedPath, err)
	}
	unix.Close(denied)
	for _, dir := range []string{"/", "/run"} {
		if err := unix.MountSetattr(unix.AT_FDCWD, dir, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return -1, failed("making read-only", dir, err)
		}
	}
	unix.Close(b.tree.root)
	return fd, nil
}

func listenAPI() (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, failed("making the inside socket", apiSocket, err)
	}
	if err := os.MkdirAll(path.Dir(apiSocket), 0o755); err != nil {
		return -1, failed("making the inside socket", apiSocket, err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: apiSocket}); err != nil {
		return -1, failed("binding the inside socket", apiSocket, err)
	}
	if err := unix.Listen(fd, maxListenBacklog); err != nil {
		return -1, failed("listening on the inside socket", apiSocket, err)
	}
	return fd, nil
}

// memoryFS makes a detached tmpfs. size 0 means the kernel's default, half the
// memory.
func memoryFS(mode string, size uint64) (int, error) {
	opts := [][2]string{{"mode", mode}}
	if size != 0 {
		opts = append(opts, [2]string{"size", strconv.FormatUint(size, 10)})
	}
	return newFS("tmpfs", opts, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

// newFS makes a detached mount of a new file system.
func newFS(kind string, opts [][2]string, attr int) (int, error) {
	ctx, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(ctx)
	for _, o := range opts {
		if o[1] == "" {
			err = unix.FsconfigSetFlag(ctx, o[0])
		} else {
			err = unix.FsconfigSetString(ctx, o[0], o[1])
		}
		if err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigCreate(ctx); err != nil {
		return -1, err
	}
	return unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, attr)
}
