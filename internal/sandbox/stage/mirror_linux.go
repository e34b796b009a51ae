package stage

import (
	"slices"

	"os"
	"path"

	"golang.org/x/sys/unix"
)

// handles are what a broker needs of the mounts.
type handles struct {
	mirror, view, grants int
}

func (h *handles) close() {
	for _, fd := range []int{h.mirror, h.view, h.grants} {
		unix.Close(fd)
	}
}

// mirror makes the broker's side of the view: a detached copy of all mounts,
// masks included, in which the roots can be written, and one of each root alone.
// Then they are read-only inside, with everything that is mounted in them.
func (b *builder) mirror() (h handles, err error) {
	cover, err := b.uncover()
	if err != nil {
		return h, err
	}
	if h, err = b.shared(); err == nil {
		err = cover()
	}
	if err != nil {
		return h, err
	}
	for _, root := range b.plan.Roots {
		err := unix.MountSetattr(unix.AT_FDCWD, root, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		if err != nil {
			return h, failed("making read-only", root, err)
		}
	}
	h.view, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return h, failed("opening the view for the broker", "/", err)
}

// uncover takes away what only commands see; cover puts it back.
func (b *builder) uncover() (cover func() error, err error) {
	type covered struct {
		at string
		fd int
	}
	var covers []covered
	for i := range slices.Backward(b.plan.Mounts) { // what is mounted in another one goes first
		m := &b.plan.Mounts[i]
		if !m.Bare {
			continue
		}
		fd, err := unix.OpenTree(unix.AT_FDCWD, m.Target, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
		if err == nil {
			err = unix.Unmount(m.Target, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		}
		if err == unix.ENOENT && m.Optional {
			continue
		}
		if err != nil {
			return nil, failed("uncovering for the broker", m.Target, err)
		}
		covers = append(covers, covered{m.Target, fd})
	}
	return func() error {
		for _, c := range slices.Backward(covers) {
			if err := unix.MoveMount(c.fd, "", unix.AT_FDCWD, c.at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
				return failed("covering", c.at, err)
			}
			unix.Close(c.fd)
		}
		return nil
	}, nil
}

// shared makes the copies.
func (b *builder) shared() (h handles, err error) {
	if h.mirror, err = clone("/"); err != nil {
		return h, failed("mirroring the mounts for the broker", "/", err)
	}
	h.grants, err = b.grants()
	return h, err
}

func clone(at string) (int, error) {
	return unix.OpenTree(unix.AT_FDCWD, at, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
}

// grantsDir is where the roots' own mounts are put together. It is always there,
// and nothing runs yet that would miss it.
const grantsDir = "/run"

// grants makes a detached tree that has the roots at their paths, and nothing else.
func (b *builder) grants() (tree int, err error) {
	step := func(at string, err error) error { return failed("copying for the broker", at, err) }
	var roots []int
	defer func() {
		for _, fd := range roots {
			unix.Close(fd)
		}
	}()
	for _, root := range b.plan.Roots {
		fd, err := clone(root)
		if err != nil {
			return -1, step(root, err)
		}
		roots = append(roots, fd)
	}
	fs, err := memoryFS("0755", 0)
	if err == nil {
		defer unix.Close(fs)
		err = unix.MoveMount(fs, "", unix.AT_FDCWD, grantsDir, unix.MOVE_MOUNT_F_EMPTY_PATH)
	}
	if err != nil {
		return -1, step(grantsDir, err)
	}
	defer func() {
		if e := unix.Unmount(grantsDir, unix.MNT_DETACH); err == nil {
			err = step(grantsDir, e)
		}
	}()
	for i, fd := range roots {
		if err := mountOn(fd, grantsDir+b.plan.Roots[i]); err != nil {
			return -1, step(b.plan.Roots[i], err)
		}
	}
	tree, err = clone(grantsDir)
	return tree, step(grantsDir, err)
}

// mountOn attaches a tree at a name that it makes: a root may also be a file.
func mountOn(tree int, at string) error {
	var st unix.Stat_t
	err := unix.Fstat(tree, &st)
	if err == nil {
		err = os.MkdirAll(path.Dir(at), 0o755)
	}
	switch {
	case err != nil:
		return err
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		err = os.MkdirAll(at, 0o755)
	default:
		err = unix.Mknod(at, unix.S_IFREG|0o644, 0)
	}
	if err != nil {
		return err
	}
	return unix.MoveMount(tree, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH)
}
