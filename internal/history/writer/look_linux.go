package writer

import (
	"fmt"
	"slices"
	"strings"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/pathname"

	"golang.org/x/sys/unix"
)

// view looks at what is on the disk below the roots.
type view struct {
	roots   []disk.Root
	layered bool            // a root is on an overlay
	pauses  uint64          // how often a change let others go on
	nearby  map[nearby]bool // mounts that are a root's own, see near
	lastDir *opened         // in which something was kept last, see reach
}

// look gives the state of what is at a slot on the disk.
func (w *view) look(s *slot) (journal.State, error) { return w.lookWith(s, disk.AllXattrs) }

// glance is look without the attributes, for who does not write them down.
func (w *view) glance(s *slot) (journal.State, error) { return w.lookWith(s, 0) }

func (w *view) lookWith(s *slot, with int) (journal.State, error) {
	if st, known := s.lookedAt(with, w.pauses); known {
		return st, nil
	}
	at := s.path()
	if st, near := w.near(s, at, with); near {
		s.looked(&st, with, w.pauses)
		return st, nil
	}
	dir, name, byPath, err := w.reached(s, at)
	if disk.Missing(err) {
		return journal.State{}, nil
	}
	if err != nil {
		return journal.State{}, fmt.Errorf("looking at %q: %w", at, err)
	}
	defer unix.Close(dir)
	if byPath {
		w.learn(s, at, dir)
	}
	st, err := disk.StateAt(dir, name, with)
	if err == nil && s.via != nil {
		s.looked(&st, with, w.pauses)
	}
	return st, err
}

// lookedAt gives what a change has seen at a slot, if it has not let others go on
// since.
func (s *slot) lookedAt(with int, pauses uint64) (journal.State, bool) {
	v := s.via
	if v == nil || v.seen == nil || v.pauses != pauses || with != 0 && v.with != with {
		return journal.State{}, false
	}
	return *v.seen, true
}

func (s *slot) looked(st *journal.State, with int, pauses uint64) {
	s.via.seen, s.via.with, s.via.pauses = st, with, pauses
}

// nearby is a mount of directories that changes pin, below a root.
type nearby struct {
	root  int
	mount uint64
}

// near looks by the directory that a change has pinned, where that is known to be
// no other mount than the root's own: what would be destroyed is there, and no
// path has to be walked.
func (w *view) near(s *slot, path string, with int) (journal.State, bool) {
	v := s.via
	if v == nil || v.dir <= 0 || len(w.nearby) == 0 {
		return journal.State{}, false
	}
	name := strings.TrimRight(v.name, "/")
	if name == "" || name == "." || name == ".." {
		return journal.State{}, false
	}
	st, mount, err := disk.MountedAt(v.dir, name, with)
	if err == nil && st.Kind == journal.Absent {
		_, mount, err = disk.MountedAt(v.dir, "", 0)
	}
	return st, err == nil && w.nearby[nearby{w.rootOf(path), mount}]
}

// learn notes the mount of the directory that a change has pinned, if dir, found
// by its path from the root and over no mount, is the same.
func (w *view) learn(s *slot, path string, dir int) {
	if s.via == nil || s.via.dir <= 0 {
		return
	}
	pinned, mount, err := disk.MountedAt(s.via.dir, "", 0)
	if err != nil || mount == 0 {
		return
	}
	if here, err := disk.StateAt(dir, "", 0); err == nil && here.ID == pinned.ID {
		if w.nearby == nil {
			w.nearby = make(map[nearby]bool)
		}
		w.nearby[nearby{w.rootOf(path), mount}] = true
	}
}

// sameFile says whether two names mean one object: a rename between them does
// nothing, and so does an exchange. That holds for a link or a FIFO as well.
func (w *view) sameFile(s, to *slot) (bool, error) {
	if s == to {
		return true, nil
	}
	a, err := w.glance(s)
	if err != nil || a.Kind == journal.Dir || a.Links < 2 {
		return false, err
	}
	b, err := w.glance(to)
	return a.ID == b.ID, err
}

// reached is reach without what is open already.
func (w *view) reached(s *slot, path string) (dir int, name string, byPath bool, err error) {
	dir, name, err = w.parent(path)
	if err == nil && s.via != nil && s.via.pinned > 0 && unix.Faccessat2(dir, "", unix.X_OK, unix.AT_EACCESS|unix.AT_EMPTY_PATH) == unix.EACCES {
		unix.Close(dir)
		err = unix.EACCES
	}
	gone := disk.Missing(err) && s.via != nil && s.via.dir > 0 && s.via.pinned <= 0 // a program outside moved it on the way
	if err != unix.EACCES && !gone || s.via == nil {
		return dir, name, true, err
	}
	switch v := s.via; {
	case v.pinned > 0:
		dir, name = v.pinned, ""
	case v.dir > 0:
		dir, name = v.dir, strings.TrimRight(v.name, "/")
	default:
		return -1, "", false, err
	}
	dir, err = unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
	return dir, name, false, err
}

func (w *view) parent(path string) (int, string, error) {
	if i := w.rootOf(path); i >= 0 {
		return w.roots[i].Parent(path)
	}
	return -1, "", unix.EXDEV
}

// rootOf gives the root that a path is in, -1 for none.
func (w *view) rootOf(path string) int {
	return slices.IndexFunc(w.roots, func(r disk.Root) bool { return pathname.Within(path, r.Path) })
}

// stale finds that a file that is about to change is not what its path means any
// more, though it has other names: then the path has to be followed again.
func (w *view) stale(c *Change, s *slot) error {
	if c.Pinned <= 0 || c.Op != Content && c.Op != Meta {
		return nil
	}
	if c.Dir > 0 && c.Is != (journal.ID{}) { // while it is pinned, no other object has its number
		now, err := w.lookWith(s, asked(c, s))
		if err == nil && now.ID.Dev == c.Is.Dev && now.ID.Ino == c.Is.Ino {
			return nil
		}
	}
	is, err := disk.StateAt(c.Pinned, "", 0)
	if err != nil || is.Kind != journal.File || is.Links == 0 {
		return err
	}
	now, err := w.glance(s)
	if err == nil && now.ID != is.ID {
		err = unix.ESTALE
	}
	return err
}

// asked says what a change of content or metadata is going to ask of what is at a slot, so
// that it is looked at once.
func asked(c *Change, s *slot) int {
	o := s.is
	if o == nil || o.origin == "" || c.Op == Meta && o.meta || c.Op == Content && o.content {
		return 0
	}
	return disk.AllXattrs
}

// settle ends what began when something was linked because it was about to go.
// Where it did not go, the link is no copy: the next change keeps one.
func (w *preimages) settle(s *slot, failed error) {
	if s.is == nil || s.is.linked == nil {
		return
	}
	o := s.is
	if o.content = failed == nil; !o.content && w.write(&journal.Record{Pre: &journal.Pre{Path: journal.Bytes(o.origin), Stayed: true}}) == nil {
		_ = disk.UnlinkAt(w.objects, journal.ObjectName(o.number), 0)
	}
	w.unbusy(o)
}

// fit refuses a rename after which a step could not be written down any more.
func (t *tree) fit(c *Change, s, to *slot) error {
	err := t.fits(s, c.Path, c.To)
	if err == nil && c.Op == Exchange {
		err = t.fits(to, c.To, c.Path)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", err, unix.ENAMETOOLONG)
	}
	return nil
}

// copied keeps what is lost when a copy of one name takes the place of another, and
// the name goes.
func (w *preimages) copied(s, to *slot) error {
	err := w.leaves(s)
	if err == nil {
		if err = w.leaves(to); err != nil {
			w.settle(s, err)
		}
	}
	return err
}

// slots finds the names of a change when nobody else is about to take what they
// mean away: what there is, is looked at after that.
func (w *preimages) slots(c *Change) (s, to *slot) {
	for {
		s, to = w.tree.find(c.Path), nil
		if c.To != "" {
			to = w.tree.find(c.To)
		}
		switch {
		case s != nil && s.is != nil && s.is.busy != nil:
			w.wait(s.is)
		case to != nil && to.is != nil && to.is.busy != nil:
			w.wait(to.is)
		case w.waitForCopy(s), w.waitForCopy(to):
		default:
			return s, to
		}
	}
}

// wasSame says whether the two names of a rename or an exchange that was made are
// those of one object: it did nothing.
func (w *view) wasSame(c *Change, s, to *slot) bool {
	a, b := s.via, to.via
	defer func() { s.via, to.via = a, b }()
	s.via, to.via = &via{dir: c.Dir, name: c.Name}, &via{dir: c.ToDir, name: c.ToName}
	nothing, _ := w.sameFile(to, s)
	return nothing
}

// open pins the roots.
func (w *view) open(roots []string) error {
	for _, path := range roots {
		r, err := disk.OpenRoot(path)
		if err != nil {
			return fmt.Errorf("opening %q: %w", path, err)
		}
		w.roots = append(w.roots, r)
		var fs unix.Statfs_t
		w.layered = w.layered || unix.Fstatfs(r.FD, &fs) == nil && fs.Type == unix.OVERLAYFS_SUPER_MAGIC
	}
	slices.SortFunc(w.roots, func(a, b disk.Root) int { return len(b.Path) - len(a.Path) })
	return nil
}

// possible says whether the kernel would let the caller's user make a change that
// destroys what is at a path: the person is not asked about one that fails in any case.
func (w *view) possible(c *Change, path string) bool {
	if (c.Op == Rename || c.Op == Exchange) && !c.Copied && disk.OnTwoMounts(c.Dir, c.ToDir) {
		return false
	}
	dir, name, err := w.parent(path)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	if c.Op == Content {
		return unix.Faccessat2(dir, name, unix.W_OK, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW) == nil
	}
	st, err := disk.StateAt(dir, name, 0)
	return err == nil && disk.MayRename(dir, st.UID)
}

// hasWriter says whether a file is open for writing.
func (w *view) hasWriter(path string) (journal.State, bool) {
	dir, name, err := disk.ParentIn(w.roots, path) // a process that has it open needs no right to search
	if err != nil {
		return journal.State{}, false
	}
	defer unix.Close(dir)
	defer disk.Widened(dir, 0o100)()
	st, err := disk.StateAt(dir, name, 0)
	if err != nil || st.Kind != journal.File {
		return journal.State{}, false
	}
	return st, written(unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0))
}

// IsWritten says whether a process can still write to a file.
func (w *view) IsWritten(f Written) bool {
	st, written := w.hasWriter(f.Path)
	return written && st.ID == f.ID
}
