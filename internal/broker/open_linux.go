package broker

import (
	"encoding/binary"
	"strings"

	"carrel/internal/broker/caller"

	"golang.org/x/sys/unix"
)

const (
	tmpfile = unix.O_TMPFILE &^ unix.O_DIRECTORY
	// creating are the flags that are ours to carry out, not the file's.
	creating = unix.O_CREAT | unix.O_EXCL | unix.O_TRUNC | unix.O_CLOEXEC | unix.O_NOCTTY
)

// What openat2(2) knows: VALID_OPEN_FLAGS of linux/fcntl.h and the RESOLVE_
// flags of linux/openat2.h.
const (
	knownFlags = unix.O_ACCMODE | unix.O_CREAT | unix.O_EXCL | unix.O_NOCTTY | unix.O_TRUNC | unix.O_APPEND | unix.O_NONBLOCK |
		unix.O_SYNC | unix.O_DSYNC | 0x2000 | unix.O_DIRECT | unix.O_DIRECTORY | unix.O_NOFOLLOW |
		unix.O_NOATIME | unix.O_CLOEXEC | unix.O_PATH | tmpfile | 0x8000 // FASYNC and O_LARGEFILE have no names here
	knownResolve = unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH | unix.RESOLVE_IN_ROOT | resolveCached
)

// request is one open, however it was spelled.
type request struct {
	dirfd   int32
	path    string
	flags   int
	mode    uint32
	resolve uint64 // of openat2
}

func (r *request) writes() bool { return r.flags&unix.O_ACCMODE != unix.O_RDONLY }
func (r *request) changes() bool {
	return r.writes() || r.flags&(unix.O_CREAT|unix.O_TRUNC|tmpfile) != 0
}

// exclusive says that the open has to make the file.
func (r *request) exclusive() bool {
	return r.flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL
}

// nonsense says that the flags contradict each other: the kernel answers
// EINVAL before it looks at any name.
func (r *request) nonsense() bool {
	switch {
	case r.flags&unix.O_PATH != 0:
		return true // not ours in any case
	case r.flags&tmpfile != 0:
		return r.flags&unix.O_DIRECTORY == 0 || r.flags&unix.O_CREAT != 0 || !r.writes()
	}
	return r.flags&(unix.O_CREAT|unix.O_DIRECTORY) == unix.O_CREAT|unix.O_DIRECTORY
}

func openAt(w *worker, dirfd int32, addr uint64, flags int, mode uint32) (int64, error) {
	r := request{dirfd: dirfd, flags: flags, mode: mode & 0o7777}
	if r.nonsense() {
		return 0, errNotMine
	}
	var err error
	if r.path, err = w.memory.Text(addr, 0); err != nil {
		return 0, err
	}
	switch {
	case w.b.config.Reads && r.reads():
		return r.read(w)
	case w.away:
		return 0, errNotMine
	}
	val, err := r.carry(w)
	if err == errNotMine && w.b.config.Cuts && cutsUnwritten(flags) {
		err = r.uncut(w)
	}
	return val, err
}

// openat2 reads struct open_how of linux/openat2.h.
func openat2(w *worker, dirfd int32, addr, how, size uint64) (int64, error) {
	if w.b.config.Reads {
		// What its flags are is in memory too: continued, any of them could read.
		return 0, unix.ENOSYS
	}
	var buf [24]byte
	if size != uint64(len(buf)) {
		return 0, errNotMine // E2BIG or EINVAL, or a newer form: the walls decide
	}
	if err := w.memory.ReadExact(how, buf[:]); err != nil {
		return 0, err
	}
	flags, mode := binary.NativeEndian.Uint64(buf[:]), binary.NativeEndian.Uint64(buf[8:])
	r := request{dirfd: dirfd, flags: int(flags), mode: uint32(mode), resolve: binary.NativeEndian.Uint64(buf[16:])}
	makes := flags&(unix.O_CREAT|tmpfile) != 0
	if flags&^knownFlags != 0 || mode&^0o7777 != 0 || mode != 0 && !makes || r.resolve&^knownResolve != 0 || r.nonsense() ||
		r.resolve&(unix.RESOLVE_BENEATH|unix.RESOLVE_IN_ROOT) == unix.RESOLVE_BENEATH|unix.RESOLVE_IN_ROOT {
		return 0, errNotMine // EINVAL
	}
	var err error
	if r.path, err = w.memory.Text(addr, 0); err != nil {
		return 0, err
	}
	if r.resolve&^resolveCached != 0 && r.changes() {
		return r.openWalked(w)
	}
	return r.carry(w)
}

func (r *request) carry(w *worker) (int64, error) {
	if !r.changes() {
		return 0, errNotMine
	}
	if fd, ok := caller.Descriptor(r.path); ok {
		if r.flags&unix.O_NOFOLLOW != 0 || r.exclusive() {
			return 0, errNotMine // ELOOP, EEXIST
		}
		return r.reopen(w, fd)
	}
	if r.flags&tmpfile != 0 {
		return r.openTmpfile(w)
	}
	for range maxRaces {
		p, err := w.resolve(r.dirfd, r.path)
		if err == errRemoved && strings.HasSuffix(r.path, "/") {
			err = errNotMine // ENOENT or EISDIR
		}
		if err != nil {
			return 0, err
		}
		val, next, err := r.openPlace(w, &p)
		if err == unix.ESTALE {
			w.dirs.next() // another file has taken the name meanwhile
			continue
		}
		if err != nil || next == "" {
			return val, err
		}
		// A symlink: a walk goes on where it leads.
		if fd, ok := caller.Descriptor(next); ok {
			return r.reopen(w, fd)
		}
		return r.openWalked(w)
	}
	return 0, unix.ESTALE
}

const (
	maxRaces      = 40   // how often another file may take the name meanwhile
	maxLinks      = 40   // MAXSYMLINKS of linux/namei.h
	resolveCached = 0x20 // RESOLVE_CACHED of linux/openat2.h
)

// openPlace opens what is at a place, or makes it. next is where a symlink leads.
func (r *request) openPlace(w *worker, p *place) (val int64, next string, err error) {
	l, err := p.at()
	if err != nil {
		return 0, "", err
	}
	slash := strings.HasSuffix(p.name, "/")
	if r.flags&unix.O_CREAT != 0 && slash && !p.dots() && w.ours(p.path) {
		return 0, "", unix.EISDIR // whatever is there
	}
	if l.Kind == KindSymlink && !slash {
		next, err = r.openLink(w, p)
		return 0, next, err
	}
	if !w.ours(p.path) {
		return 0, "", errNotMine
	}
	switch l.Kind {
	case KindNone:
		val, err = r.openNew(w, p)
	case KindFile:
		val, err = r.openExisting(w, p, l)
	default:
		err = openOther(r, l.Kind)
	}
	return val, "", err
}

// openLink says where a symlink leads, if the open is to follow it.
func (r *request) openLink(w *worker, p *place) (string, error) {
	switch {
	case r.exclusive():
		return "", unix.EEXIST
	case r.flags&unix.O_NOFOLLOW != 0 && r.flags&unix.O_DIRECTORY != 0:
		return "", unix.ENOTDIR
	case r.flags&unix.O_NOFOLLOW != 0:
		return "", unix.ELOOP
	}
	next, err := w.readLink(p.dir, p.name)
	if err != nil {
		return "", errNotMine
	}
	return next, nil
}

// openOther is for what is no file: directories give their errors, FIFOs and
// sockets work on a read-only mount.
func openOther(r *request, kind Kind) error {
	switch {
	case r.flags&unix.O_CREAT == 0 || kind != KindDir:
		return errNotMine
	case r.flags&unix.O_EXCL != 0:
		return unix.EEXIST
	}
	return unix.EISDIR
}

func (r *request) openNew(w *worker, p *place) (int64, error) {
	if r.flags&unix.O_CREAT == 0 {
		return 0, unix.ENOENT
	}
	var got handed
	faster := false // somebody else was
	ch := Change{Op: OpCreate, Path: p.path, Dir: p.dir, Name: p.name, In: w.in(p), ToDir: -1}
	v, err := r.decideOpen(w, &ch)
	if err != nil {
		return 0, err
	}
	err = w.allowed(&ch, func() error {
		dir, err := w.apartPlace(p)
		if err != nil {
			return err
		}
		fd := -1
		err = w.withUmask(func() (err error) {
			flags := r.flags&^creating | unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC // exclusive: no link is followed
			if v.Vet != nil {
				flags = flags&^(unix.O_ACCMODE|unix.O_APPEND) | unix.O_RDWR
			}
			fd, err = w.withRoom(func() (int, error) { return w.fs.Openat(dir, p.name, flags, r.mode&^(unix.S_ISUID|unix.S_ISGID)) })
			return err
		})
		if err != nil {
			faster = err == unix.EEXIST && r.flags&unix.O_EXCL == 0
			return err
		}
		if v.Vet != nil {
			got, err = w.b.drafts.begin(&w.pinner, r, &draft{change: ch, verdict: v, place: fd})
			return err
		}
		got, err = r.hand(w, p.path, fd, func() { takeBack(p.dir, p.name, fd) })
		return err
	})
	if faster {
		l, err := p.at()
		if err != nil || l.Kind != KindFile {
			return 0, errNotMine
		}
		return r.openExisting(w, p, l)
	}
	if err != nil {
		return 0, err
	}
	if v.Vet == nil {
		w.has(got.number, p)
	}
	return got.number, got.cut
}

// decideOpen decides an open that makes a file or opens it for writing. Nobody can put
// anything into it by one for reading: then there is nothing to vet, unless it is cut.
func (r *request) decideOpen(w *worker, ch *Change) (Verdict, error) {
	v, err := w.decide(ch)
	if err != nil {
		return v, err
	}
	if v.Allowed && !r.writes() && (ch.Op == OpCreate || r.flags&unix.O_TRUNC == 0) {
		v.Vet = nil
	}
	if !v.Allowed {
		err = w.refuse(ch, v)
	}
	return v, err
}

// takeBack removes a file that was just made, if it still has its name.
func takeBack(dir int, name string, fd int) {
	var is, was unix.Stat_t
	if unix.Fstatat(dir, name, &is, unix.AT_SYMLINK_NOFOLLOW) == nil && unix.Fstat(fd, &was) == nil && is.Ino == was.Ino && is.Dev == was.Dev {
		_ = unix.Unlinkat(dir, name, 0)
	}
}

// openExisting opens a regular file that is there. Truncation comes after the
// descriptor has a number in the caller: a full table must not cost the content.
func (r *request) openExisting(w *worker, p *place, l look) (int64, error) {
	if strings.HasSuffix(p.name, "/") && !r.exclusive() {
		return 0, unix.ENOTDIR
	}
	ch := Change{Op: OpOpen, Path: p.path, Kind: KindFile, Dir: p.dir, Name: p.name, In: w.in(p), ToDir: -1, Was: l.Seen}
	number, vetted, err := r.openFile(w, &ch, func(flags int) (int, error) { return w.openSame(p, flags, l) })
	if err == nil && !vetted {
		w.has(number, p)
	}
	return number, err
}

// openFile opens what is there. vetted: what is written goes to the file later.
func (r *request) openFile(w *worker, ch *Change, open func(flags int) (int, error)) (number int64, vetted bool, err error) {
	switch {
	case r.exclusive():
		return 0, false, unix.EEXIST
	case r.flags&unix.O_DIRECTORY != 0:
		return 0, false, unix.ENOTDIR
	case !r.writes() && r.flags&unix.O_TRUNC == 0:
		return 0, false, errNotMine // an existing file, for reading: natively
	}
	v, err := r.decideOpen(w, ch)
	if err != nil {
		return 0, false, err
	}
	flags := r.flags &^ creating
	switch {
	case v.Vet != nil:
		flags = flags&^(unix.O_ACCMODE|unix.O_APPEND) | unix.O_RDWR
	case !r.writes():
		flags |= unix.O_WRONLY
	}
	var got handed
	err = w.allowed(ch, func() error {
		if v.Vet != nil {
			if given, err := w.b.drafts.again(&w.pinner, r, ch); given.number >= 0 || err != nil {
				got = given
				return err
			}
		}
		fd, err := open(flags)
		if err != nil {
			ch.Unopened = true
			return err
		}
		if v.Vet != nil {
			got, err = w.b.drafts.begin(&w.pinner, r, &draft{change: *ch, verdict: v, place: fd})
			return err
		}
		got, err = r.hand(w, ch.Path, fd, nil)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return got.number, v.Vet != nil, got.cut
}

// openTmpfile makes a file without a name in a directory of a root.
func (r *request) openTmpfile(w *worker) (int64, error) {
	o, err := w.find(r.dirfd, r.path, true)
	if err != nil {
		return 0, err
	}
	defer o.close()
	return r.makeUnnamed(w, &o)
}

func (r *request) makeUnnamed(w *worker, o *object) (int64, error) {
	fd := -1
	ch := Change{Op: OpCreate, Path: o.path + "/#", Dir: -1, ToDir: -1}
	err := w.change(&ch, func() error {
		dir, err := o.fd, error(nil)
		if kindOf(o.stat.Mode) == KindDir { // else it is an error of the kernel's
			dir, err = w.apartCopy(o.fd)
		}
		if err != nil {
			return err
		}
		return w.withUmask(func() (err error) {
			fd, err = w.fs.Openat(dir, ".", r.flags&^unix.O_NOFOLLOW|unix.O_CLOEXEC, r.mode&^(unix.S_ISUID|unix.S_ISGID))
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	got, err := (&request{flags: r.flags &^ unix.O_TRUNC}).hand(w, o.path, fd, func() {})
	return got.number, err
}

// handed is a descriptor that the caller has by now.
type handed struct {
	number int64
	cut    error // it has it, and the file could not be emptied
}

// hand gives the caller a descriptor and closes ours before it goes on: a
// program that it just wrote must not be busy when it starts it. undo takes a
// creation back where the caller has no room. It is part of the change: a step that
// ended before it would not know who has the file open, or that it is empty.
func (r *request) hand(w *worker, path string, fd int, undo func()) (handed, error) {
	defer unix.Close(fd)
	takenBack := undo
	if takenBack == nil {
		takenBack = func() {}
	}
	truncate := r.flags&unix.O_TRUNC != 0 && undo == nil
	give := fd
	if !r.writes() {
		ro, err := w.readOnly(path, fd, r.flags)
		if err == unix.EACCES && undo != nil {
			ro, err = w.readNew(path, fd, r.flags)
		}
		if err != nil {
			takenBack()
			return handed{}, err
		}
		defer unix.Close(ro)
		give = ro
	}
	n, err := w.trap.AddFD(w.call.ID, give, r.flags&unix.O_CLOEXEC)
	if err != nil {
		takenBack()
		return handed{}, err
	}
	got := handed{number: int64(n)}
	if truncate {
		got.cut = cut(fd, r.flags)
	}
	return got, nil
}
