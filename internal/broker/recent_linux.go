package broker

import (
	"golang.org/x/sys/unix"

	"carrel/internal/broker/caller"
)

// recent is the file to which a descriptor of a caller led last, pinned in the mirror.
// Programs change owner, mode and times of a file that they write one after the other.
//
// It takes the place of a look by path only where the kernel says during the same call
// that the descriptor is of the pinned inode, that the inode has one name, and that the
// pinned name is still at the path. A file that is gone must not take room on the disk: the
// pin goes with the next call that does not use it, and when calls cease.
type recent struct {
	object
	call uint64 // the last one that used it
}

func (r *recent) close() {
	if r != nil {
		unix.Close(r.fd)
	}
}

// granted is where the file lies that a caller got last, by which number. It is a hint:
// the file is compared with what the caller has by that number.
type granted struct {
	tid, number uint32
	dir         *directory
	name        string
}

// has notes where the file lies that the caller has by a number now.
func (w *finder) has(number int64, p *place) {
	w.granted = granted{tid: w.call.TID, number: uint32(number), dir: p.pin, name: p.name}
}

// grantedAs finds by its name the file that a caller has got last, if it still is what
// the caller has by that number.
func (w *finder) grantedAs(fd int32, st *unix.Stat_t) (object, bool) {
	g := &w.granted
	if g.dir == nil || g.tid != w.call.TID || g.number != uint32(fd) {
		return object{}, false
	}
	if d := w.dirs.find(func(k *directory) bool { return k == g.dir }); d == nil {
		return object{}, false
	}
	o := object{stat: *st, shared: true, dir: g.dir, name: g.name}
	var err error
	if o.fd, err = w.open(g.dir.fd, g.name, unix.O_NOFOLLOW, below); err != nil {
		return object{}, false
	}
	if isFile(o.fd, st) {
		if o.path, err = w.fdPath(o.fd); err == nil && w.ours(o.path) {
			return o, true
		}
	}
	unix.Close(o.fd)
	return object{}, false
}

// only says whether an object is a file with one name.
func (o *object) only() bool { return o.stat.Mode&unix.S_IFMT == unix.S_IFREG && o.stat.Nlink == 1 }

// quick is findFD for a file with a path in a root, without a descriptor of its own for
// what the caller has. It says false for all others.
func (w *finder) quick(fd int32) (object, bool) {
	if fd < 0 {
		return object{}, false
	}
	o, link := object{fd: -1, shared: true}, caller.Link(fd)
	err := w.procs.Use(w.call.TID, func(dir int) error { return unix.Fstatat(dir, link, &o.stat, unix.AT_NO_AUTOMOUNT) })
	if err != nil || !o.only() {
		return object{}, false
	}
	if r := w.recent; r != nil && r.stat.Ino == o.stat.Ino && r.stat.Dev == o.stat.Dev {
		if at, err := w.fdPath(r.fd); err == nil && at == r.path {
			o.fd, o.path, r.call = r.fd, at, w.dirs.call
			o.dir, o.name = w.dirs.find(func(k *directory) bool { return k == r.dir }), r.name
			return o, true
		}
	}
	if n, ok := w.grantedAs(fd, &o.stat); ok {
		w.recent.close()
		w.recent = &recent{object: n, call: w.dirs.call}
		return n, true
	}
	err = w.procs.Use(w.call.TID, func(dir int) (e error) {
		o.path, e = w.readLink(dir, link)
		return e
	})
	if err != nil || !w.ours(o.path) {
		return object{}, false
	}
	if o.fd, err = w.named(o.path, unix.O_NOFOLLOW); err != nil {
		return object{}, false
	}
	if !isFile(o.fd, &o.stat) {
		unix.Close(o.fd)
		return object{}, false
	}
	w.recent.close()
	w.recent = &recent{object: o, call: w.dirs.call}
	return o, true
}

// begin takes back what the call before has left.
func (w *finder) begin() { w.recent = w.kept.Swap(nil) }

// end leaves what this call has used for the next one.
func (w *finder) end() {
	if r := w.recent; r != nil && r.call != w.dirs.call {
		r.close()
		w.recent = nil
	}
	w.kept.Store(w.recent)
	w.recent = nil
}

// release lets go of what a worker keeps for its next call. Any thread may ask for it.
func (w *finder) release() { w.kept.Swap(nil).close() }
