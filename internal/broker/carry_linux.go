package broker

import (
	"path"
	"strings"

	"carrel/internal/broker/caller"

	"golang.org/x/sys/unix"
)

// look is what there is at a name.
type look struct {
	Seen
	// mount: something is mounted on it, a mask or a pinned name. Its name stays:
	// the kernel would keep it only in the namespace that the mount is in, and the
	// mirror's are in none.
	mount bool
}

// at looks at a place without following it.
func (p *place) at() (look, error) {
	var st unix.Statx_t
	name := strings.TrimRight(p.name, "/") // with a slash, a link would be followed, in our own root
	err := unix.Statx(p.dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
	if err == unix.ENOENT {
		return look{}, nil
	}
	if err != nil {
		return look{}, err
	}
	return look{Seen: seenBy(&st), mount: st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0}, nil
}

func seenBy(st *unix.Statx_t) Seen {
	nanos := func(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }
	s := Seen{
		Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino, Links: st.Nlink, Size: st.Size,
		Mtime: nanos(st.Mtime), Ctime: nanos(st.Ctime), Mode: uint32(st.Mode), Kind: kindOf(uint32(st.Mode)),
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		s.Birth = nanos(st.Btime)
	}
	return s
}

// dots says whether the last component is "." or "..", which is no name.
func (p *place) dots() bool {
	name := strings.TrimRight(p.name, "/")
	return name == "." || name == ".."
}

func kindOf(mode uint32) Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return KindFile
	case unix.S_IFDIR:
		return KindDir
	case unix.S_IFLNK:
		return KindSymlink
	}
	return KindOther
}

// change decides, records and carries out, in this order. do runs only while
// the caller is still waiting: what a dead caller's memory said may be another's.
func (w *deciding) change(ch *Change, do func() error) error {
	if err := w.allow(ch); err != nil {
		return err
	}
	return w.allowed(ch, do)
}

// allowed is change for what has been decided.
func (w *deciding) allowed(ch *Change, do func() error) error {
	if !w.trap.Valid(w.call.ID) {
		return errAnswered
	}
	ch.Wait, ch.TID = w.wait, w.call.TID
	w.b.letIn(ch)
	if err := w.b.config.Recorder.Before(ch); err != nil {
		return errno(err)
	}
	err := do()
	w.b.config.Recorder.After(ch, err)
	return err
}

func (w *deciding) allow(ch *Change) error {
	v, err := w.decide(ch)
	if err != nil {
		return err
	}
	return w.verdict(ch, v)
}

// decide asks for a decision; errAlone says that it has to be made while no other worker acts.
func (w *deciding) decide(ch *Change) (Verdict, error) {
	v := w.b.config.Decider.Decide(ch)
	if v.Alone && !w.decides {
		return v, errAlone
	}
	return v, nil
}

func (w *deciding) verdict(ch *Change, v Verdict) error {
	if !v.Allowed || v.Vet != nil {
		return w.refuse(ch, v)
	}
	return nil
}

func (w *deciding) refuse(ch *Change, v Verdict) error {
	if w.b.config.Refused != nil {
		w.b.config.Refused(ch, v)
	}
	return unix.EACCES
}

func mkdirAt(w *worker, dirfd int32, addr uint64, mode uint32) (int64, error) {
	p, err := w.name(dirfd, addr, 0)
	if err != nil {
		return 0, err
	}
	return 0, p.make(w, &Change{Op: OpMkdir}, func() error { return w.fs.Mkdirat(p.dir, p.name, mode) })
}

// make makes a new name. Where there is something, nothing is decided, recorded
// or tried.
func (p *place) make(w *worker, ch *Change, do func() error) error {
	l, err := p.at()
	if err != nil {
		return err
	}
	if l.Kind != KindNone {
		return unix.EEXIST
	}
	ch.Path, ch.Dir, ch.Name, ch.In, ch.ToDir = p.path, p.dir, p.name, w.in(p), -1
	return w.change(ch, func() error { return w.withUmask(do) })
}

func mknodAt(w *worker, dirfd int32, addr uint64, mode uint32) (int64, error) {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG, 0, unix.S_IFIFO, unix.S_IFSOCK:
	case unix.S_IFCHR, unix.S_IFBLK:
		return 0, unix.EPERM // devices are for nobody here
	case unix.S_IFDIR:
		return 0, unix.EPERM
	default:
		return 0, unix.EINVAL
	}
	p, err := w.name(dirfd, addr, 0)
	if err != nil {
		return 0, err
	}
	return 0, p.make(w, &Change{Op: OpMknod}, func() error { return w.fs.Mknodat(p.dir, p.name, mode&^(unix.S_ISUID|unix.S_ISGID)) })
}

func symlinkAt(w *worker, text uint64, dirfd int32, addr uint64) (int64, error) {
	w.memory.Fetch(addr, text)
	target, err := w.memory.Text(text, 1)
	if err == nil && target == "" {
		err = unix.ENOENT
	}
	if err != nil {
		return 0, err
	}
	p, err := w.name(dirfd, addr, 0)
	if err != nil {
		return 0, err
	}
	ch := Change{Op: OpSymlink, Text: target}
	return 0, p.make(w, &ch, func() error { return unix.Symlinkat(target, p.dir, p.name) })
}

func unlinkAt(w *worker, dirfd int32, addr uint64, flags int) (int64, error) {
	if flags&^unix.AT_REMOVEDIR != 0 {
		return 0, unix.EINVAL
	}
	p, err := w.name(dirfd, addr, 0)
	if err != nil {
		return 0, err
	}
	l, err := p.at()
	if err != nil {
		return 0, err
	}
	if l.Kind == KindNone {
		return 0, unix.ENOENT
	}
	if p.dots() {
		return 0, errNotMine // EISDIR, EINVAL or ENOTEMPTY: nothing changes
	}
	ch := Change{Op: OpUnlink, Path: p.path, Kind: l.Kind, Dir: p.dir, Name: p.name, In: w.in(&p), ToDir: -1, Was: l.Seen}
	if flags == unix.AT_REMOVEDIR {
		ch.Op = OpRmdir
	}
	if l.mount {
		return 0, w.busy(&ch)
	}
	defer w.b.pins.sweep()
	v, err := w.decide(&ch)
	if err == nil {
		err = w.verdict(&ch, v)
	}
	for _, name := range v.Empties {
		if err == nil {
			err = empty(w, &p, name)
		}
	}
	if err == nil {
		err = w.allowed(&ch, func() error { return unix.Unlinkat(p.dir, p.name, flags) })
	}
	if err == nil && l.Kind == KindDir {
		w.removed(l)
	}
	return 0, err
}

// empty empties a file that lies beside a place.
func empty(w *worker, p *place, name string) error {
	q := place{dir: p.dir, pin: p.pin, name: name, path: path.Dir(p.path) + "/" + name}
	l, err := q.at()
	if err != nil {
		return err
	}
	if l.Kind != KindFile || l.Links != 1 || l.mount {
		return unix.EACCES
	}
	ch := Change{Op: OpTruncate, Path: q.path, Kind: KindFile, Dir: q.dir, Name: q.name, In: w.in(&q), ToDir: -1, Was: l.Seen}
	return w.allowed(&ch, func() error {
		fd, err := w.openSame(&q, unix.O_WRONLY|unix.O_NONBLOCK, l)
		if err != nil {
			ch.Unopened = true
			return err
		}
		defer unix.Close(fd)
		return unix.Ftruncate(fd, 0)
	})
}

// busy is the kernel's answer for a name inside that something is mounted on, see
// look. Where a rule is why it is mounted, that is told.
func (w *deciding) busy(ch *Change) error {
	if err := w.allow(ch); err == errAlone {
		return err
	}
	return unix.EBUSY
}

const (
	renameNoReplace = 1 << 0 // of linux/fs.h
	renameExchange  = 1 << 1
)

func renameAt(w *worker, fromfd int32, from uint64, tofd int32, to uint64, flags uint) (int64, error) {
	if flags&^(renameNoReplace|renameExchange) != 0 || flags == renameNoReplace|renameExchange {
		return 0, unix.EINVAL // a whiteout is a device node
	}
	w.memory.Fetch(from, to)
	p, q, err := names(w, fromfd, from, tofd, to)
	if err != nil {
		return 0, err
	}
	defer w.b.pins.sweep()
	old, over, err := renamed(&p, &q, flags)
	if err != nil {
		return 0, forbidden(err, unix.X_OK, &p, &q)
	}
	ch := Change{Op: OpRename, Path: p.path, To: q.path, Kind: old.Kind, Over: over.Kind,
		Dir: p.dir, Name: p.name, ToDir: q.dir, ToName: q.name, In: w.in(&p), ToIn: w.in(&q),
		Was: old.Seen, WasTo: over.Seen, New: flags&renameNoReplace != 0}
	if flags&renameExchange != 0 {
		ch.Op = OpExchange
	}
	if old.mount || over.mount {
		return 0, w.busy(&ch)
	}
	v, err := w.decide(&ch)
	if err != nil {
		return 0, err
	}
	if ch.Op == OpRename && old.Kind == KindFile && v.Allowed && v.Vet != nil {
		w.b.letIn(&ch)
		return 0, w.replaceVetted(&ch, v)
	}
	if err := w.verdict(&ch, v); err != nil {
		return 0, err
	}
	err = w.allowed(&ch, func() error { return unix.Renameat2(p.dir, p.name, q.dir, q.name, flags) })
	if err == nil && ch.Op == OpRename && over.Kind == KindDir {
		w.removed(over)
	}
	return 0, err
}

// renamed looks at the two names of a rename.
func renamed(p, q *place, flags uint) (old, over look, err error) {
	if p.dots() || q.dots() {
		if !p.dots() && flags&renameNoReplace != 0 {
			return old, over, unix.EEXIST
		}
		return old, over, unix.EBUSY
	}
	if old, err = p.at(); err != nil {
		return old, over, err
	}
	if old.Kind == KindNone {
		return old, over, unix.ENOENT
	}
	over, err = q.at()
	return old, over, err
}

// names resolves the two paths of a rename. With one in a root and the other
// outside the kernel's answer is EXDEV, also on the read-only mount: it gives it.
func names(w *worker, fromfd int32, from uint64, tofd int32, to uint64) (p, q place, err error) {
	if p, err = w.name(fromfd, from, 0); err == errRemoved {
		if q, err = w.name(tofd, to, 1); err == nil {
			err = forbidden(errRemoved, unix.X_OK, &q) // what is wrong with the second path comes first
			if q.dots() {
				err = errNotMine // EBUSY or EEXIST
			}
		}
	}
	if err != nil {
		return p, q, err
	}
	if q, err = w.name(tofd, to, 1); err != nil {
		if err == errRemoved && p.dots() {
			err = errNotMine // EBUSY
		} else if err == errRemoved {
			if _, e := p.at(); e != nil {
				err = e // the old name is looked up first
			}
		}
		err = forbidden(err, unix.X_OK, &p)
	}
	return p, q, err
}

// forbidden gives the error that comes first: of a directory that may not be
// used so, before any name in it is looked at.
func forbidden(err error, use uint32, places ...*place) error {
	for _, p := range places {
		if unix.Faccessat2(p.dir, "", use, unix.AT_EACCESS|unix.AT_EMPTY_PATH) == unix.EACCES {
			return unix.EACCES
		}
	}
	return err
}

func linkAt(w *worker, fromfd int32, from uint64, tofd int32, to uint64, flags int) (int64, error) {
	if flags&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return 0, unix.EINVAL
	}
	w.memory.Fetch(from, to)
	path, err := w.memory.Text(from, 0)
	if err != nil {
		return 0, err
	}
	fd, isFD := caller.Descriptor(path)
	if path == "" && flags&unix.AT_EMPTY_PATH != 0 {
		fd, isFD = fromfd, true
	}
	follow := flags&unix.AT_SYMLINK_FOLLOW != 0
	var o object
	if isFD && (path == "" || follow) {
		o, err = linkDescriptor(w, fd)
	} else {
		o, err = w.find(fromfd, path, follow)
	}
	if err == errNotMine {
		o, err = w.outside(target{dirfd: fromfd, addr: from, follow: follow})
		if err != nil {
			return 0, errNotMine
		}
	}
	if err != nil {
		return 0, err
	}
	defer o.close()
	q, err := w.name(tofd, to, 1)
	if err != nil {
		return 0, err
	}
	return linkObject(w, &o, &q)
}

func linkObject(w *worker, o *object, q *place) (int64, error) {
	do := func() error { return unix.Linkat(unix.AT_FDCWD, o.link(), q.dir, q.name, unix.AT_SYMLINK_FOLLOW) }
	if l, err := q.at(); err != nil {
		return 0, err
	} else if l.Kind != KindNone {
		return 0, unix.EEXIST
	}
	if !w.ours(o.path) {
		return 0, unix.EXDEV
	}
	if o.stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		if err := do(); err != unix.EXDEV { // never succeeds; the kernel knows the error
			return 0, err
		}
		return 0, forbidden(unix.EPERM, unix.W_OK|unix.X_OK, q) // it was found on another mount of its file system
	}
	if o.stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		// A magic link to a link cannot be followed halfway: by name instead.
		dir, name := split(o.path)
		fd, err := w.named(dir, unix.O_DIRECTORY)
		if err != nil {
			return 0, errNotMine
		}
		defer unix.Close(fd)
		do = func() error { return linkSame(fd, name, q, &o.stat) }
	}
	if o.stat.Nlink == 0 { // only one made without a name can get one
		do = func() error {
			dir, err := w.apartPlace(q) // where it was granted
			if err == nil {
				err = unix.Linkat(unix.AT_FDCWD, o.link(), dir, q.name, unix.AT_SYMLINK_FOLLOW)
			}
			if err == unix.EXDEV { // it was not granted, so it once had a name
				err = forbidden(unix.ENOENT, unix.W_OK|unix.X_OK, q)
			}
			return err
		}
	}
	ch := Change{Op: OpLink, Path: o.path, To: q.path, Kind: kindOf(o.stat.Mode), Dir: -1, ToDir: q.dir, ToName: q.name, ToIn: w.in(q), Pinned: o.fd}
	return 0, w.change(&ch, do)
}

// linkSame links a name if it is still that of the object that was looked at.
func linkSame(dir int, name string, q *place, st *unix.Stat_t) error {
	same := func(at int, name string) bool {
		var now unix.Stat_t
		return unix.Fstatat(at, name, &now, unix.AT_SYMLINK_NOFOLLOW) == nil && now.Ino == st.Ino && now.Dev == st.Dev
	}
	if !same(dir, name) {
		return unix.ENOENT
	}
	if err := unix.Linkat(dir, name, q.dir, q.name, 0); err != nil {
		return err
	}
	if !same(q.dir, q.name) { // another took the name between the two
		_ = unix.Unlinkat(q.dir, q.name, 0)
		return unix.ENOENT
	}
	return nil
}

// linkDescriptor gives an open file a name: how a file made with O_TMPFILE gets
// one.
func linkDescriptor(w *worker, fd int32) (object, error) {
	if fd == unix.AT_FDCWD {
		return w.stand(fd)
	}
	o, alone, err := w.findFD(fd)
	if err == nil && alone && o.stat.Nlink > 0 && w.ours(o.path) {
		// Its name is gone: whoever keeps the last link, as the history does, has
		// not given it away. Only what was made without a name can get one.
		o.close()
		return object{}, unix.ENOENT
	}
	return o, err
}
