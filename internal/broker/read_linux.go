package broker

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"carrel/internal/broker/caller"
	"carrel/internal/procfs"

	"golang.org/x/sys/unix"
)

// Opens for reading, where Config.Reads says that they are trapped. None of
// them is ever continued: nothing keeps the kernel from opening a file of a root
// for reading, so that whatever the caller's memory says by then would be read.
// Each is carried out in the mounts that the caller sees, by what was pinned
// when it was decided.

// devTTY is the device number of /dev/tty, which is another terminal for each.
const devTTY = 5 << 8

// readToo prepares for trapped opens for reading.
func (b *Broker) readToo() error {
	fd, err := unix.Openat2(b.config.View, "/proc", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: inMirror})
	if err != nil {
		return fmt.Errorf("looking at the workspace's /proc: %w", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("looking at the workspace's /proc: %w", err)
	}
	b.procDev = st.Dev
	for _, nr := range reading() {
		b.anybody[nr] = true
	}
	return b.fifos.open()
}

// reads says whether the kernel, left to itself, could open for reading what
// has taken the path's place. Everything else meets the read-only mount, or
// what is there already.
func (r *request) reads() bool {
	return r.flags&unix.O_PATH == 0 && !r.writes() && !r.exclusive() && r.flags&(unix.O_TRUNC|tmpfile) == 0
}

func (r *request) read(w *worker) (int64, error) {
	for range maxLinks {
		pin, err := w.see(r.dirfd, r.path, r.flags&unix.O_NOFOLLOW == 0)
		var val int64
		switch {
		case err == unix.ENOENT && r.flags&unix.O_CREAT != 0:
			val, err = r.readNewFile(w)
		case err == nil:
			val, err = r.readPinned(w, pin)
		}
		if err != unix.ESTALE {
			return val, err
		}
	}
	return 0, unix.ELOOP
}

// readPinned decides and opens what was found; it closes pin.
func (r *request) readPinned(w *worker, pin int) (int64, error) {
	defer func() { unix.Close(pin) }()
	var st unix.Stat_t
	if err := unix.Fstat(pin, &st); err != nil {
		return 0, err
	}
	kind := kindOf(st.Mode)
	switch {
	case r.flags&unix.O_DIRECTORY != 0 && kind != KindDir:
		return 0, unix.ENOTDIR
	case kind == KindSymlink:
		return 0, unix.ELOOP
	case r.flags&unix.O_CREAT != 0 && (kind == KindDir || strings.HasSuffix(r.path, "/")):
		return 0, unix.EISDIR
	}
	at, err := w.mayRead(pin, &st)
	if err != nil {
		return 0, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFCHR:
		if st.Rdev == devTTY {
			tty, err := w.terminal(pin)
			if err != nil {
				return 0, err
			}
			unix.Close(pin)
			pin = tty
		}
	case unix.S_IFIFO:
		if r.flags&unix.O_NONBLOCK == 0 && at[0] == '/' {
			return r.readFIFO(w, pin)
		}
	}
	fd, err := w.openPinned(pin, at, &st, r.flags)
	if err != nil {
		return 0, err
	}
	return w.give(fd, r.flags)
}

// mayRead decides about what is pinned, by the name that it has now.
func (w *deciding) mayRead(pin int, st *unix.Stat_t) (string, error) {
	at, err := w.fdPath(pin)
	if err != nil {
		return "", err
	}
	if st.Dev == w.b.procDev && (outsiders(at) || w.b.stageOnly(at)) {
		return "", unix.EACCES
	}
	if !w.ours(at) {
		return at, nil
	}
	name := strings.TrimSuffix(at, " (deleted)") // the name that it had counts on
	return at, w.allow(&Change{Op: OpRead, Path: name, Kind: kindOf(st.Mode), Dir: -1, ToDir: -1, Pinned: pin})
}

// readNewFile is an open for reading that makes the file, as lock files are.
// ESTALE: look again.
func (r *request) readNewFile(w *worker) (int64, error) {
	dir, name := split(r.path)
	if dir == "" {
		dir = "."
	}
	parent, err := w.see(r.dirfd, dir, true)
	if err != nil {
		return 0, err
	}
	defer unix.Close(parent)
	if strings.HasSuffix(name, "/") {
		return 0, unix.EISDIR
	}
	if r.flags&unix.O_DIRECTORY != 0 {
		return 0, unix.EINVAL
	}
	at, err := w.fdPath(parent)
	if err != nil {
		return 0, err
	}
	if text, err := w.readLink(parent, name); err == nil {
		if w.away || r.flags&unix.O_NOFOLLOW != 0 {
			return 0, unix.ELOOP
		}
		if r.path = text; text[0] != '/' { // it leads to a name that is not there yet
			r.path = at + "/" + text
		}
		return 0, unix.ESTALE
	}
	if w.ours(join(at, name)) {
		return r.newInRoot(w, join(at, name))
	}
	fd := -1
	err = w.withUmask(func() (err error) {
		fd, err = w.fs.Openat(parent, name, r.flags|unix.O_EXCL|unix.O_CLOEXEC, r.mode) // exclusive: no link is followed
		return err
	})
	if err == unix.EEXIST {
		return 0, unix.ESTALE
	}
	if err != nil {
		return 0, err
	}
	return w.give(fd, r.flags)
}

func (r *request) newInRoot(w *worker, at string) (int64, error) {
	if w.away {
		return 0, unix.EROFS
	}
	val, err := (&request{dirfd: unix.AT_FDCWD, path: at, flags: r.flags | unix.O_EXCL, mode: r.mode}).carry(w)
	switch err {
	case unix.EEXIST:
		return 0, unix.ESTALE
	case errNotMine:
		return 0, unix.EROFS
	}
	return val, err
}

// execute refuses to start what may not be read. It is a word to programs that
// keep to it: the kernel reads the path once more, see docs/walls.md.
func execute(w *worker, t target) (int64, error) {
	if w.b.config.Reads && unreadable(w, t) {
		return 0, unix.EACCES
	}
	if w.b.config.Programs && !w.away {
		return started(w, t)
	}
	return 0, errNotMine
}

func unreadable(w *worker, t target) bool {
	path, err := w.memory.Text(t.addr, 0)
	if err != nil {
		return false
	}
	var pin int
	if path == "" && t.empty {
		pin, err = w.callerFD(t.dirfd)
	} else {
		pin, err = w.see(t.dirfd, path, t.follow)
	}
	if err != nil {
		return false
	}
	defer unix.Close(pin)
	var st unix.Stat_t
	if unix.Fstat(pin, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return false
	}
	_, err = w.mayRead(pin, &st)
	return err == unix.EACCES
}

// terminal finds the controlling terminal of the caller, which /dev/tty means.
func (w *resolver) terminal(pin int) (int, error) {
	caller, err := procfs.ReadStat(int(w.call.TID))
	if err != nil || caller.Terminal == 0 {
		return -1, unix.ENXIO
	}
	tty := caller.Terminal
	if own, err := procfs.ReadStat(os.Getpid()); err == nil && own.Session == caller.Session {
		return unix.Dup(pin) // a session has one: for us it means the same
	}
	major, minor := tty>>8&0xfff, tty&0xff|tty>>12&0xfff00
	if major != 136 { // a pseudoterminal (Documentation/admin-guide/devices.txt)
		return -1, unix.ENXIO
	}
	fd, err := w.open(w.b.config.View, "/dev/pts/"+strconv.Itoa(minor), 0, inMirror)
	if err != nil {
		return -1, unix.ENXIO
	}
	return fd, nil
}

// stageOnly says whether a path of procfs shows what the stage keeps to itself.
// It is not dumpable, so that no program inside may look into it; we own its user
// namespace, and the kernel would let us.
func (b *Broker) stageOnly(at string) bool {
	rest, ok := strings.CutPrefix(at, "/proc/")
	pid, file, _ := strings.Cut(rest, "/")
	if _, err := strconv.ParseUint(pid, 10, 32); !ok || err != nil {
		return false
	}
	if thread, below, ok := strings.Cut(strings.TrimPrefix(file, "task/"), "/"); ok && thread != file && strings.HasPrefix(file, "task/") {
		file = below
	}
	if file == "" || openToAll[file] || strings.HasPrefix(file, "net/") {
		return false
	}
	fd, err := unix.Openat2(b.config.View, "/proc/"+pid+"/status", &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC, Resolve: inMirror})
	if err != nil {
		return true
	}
	tgid := caller.Field(caller.Head(fd), "Tgid:")
	return tgid == "" || tgid == "1"
}
