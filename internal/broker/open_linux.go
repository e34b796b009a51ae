package broker

import (
	"encoding/binary"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	accessMode = unix.O_ACCMODE
	tmpfile    = unix.O_TMPFILE &^ unix.O_DIRECTORY
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

func (r *request) writes() bool { return r.flags&accessMode != unix.O_RDONLY }
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

func (w *worker) openAt(dirfd int32, addr uint64, flags int, mode uint32) (int64, error) {
	r := request{dirfd: dirfd, flags: flags, mode: mode & 0o7777}
	if r.nonsense() {
		return 0, errNotMine
	}
	var err error
	if r.path, err = w.text(w.call.TID, addr, 0); err != nil {
		return 0, err
	}
	switch {
	case w.b.config.Reads && r.reads():
		return w.read(&r)
	case w.away:
		return 0, errNotMine
	}
	return w.carryOpen(&r)
}

// openat2 reads struct open_how of linux/openat2.h.
func (w *worker) openat2(dirfd int32, addr, how, size uint64) (int64, error) {
	if w.b.config.Reads {
		// What its flags are is in memory too: continued, any of them could read.
		return 0, unix.ENOSYS
	}
	var buf [24]byte
	if size != uint64(len(buf)) {
		return 0, errNotMine // E2BIG or EINVAL, or a newer form: the walls decide
	}
	if err := readExact(w.call.TID, how, buf[:]); err != nil {
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
	if r.path, err = w.text(w.call.TID, addr, 0); err != nil {
		return 0, err
	}
	if r.resolve&^resolveCached != 0 && r.changes() {
		return w.openWalked(&r)
	}
	return w.carryOpen(&r)
}

func (w *worker) carryOpen(r *request) (int64, error) {
	if !r.changes() {
		return 0, errNotMine
	}
	if fd, ok := procDescriptor(r.path); ok {
		if r.flags&unix.O_NOFOLLOW != 0 || r.exclusive() {
			return 0, errNotMine // ELOOP, EEXIST
		}
		return w.reopen(r, fd)
	}
	if r.flags&tmpfile != 0 {
		return w.openTmpfile(r)
	}
	for range maxRaces {
		p, err := w.resolve(w.call.TID, r.dirfd, r.path)
		if err == errRemoved && strings.HasSuffix(r.path, "/") {
			err = errNotMine // ENOENT or EISDIR
		}
		if err != nil {
			return 0, err
		}
		val, next, err := w.openPlace(r, &p)
		p.close()
		if err == unix.ESTALE {
			continue // another file has taken the name meanwhile
		}
		if err != nil || next == "" {
			return val, err
		}
		// A symlink: a walk goes on where it leads.
		if fd, ok := procDescriptor(next); ok {
			return w.reopen(r, fd)
		}
		return w.openWalked(r)
	}
	return 0, unix.ESTALE
}

const (
	maxRaces      = 40   // how often another file may take the name meanwhile
	maxLinks      = 40   // MAXSYMLINKS of linux/namei.h
	resolveCached = 0x20 // RESOLVE_CACHED of linux/openat2.h
)

// openPlace opens what is at a place, or makes it. next is where a symlink leads.
func (w *worker) openPlace(r *request, p *place) (val int64, next string, err error) {
	l, err := p.at()
	if err != nil {
		return 0, "", err
	}
	slash := strings.HasSuffix(p.name, "/")
	if r.flags&unix.O_CREAT != 0 && slash && !p.dots() && w.ours(p.path) {
		return 0, "", unix.EISDIR // whatever is there
	}
	if l.kind == KindSymlink && !slash {
		switch {
		case r.exclusive():
			return 0, "", unix.EEXIST
		case r.flags&unix.O_NOFOLLOW != 0 && r.flags&unix.O_DIRECTORY != 0:
			return 0, "", unix.ENOTDIR
		case r.flags&unix.O_NOFOLLOW != 0:
			return 0, "", unix.ELOOP
		}
		if next, err = w.readLink(p.dir, p.name); err != nil {
			return 0, "", errNotMine
		}
		return 0, next, nil
	}
	if !w.ours(p.path) {
		return 0, "", errNotMine
	}
	switch l.kind {
	case KindNone:
		val, err = w.openNew(r, p)
	case KindFile:
		val, err = w.openExisting(r, p, l)
	default:
		err = openOther(r, l.kind)
	}
	return val, "", err
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

func (w *worker) openNew(r *request, p *place) (int64, error) {
	if r.flags&unix.O_CREAT == 0 {
		return 0, unix.ENOENT
	}
	fd := -1
	ch := Change{Op: OpCreate, Path: p.path, Dir: p.dir, Name: p.name, ToDir: -1}
	err := w.change(&ch, func() error {
		return w.withUmask(func() (err error) {
			flags := r.flags&^creating | unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC // exclusive: no link is followed
			fd, err = unix.Openat(p.dir, p.name, flags, r.mode&^(unix.S_ISUID|unix.S_ISGID))
			return err
		})
	})
	if err == unix.EEXIST && r.flags&unix.O_EXCL == 0 {
		l, err := p.at() // somebody was faster
		if err != nil || l.kind != KindFile {
			return 0, errNotMine
		}
		return w.openExisting(r, p, l)
	}
	if err != nil {
		return 0, err
	}
	return w.hand(r, p.path, fd, func() { takeBack(p, fd) })
}

// takeBack removes a file that was just made, if it still has its name.
func takeBack(p *place, fd int) {
	var st unix.Stat_t
	if l, err := p.at(); err == nil && unix.Fstat(fd, &st) == nil && l.ino == st.Ino &&
		unix.Mkdev(l.dev[0], l.dev[1]) == st.Dev {
		_ = unix.Unlinkat(p.dir, p.name, 0)
	}
}

// openExisting opens a regular file that is there. Truncation comes after the
// descriptor has a number in the caller: a full table must not cost the content.
func (w *worker) openExisting(r *request, p *place, l look) (int64, error) {
	if strings.HasSuffix(p.name, "/") && !r.exclusive() {
		return 0, unix.ENOTDIR
	}
	ch := Change{Op: OpOpen, Path: p.path, Kind: KindFile, Dir: p.dir, Name: p.name, ToDir: -1}
	return w.openFile(r, &ch, func(flags int) (int, error) { return w.openSame(p, flags, l) })
}

func (w *worker) openFile(r *request, ch *Change, open func(flags int) (int, error)) (int64, error) {
	switch {
	case r.exclusive():
		return 0, unix.EEXIST
	case r.flags&unix.O_DIRECTORY != 0:
		return 0, unix.ENOTDIR
	case !r.writes() && r.flags&unix.O_TRUNC == 0:
		return 0, errNotMine // an existing file, for reading: natively
	}
	flags := r.flags &^ creating
	if !r.writes() {
		flags |= unix.O_WRONLY
	}
	fd := -1
	err := w.change(ch, func() (err error) {
		fd, err = open(flags)
		return err
	})
	if err != nil {
		return 0, err
	}
	return w.hand(r, ch.Path, fd, nil)
}

// openSame opens the regular file that was looked at, and no other.
func (w *worker) openSame(p *place, flags int, l look) (int, error) {
	// Not O_NOFOLLOW: F_GETFL would show it.
	fd, err := openUnleased(p.dir, p.name, flags, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_BENEATH)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Ino != l.ino || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return -1, unix.ESTALE
	}
	return fd, nil
}

// openUnleased opens a file with just these flags. A lease that somebody holds
// must not hold us: O_NONBLOCK, and the caller is told.
func openUnleased(dir int, name string, flags int, resolve uint64) (int, error) {
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{Flags: uint64(uint32(flags)) | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: resolve})
	if err == unix.EAGAIN && flags&unix.O_NONBLOCK == 0 {
		return -1, errLeased
	}
	if err != nil {
		return -1, err
	}
	if flags&unix.O_NONBLOCK == 0 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags); err != nil {
			unix.Close(fd)
			return -1, err
		}
	}
	return fd, nil
}

// hand gives the caller a descriptor and closes ours before it goes on: a
// program that it just wrote must not be busy when it starts it. undo takes a
// creation back where the caller has no room.
func (w *worker) hand(r *request, path string, fd int, undo func()) (int64, error) {
	defer func() {
		if fd >= 0 {
			unix.Close(fd)
		}
	}()
	truncate := r.flags&unix.O_TRUNC != 0 && undo == nil
	give := fd
	if !r.writes() {
		ro, err := w.readOnly(path, fd, r.flags)
		if err == unix.EACCES && undo != nil {
			ro, err = w.readNew(path, fd, r.flags)
		}
		if err != nil {
			return 0, err
		}
		defer unix.Close(ro)
		give = ro
	}
	n, err := w.trap.AddFD(w.call.ID, give, r.flags&unix.O_CLOEXEC)
	if err != nil {
		if undo != nil {
			undo()
		}
		return 0, err
	}
	if truncate {
		if err := cut(fd, r.flags); err != nil {
			return 0, err
		}
	}
	unix.Close(fd)
	fd = -1
	return int64(n), nil
}

// cut empties a file. A descriptor with access mode 3, for ioctl only, was
// granted as one for reading and writing, but can do neither.
func cut(fd, flags int) error {
	if flags&accessMode == accessMode {
		own, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(own)
		fd = own
	}
	return unix.Ftruncate(fd, 0)
}

// readOnly opens the same file on the view's read-only mount: a descriptor of
// the mirror could be opened again through procfs, for writing.
func (w *worker) readOnly(path string, like, flags int) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(uint32(flags&^(creating|accessMode))) | unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK,
		Resolve: inMirror | unix.RESOLVE_NO_SYMLINKS,
	}
	fd, err := w.seen(path, how)
	if err != nil {
		return -1, err
	}
	var a, b unix.Stat_t
	if unix.Fstat(fd, &a) != nil || unix.Fstat(like, &b) != nil || a.Ino != b.Ino || a.Dev != b.Dev {
		unix.Close(fd)
		return -1, unix.ESTALE
	}
	if flags&unix.O_NONBLOCK == 0 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags); err != nil {
			unix.Close(fd)
			return -1, err
		}
	}
	return fd, nil
}

// readNew is readOnly for a file that was just made with a mode that its own
// maker may not read: the open that makes a file has what it asked for all the
// same.
func (w *worker) readNew(path string, fd, flags int) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, err
	}
	if err := unix.Fchmod(fd, st.Mode&0o7777|unix.S_IRUSR); err != nil {
		return -1, err
	}
	ro, err := w.readOnly(path, fd, flags)
	if e := unix.Fchmod(fd, st.Mode&0o7777); e != nil && err == nil {
		unix.Close(ro)
		return -1, e
	}
	return ro, err
}

// openTmpfile makes a file without a name in a directory of a root.
func (w *worker) openTmpfile(r *request) (int64, error) {
	o, err := w.find(w.call.TID, r.dirfd, r.path, true)
	if err != nil {
		return 0, err
	}
	defer o.close()
	return w.makeUnnamed(r, &o)
}

func (w *worker) makeUnnamed(r *request, o *object) (int64, error) {
	fd := -1
	ch := Change{Op: OpCreate, Path: o.path + "/#", Dir: -1, ToDir: -1}
	err := w.change(&ch, func() error {
		return w.withUmask(func() (err error) {
			fd, err = unix.Openat(o.fd, ".", r.flags&^unix.O_NOFOLLOW|unix.O_CLOEXEC, r.mode&^(unix.S_ISUID|unix.S_ISGID))
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	return w.hand(&request{flags: r.flags &^ unix.O_TRUNC}, o.path, fd, func() {})
}
