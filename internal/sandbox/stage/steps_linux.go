package stage

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// step carries out one mount step. An Optional step whose source or target
// does not exist is no error: the plan was made a moment ago, and what went
// away since then is simply not visible.
func (b *builder) step(m *sandbox.Mount) error {
	var err error
	switch m.Kind {
	case sandbox.MountBind:
		err = b.bind(m, unix.MOUNT_ATTR_NODEV)
	case sandbox.MountHost:
		err = b.bind(m, 0)
	case sandbox.MountDevice:
		// Read-only keeps mode and owner of the host's node; writing to the
		// device itself is another thing.
		err = b.bind(m, unix.MOUNT_ATTR_RDONLY)
	case sandbox.MountSelf:
		err = b.tree.self(m)
	case sandbox.MountTmpfs:
		err = b.tmpfs(m)
	case sandbox.MountGiven:
		err = given(b, m)
	case sandbox.MountProc:
		return b.procfs(m) // optional in a sense of its own
	case sandbox.MountPts:
		err = b.tree.fresh(m, "devpts", [][2]string{{"newinstance", ""}, {"ptmxmode", "0666"}, {"mode", "0620"}})
	case sandbox.MountOverlay:
		err = b.overlay(m)
	case sandbox.MountImage:
		err = putImage(b)
	case sandbox.MountMask:
		err = b.mask(m)
	case sandbox.MountData:
		err = b.data(m)
	case sandbox.Freeze:
		err = b.tree.freeze(m)
	case sandbox.WriteFile, sandbox.MakeDir, sandbox.MakeSymlink:
		err = b.tree.make(m)
	default:
		err = failed("reading the plan", m.Target, fmt.Errorf("unknown mount step %d", m.Kind))
	}
	if n := errno(err); m.Optional && (n == int(unix.ENOENT) || n == int(unix.ENOTDIR)) {
		return nil
	}
	return err
}

// openSource pins a host path. Sources are canonical, so a symlink on the way
// means that somebody swapped a component since the decision: that is refused.
func openSource(path string) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	return fd, failed("opening source", path, err)
}

// errReplaced is a source that is not what was decided about.
var errReplaced = errors.New("it was replaced by another while the workspace was starting")

func (b *builder) bind(m *sandbox.Mount, attr uint64) error {
	src, err := openSource(m.Source)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	return b.tree.bindFrom(src, m, attr)
}

// tmpfs gives the target an empty directory in memory. All of them share one
// file system, each as a mount of its own: making and freeing a file system is
// what costs.
func (b *builder) tmpfs(m *sandbox.Mount) error {
	b.serial++
	name := strconv.Itoa(b.serial)
	if err := unix.Mkdirat(b.scratch, name, m.Perm); err != nil {
		return failed("making a private directory for", m.Target, err)
	}
	src, err := unix.Openat(b.scratch, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return failed("opening the private directory for", m.Target, err)
	}
	defer unix.Close(src)
	for range m.Copies {
		tree, err := detached(src, m.Target, unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOSUID)
		if err != nil {
			return err
		}
		b.copies = append(b.copies, tree)
	}
	return b.tree.bindFrom(src, &sandbox.Mount{Kind: sandbox.MountTmpfs, Source: m.Target, Target: m.Target}, unix.MOUNT_ATTR_NODEV)
}

// given attaches the mount that came with the plan.
func given(b *builder, m *sandbox.Mount) error {
	if b.plan.Given == 0 {
		return failed("taking over the mount for", m.Target, unix.EBADF)
	}
	defer unix.Close(b.plan.Given)
	return b.tree.attach(b.plan.Given, m.Target, true)
}

// detached makes a detached mount of what is open.
func detached(src int, source string, set uint64) (int, error) {
	tree, err := unix.OpenTree(src, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return -1, failed("cloning source", source, err)
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: set}); err != nil {
		unix.Close(tree)
		return -1, failed("restricting", source, err)
	}
	return tree, nil
}

// overlay binds one directory out of an overlay of private changes over the
// host's content. Making an overlay takes a third of a millisecond, so all that
// lie below one Lower share one; it is mounted where no command sees it.
func (b *builder) overlay(m *sandbox.Mount) error {
	base, err := b.overlayBase(m)
	if err != nil && m.Kept {
		return failed(sandbox.StepLayer, m.Lower, err)
	}
	if err != nil {
		instead := sandbox.Mount{Source: m.Spare, Target: m.Target}
		if m.Spare == "" {
			instead.Source, instead.ReadOnly = m.Source, true
		}
		return b.bind(&instead, unix.MOUNT_ATTR_NODEV)
	}
	src, err := unix.Openat2(base, "./"+strings.TrimPrefix(strings.TrimPrefix(m.Source, m.Lower), "/"), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return failed("opening in the overlay", m.Source, err)
	}
	defer unix.Close(src)
	return b.tree.bindFrom(src, m, unix.MOUNT_ATTR_NODEV)
}

// overlayBase gives the overlay over m.Lower, made on first use.
func (b *builder) overlayBase(m *sandbox.Mount) (int, error) {
	if o, ok := b.overlays[m.Lower]; ok {
		return o.fd, o.err
	}
	fd, err := b.newOverlay(m)
	if err != nil && !m.Kept {
		b.note(fmt.Sprintf("no copy-on-write below %q here, caches of the host are not used: %v", m.Lower, err))
	}
	if b.overlays == nil {
		b.overlays = make(map[string]overlayBase)
	}
	b.overlays[m.Lower] = overlayBase{fd, err}
	return fd, err
}

type overlayBase struct {
	fd  int
	err error
}

const overlayAttr = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// newOverlay makes an overlay that does not sync, unless it is to be kept: another one would
// have the end of each run write all that is dirty on the disk, also of other programs. What is in
// it are caches, and what a loss of power takes of them is made again.
func (b *builder) newOverlay(m *sandbox.Mount) (int, error) {
	var fds [3]int
	for i, dir := range []string{m.Lower, m.Upper, m.Work} {
		fd, err := openSource(dir)
		if err != nil {
			return -1, err
		}
		defer unix.Close(fd)
		fds[i] = fd
	}
	// The pinned directories are named through procfs, by a path relative to it:
	// the new root may cover /proc.
	if err := unix.Fchdir(b.proc); err != nil {
		return -1, err
	}
	options := [][2]string{{"lowerdir", procFD(fds[0])}, {"upperdir", procFD(fds[1])}, {"workdir", procFD(fds[2])}, {"userxattr", ""}}
	reuse(fds[2])
	fast := append(slices.Clone(options), [2]string{"volatile", ""})
	if m.Kept {
		fast = options
	}
	fs, err := newFS("overlay", fast, overlayAttr)
	if err != nil && !m.Kept { // before Linux 5.10
		fs, err = newFS("overlay", options, overlayAttr)
	}
	if err != nil {
		return -1, err
	}
	openWork(fds[2])
	b.serial++
	name := strconv.Itoa(b.serial)
	if err := unix.Mkdirat(b.scratch, name, 0o700); err != nil {
		return -1, err
	}
	// Cloning out of a detached mount needs Linux 6.15; attached, any will do.
	return fs, unix.MoveMount(fs, "", b.scratch, name, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// reuse lets a directory be the work directory of such an overlay again: the kernel
// leaves a mark in it, Documentation/filesystems/overlayfs.rst ("Volatile mount").
func reuse(work int) {
	dir, err := unix.Openat2(work, "work/incompat", &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return // there is none
	}
	_ = unix.Unlinkat(dir, "volatile/dirty", 0)
	_ = unix.Unlinkat(dir, "volatile", unix.AT_REMOVEDIR)
	unix.Close(dir)
}

// openWork gives the user access to what the kernel has made in a work directory. It
// makes all of that with mode 000, and what looks at the user's files or removes them,
// du, tar or rm, fails there. The directory above stays closed for other users.
func openWork(work int) {
	for _, name := range []string{"work", "work/incompat", "work/incompat/volatile", "work/incompat/volatile/dirty"} {
		at, err := unix.Openat2(work, name, &unix.OpenHow{
			Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
		})
		if err != nil {
			return // this kernel leaves no mark, and nothing below
		}
		_ = unix.Chmod(procFD(at), 0o700)
		unix.Close(at)
	}
}

func procFD(fd int) string { return "self/fd/" + strconv.Itoa(fd) }

// mask hides what is at the target behind an empty object that nobody may open.
func (b *builder) mask(m *sandbox.Mount) error {
	name := "deny-file"
	if m.Dir {
		name = "deny-dir"
	}
	src, err := b.maskSource(name, m.Dir)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	return b.tree.bindOver(src, m.Target, m.Dir)
}

// maskSource gives the one empty object of its kind, made on first use.
func (b *builder) maskSource(name string, dir bool) (int, error) {
	var err error
	if dir {
		err = unix.Mkdirat(b.scratch, name, 0)
	} else {
		err = unix.Mknodat(b.scratch, name, unix.S_IFREG, 0)
	}
	if err != nil && err != unix.EEXIST {
		return -1, failed("making a mask", name, err)
	}
	fd, err := unix.Openat(b.scratch, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	return fd, failed("opening a mask", name, err)
}

func (b *builder) data(m *sandbox.Mount) error {
	b.serial++
	name := strconv.Itoa(b.serial)
	if err := writeFileAt(b.scratch, name, m.Data, m.Perm); err != nil {
		return failed("writing the file for", m.Target, err)
	}
	src, err := unix.Openat(b.scratch, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return failed("opening the file for", m.Target, err)
	}
	defer unix.Close(src)
	return b.tree.bindOver(src, m.Target, false)
}

func writeFileAt(dir int, name string, data []byte, perm uint32) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
