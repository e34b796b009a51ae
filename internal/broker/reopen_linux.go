package broker

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// openWalked opens where symlinks lead, and keeps openat2's conditions on the way.
func (r *request) openWalked(w *worker) (int64, error) {
	if r.path == "" {
		return 0, unix.ENOENT
	}
	named := r.flags&unix.O_NOFOLLOW != 0
	k := walker{w: &w.resolver, nofollow: named || r.exclusive(), creates: r.flags&unix.O_CREAT != 0, pinned: named, scope: r.resolve &^ resolveCached}
	defer k.close()
	fd, err := k.inMirror(r.dirfd, r.path)
	if err == errRemoved {
		err = errNotMine
	}
	if err == unix.ENOENT && k.missing != "" && r.flags&unix.O_CREAT != 0 {
		return r.openMissing(w, &k)
	}
	if err != nil {
		return 0, err
	}
	o, err := w.pinned(fd)
	if err != nil {
		return 0, err
	}
	defer o.close()
	if kindOf(o.stat.Mode) == KindSymlink {
		return 0, errNotMine // EEXIST, ELOOP or ENOTDIR
	}
	if r.flags&tmpfile != 0 {
		return r.makeUnnamed(w, &o)
	}
	if r.flags&unix.O_NOFOLLOW != 0 && k.parent > 0 { // F_GETFL shows it, so by name
		p := place{dir: k.parent, name: k.last, path: o.path}
		l, err := p.at()
		if err == nil && (l.Ino != o.stat.Ino || l.Dev != o.stat.Dev) {
			err = unix.ESTALE
		}
		if err != nil {
			return 0, err
		}
		return r.openExisting(w, &p, l)
	}
	return r.openObject(w, &o)
}

// openObject opens what has been found already.
func (r *request) openObject(w *worker, o *object) (int64, error) {
	if kind := kindOf(o.stat.Mode); kind != KindFile {
		return 0, openOther(r, kind)
	}
	ch := Change{Op: OpOpen, Path: o.path, Kind: KindFile, Dir: -1, ToDir: -1, Pinned: o.fd}
	number, _, err := r.openFile(w, &ch, func(flags int) (int, error) {
		fd, err := w.openApart(o.fd, &o.stat, flags)
		if e := w.stillThere(o); e != nil {
			if err == nil {
				unix.Close(fd)
			}
			return -1, e
		}
		return fd, err
	})
	return number, err
}

// openMissing makes the file whose directory a walk has found.
func (r *request) openMissing(w *worker, k *walker) (int64, error) {
	at, err := w.fdPath(k.cur)
	if err != nil {
		return 0, errNotMine
	}
	p := place{dir: k.cur, name: k.missing, path: join(at, strings.TrimRight(k.missing, "/"))}
	if !w.ours(p.path) {
		return 0, errNotMine
	}
	return r.openNew(w, &p)
}

// reopen is an open of one of the caller's descriptors by its procfs name: a
// new open of the same inode, decided and recorded like any other.
func (r *request) reopen(w *worker, fd int32) (int64, error) {
	o, alone, err := w.findFD(fd)
	if err != nil || !w.ours(o.path) {
		if err == nil {
			o.close()
		}
		return 0, notMine(err)
	}
	defer o.close()
	if o.stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, errNotMine
	}
	if alone && o.stat.Nlink == 0 {
		return r.reopenNameless(w, &o)
	}
	if alone {
		return 0, errNotMine // EROFS, or what comes before: the history may be who keeps it
	}
	return (&request{flags: r.flags &^ (unix.O_CREAT | unix.O_EXCL)}).openObject(w, &o)
}

// reopenNameless opens a file that has no name any more on the mount that the caller
// has it from: nobody else can lose by it. It is emptied only when the caller has a
// descriptor: who may write and not read keeps the content.
func (r *request) reopenNameless(w *worker, o *object) (int64, error) {
	flags, cuts := r.flags&^creating, r.flags&unix.O_TRUNC != 0
	open := func(flags int) (int, error) { return w.openUnleased(w.b.self, strconv.Itoa(o.fd), flags, 0) }
	fd, err := open(flags)
	if err != nil {
		return 0, err
	}
	if !cuts {
		return w.give(fd, r.flags)
	}
	defer unix.Close(fd)
	writable := fd
	if !r.writes() {
		if writable, err = open(flags&^unix.O_ACCMODE | unix.O_WRONLY); err != nil {
			return 0, err
		}
		defer unix.Close(writable)
	}
	n, err := w.trap.AddFD(w.call.ID, fd, r.flags&unix.O_CLOEXEC)
	if err != nil {
		return 0, err
	}
	return int64(n), cut(writable, r.flags)
}
