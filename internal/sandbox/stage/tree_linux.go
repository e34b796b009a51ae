package stage

import (
	"strings"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// rootTree is the new root and what lies beneath it: it opens paths there, makes mount points on the
// file systems in memory, and attaches mounts.
type rootTree struct {
	root   int             // its directory
	memory map[uint64]bool // device numbers of file systems that we made
}

func (t *rootTree) remember(fd int) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil {
		t.memory[st.Dev] = true
	}
}

// bindFrom clones the mount tree at an open descriptor and attaches it.
func (t *rootTree) bindFrom(src int, m *sandbox.Mount, attr uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(src, &st); err != nil {
		return failed("reading source", m.Source, err)
	}
	if m.Kind == sandbox.MountBind && m.Ino != 0 && (st.Ino != m.Ino || st.Dev != m.Dev) {
		return failed("opening source", m.Source, errReplaced)
	}
	attr |= unix.MOUNT_ATTR_NOSUID
	if m.ReadOnly {
		attr |= unix.MOUNT_ATTR_RDONLY
	}
	tree, err := detached(src, m.Source, attr)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return t.attach(tree, m.Target, st.Mode&unix.S_IFMT == unix.S_IFDIR)
}

// attach moves a detached mount to target, making the mount point where target
// lies on a file system of ours.
func (t *rootTree) attach(tree int, target string, dir bool) error {
	at, err := t.target(target, dir)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return failed("mounting on", target, unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH))
}

func (t *rootTree) self(m *sandbox.Mount) error {
	at, err := t.open(m.Target)
	if err != nil {
		return failed("opening", m.Target, err)
	}
	defer unix.Close(at)
	m.Source = m.Target
	return t.bindFrom(at, m, unix.MOUNT_ATTR_NODEV)
}

func (t *rootTree) fresh(m *sandbox.Mount, kind string, opts [][2]string) error {
	fs, err := newFS(kind, opts, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return failed("mounting a fresh "+kind+" on", m.Target, err)
	}
	defer unix.Close(fs)
	return t.attach(fs, m.Target, true)
}

func (t *rootTree) freeze(m *sandbox.Mount) error {
	at, err := t.openWith(m.Target, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return failed("opening", m.Target, err)
	}
	defer unix.Close(at)
	if m.Perm != 0 {
		if err := unix.Fchmod(at, m.Perm); err != nil {
			return failed("closing", m.Target, err)
		}
	}
	return failed("making read-only", m.Target,
		unix.MountSetattr(at, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}))
}

// bindOver binds one of our own objects read-only over a target of its kind.
func (t *rootTree) bindOver(src int, target string, dir bool) error {
	tree, err := unix.OpenTree(src, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return failed("cloning the cover for", target, err)
	}
	defer unix.Close(tree)
	set := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, set); err != nil {
		return failed("restricting the cover for", target, err)
	}
	return t.attach(tree, target, dir)
}

// open pins an existing guest path without following a symlink.
func (t *rootTree) open(target string) (int, error) { return t.openWith(target, unix.O_PATH) }

func (t *rootTree) openWith(target string, flags uint64) (int, error) {
	return unix.Openat2(t.root, "./"+strings.TrimPrefix(target, "/"), &unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// target opens a mount point, making it (and its parents) where it is missing
// and would lie in memory. Nothing is ever made on a file system of the host.
func (t *rootTree) target(p string, dir bool) (int, error) {
	fd, err := t.open(p)
	if err != unix.ENOENT {
		return fd, failed("opening mount point", p, err)
	}
	parent, name, err := t.parent(p)
	if err != nil {
		return -1, err
	}
	defer unix.Close(parent)
	if err := t.ours(parent); err != nil {
		return -1, failed("making mount point", p, err)
	}
	if dir {
		err = unix.Mkdirat(parent, name, 0o755)
	} else {
		err = unix.Mknodat(parent, name, unix.S_IFREG|0o644, 0)
	}
	if err != nil {
		return -1, failed("making mount point", p, err)
	}
	fd, err = t.open(p)
	return fd, failed("opening mount point", p, err)
}

// parent opens the directory that holds p, making what is missing on the way.
func (t *rootTree) parent(p string) (int, string, error) {
	i := strings.LastIndexByte(p, '/')
	dirs, name := p[:i], p[i+1:]
	fd, err := t.open(dirs)
	if err == nil || err != unix.ENOENT {
		return fd, name, failed("opening", dirs, err)
	}
	cur, err := unix.Openat(t.root, ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, "", failed("opening", "/", err)
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(dirs, "/"), "/") {
		next, err := t.enter(cur, part)
		unix.Close(cur)
		if err != nil {
			return -1, "", failed("making the way to", p, err)
		}
		cur = next
	}
	return cur, name, nil
}

func (t *rootTree) enter(dir int, name string) (int, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(dir, name, flags, 0)
	if err != unix.ENOENT {
		return fd, err
	}
	if err := t.ours(dir); err != nil {
		return -1, err
	}
	if err := unix.Mkdirat(dir, name, 0o755); err != nil {
		return -1, err
	}
	return unix.Openat(dir, name, flags, 0)
}

// ours refuses to make anything outside the memory file systems made here.
func (t *rootTree) ours(dir int) error {
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return err
	}
	if !t.memory[st.Dev] {
		return unix.ENOENT
	}
	return nil
}

// make creates a file, directory or symlink in memory.
func (t *rootTree) make(m *sandbox.Mount) error {
	parent, name, err := t.parent(m.Target)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	if err := t.ours(parent); err != nil {
		return failed("making", m.Target, err)
	}
	switch m.Kind {
	case sandbox.WriteFile:
		err = writeFileAt(parent, name, m.Data, m.Perm)
	case sandbox.MakeDir:
		if err = unix.Mkdirat(parent, name, m.Perm); err == unix.EEXIST {
			err = nil
		}
	case sandbox.MakeSymlink:
		err = unix.Symlinkat(m.Source, parent, name)
	}
	return failed("making", m.Target, err)
}
