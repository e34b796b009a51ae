package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"unsafe"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// Store is the history of one project: a directory of its owner alone.
//
//	format         what wrote it
//	lock           shared by writers, exclusive for undo
//	counters       mapped by all writers: stamps, step numbers, estimates of what is kept
//	discarded      steps that are gone, where a journal still tells of them
//	index          what closed segments come to; made from the journals where it is missing or wrong
//	journal/SEG    one segment a writer, locked while it writes
//	objects/SEG/N  preimages
//
// Journal, objects and what is moved between them and the roots are on one file
// system, that of the project where it can be chosen.
type Store struct {
	*place
	objects
	formatFile
	locks
	numbers
	settings
	readOnly error // why it cannot be written to; nil where it can
}

// Open opens the store in a directory, and makes it where there is none.
func Open(dir string) (*Store, error) {
	s, err := OpenToRead(dir)
	if err == nil && s.readOnly != nil {
		s.Close()
		return nil, fmt.Errorf("opening the history in %q: %w", dir, s.readOnly)
	}
	return s, err
}

// OpenToRead is Open also where nothing can be written to: then steps can be read, and not
// taken back.
func OpenToRead(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the history: %w", err)
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the history in %q: %w", dir, err)
	}
	at := &place{path: dir, fd: fd}
	s := &Store{place: at, objects: objects{at}, formatFile: formatFile{place: at}}
	if err := s.open(); err != nil {
		s.Close()
		return nil, fmt.Errorf("opening the history in %q: %w", dir, err)
	}
	return s, nil
}

func (s *Store) open() error {
	var st unix.Stat_t
	if err := unix.Fstat(s.fd, &st); err != nil {
		return err
	}
	if st.Uid != uint32(os.Geteuid()) || st.Mode&0o077 != 0 {
		return errors.New("it is not a directory of this user alone; make it 0700")
	}
	if err := s.makeDirectories(); err != nil {
		return err
	}
	for _, d := range []string{"journal", "objects"} { // whoever moves them away takes them out of this directory's protection
		fd, err := s.directory(d)
		if err != nil {
			return fmt.Errorf("%q in it has to be a directory: %w", d, err)
		}
		unix.Close(fd)
	}
	if err := s.checkFormat(); err != nil {
		return err
	}
	var err error
	if s.lock, err = openWritten(s, "lock"); err != nil {
		return err
	}
	return s.mapCounters()
}

// openWritten opens a file that all writers write to. Where that cannot be, the history can be read.
func openWritten(s *Store, name string) (*os.File, error) {
	f, err := s.file(name, os.O_RDWR|os.O_CREATE)
	if !errors.Is(err, unix.EROFS) && !errors.Is(err, unix.EACCES) {
		return f, err
	}
	s.readOnly = err
	if f, e := s.file(name, os.O_RDONLY); e == nil {
		return f, nil
	}
	return nil, err
}

// makeDirectories makes those that are missing. Their names are on the disk before there
// is a format, and nobody need look after them again.
func (s *place) makeDirectories() error {
	made := false
	for _, name := range []string{"journal", "objects", "open"} {
		err := disk.MkdirAt(s.fd, name, 0o700)
		if err != nil && err != unix.EEXIST {
			return fmt.Errorf("making %q in it: %w", name, err)
		}
		made = made || err == nil
	}
	if !made {
		return nil
	}
	return disk.SyncFile(s.fd)
}

func (s *place) file(name string, flags int) (*os.File, error) {
	err := disk.Try("file")
	fd := -1
	if err == nil {
		how := &unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC | unix.O_NONBLOCK), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
		if flags&os.O_CREATE != 0 {
			how.Mode = 0o600
		}
		fd, err = unix.Openat2(s.fd, name, how)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: filepath.Join(s.path, name), Err: err}
	}
	return os.NewFile(uintptr(fd), filepath.Join(s.path, name)), nil
}

func (s *formatFile) checkFormat() error {
	f, err := s.file("format", os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return s.writeFormat()
	}
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 64)
	n, _ := f.Read(buf)
	if s.former = string(buf[:n]) == former; !s.former && string(buf[:n]) != format {
		return &FormatError{Dir: s.path, Found: string(buf[:n])}
	}
	return nil
}

// raiseFormat says that this version writes from now on.
func (s *formatFile) raiseFormat() error {
	if !s.former {
		return nil
	}
	err := s.writeFormat()
	s.former = err != nil
	return err
}

// writeFormat makes the file at once: a crash leaves none or a whole one.
func (s *formatFile) writeFormat() error {
	if err := syncAbove(s.path); err != nil {
		return err
	}
	temp := "format." + strconv.Itoa(os.Getpid())
	f, err := s.file(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.WriteString(format)
	err = errors.Join(err, disk.SyncFile(int(f.Fd())), f.Close(), disk.SyncFile(s.fd))
	if err == nil {
		err = disk.RenameOver(s.fd, temp, s.fd, "format")
	}
	if err != nil {
		_ = disk.UnlinkAt(s.fd, temp, 0)
	}
	return err
}

func (s *Store) mapCounters() error {
	f, err := openWritten(s, "counters")
	if err != nil {
		return err
	}
	defer f.Close()
	page := os.Getpagesize()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", f.Name())
	}
	if st.Size() < int64(page) {
		if err := allocate(f, page); err != nil {
			return err
		}
	}
	how := unix.MAP_SHARED
	if s.readOnly != nil {
		how = unix.MAP_PRIVATE
	}
	if s.mapped, err = unix.Mmap(int(f.Fd()), 0, page, unix.PROT_READ|unix.PROT_WRITE, how); err != nil {
		return err
	}
	s.counters = (*[5]atomic.Uint64)(unsafe.Pointer(&s.mapped[0]))
	return nil
}

// allocate makes a file so long that it can be mapped, and has room for it: what
// is mapped and cannot be written is a signal and not an error.
func allocate(f *os.File, size int) error {
	err := disk.Try("allocate")
	if err == nil {
		err = unix.Fallocate(int(f.Fd()), 0, 0, int64(size))
	}
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		have := int64(0)
		if have, err = f.Seek(0, io.SeekEnd); err == nil {
			_, err = f.WriteAt(make([]byte, int64(size)-have), have)
		}
	}
	return err
}

var errCounters = errors.New("the file \"counters\" of the history is damaged; remove it while nothing runs, and it is made again from the journal")

// Stamp gives the next moment in the order of all writers.
func (s *Store) Stamp() (uint64, error) { return s.count(0) }

// NextNumber gives the next step's number.
func (s *Store) NextNumber() (uint64, error) { return s.count(1) }

func (s *Store) count(i int) (n uint64, err error) {
	if s.readOnly != nil {
		return 0, s.readOnly
	}
	err = s.mappedCounters(func() { n = s.counters[i].Add(1) })
	if err == nil && (n == 0 || n > journal.MaxNumber) {
		err = errCounters
	}
	return n, err
}

// CatchUp brings the counters past all that the journals say, the first time after the
// machine was started: they are not brought to the disk, and losing the power may have
// taken them back.
func (s *Store) CatchUp() error {
	boot := bootNumber()
	now := uint64(0)
	if err := s.mappedCounters(func() { now = s.counters[4].Load() }); err != nil {
		return err
	}
	if boot != 0 && now == boot {
		return nil
	}
	if _, err := s.Survey(); err != nil {
		return err
	}
	return s.mappedCounters(func() { s.counters[4].Store(boot) })
}

// LastStamp gives the last stamp that was given to a writer.
func (s *numbers) LastStamp() (n uint64, err error) {
	err = s.mappedCounters(func() { n = s.counters[0].Load() })
	return n, err
}

// atLeast keeps the counters ahead of what the journal says: a crash of the
// machine may have taken them back.
func (s *numbers) atLeast(stamp, step uint64) error {
	return s.mappedCounters(func() {
		for i, n := range []uint64{stamp, step} {
			for {
				now := s.counters[i].Load()
				if now >= n || s.counters[i].CompareAndSwap(now, n) {
					break
				}
			}
		}
	})
}

// mappedCounters makes a page that cannot be had an error: somebody cut the file
// short.
func (s *numbers) mappedCounters(do func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			err = errCounters
		}
	}()
	do()
	return nil
}

// Ignored gives what SetIgnored has set, nil for nothing.
func (s *settings) Ignored() func(path string) bool { return s.ignored }

// Limits gives the limits that hold now.
func (s *settings) Limits() Limits { return s.limits }

// Dir is the directory that it was opened in.
func (s *place) Dir() string { return s.path }

// FD is the descriptor of its directory.
func (s *place) FD() int { return s.fd }

// Close lets go of the store and its locks.
func (s *Store) Close() {
	if s.mapped != nil {
		_ = unix.Munmap(s.mapped)
		s.mapped, s.counters = nil, nil
	}
	if s.lock != nil {
		s.lock.Close()
	}
	if s.fd >= 0 {
		unix.Close(s.fd)
		s.fd = -1
	}
}

// Share takes the lock that writers share. It keeps undos away until the store is closed or
// unlocked.
func (s *locks) Share() error { return s.flock(unix.LOCK_SH, "an undo is going on") }

// LockExclusive takes the lock that no other process may hold.
func (s *Store) LockExclusive() error {
	if s.readOnly != nil {
		return s.readOnly
	}
	err := s.flock(unix.LOCK_EX, "")
	if err == unix.EWOULDBLOCK {
		return ErrBusy
	}
	return err
}

func (s *locks) flock(how int, why string) error {
	err := unix.Flock(int(s.lock.Fd()), how|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK && why != "" {
		return errors.New(why)
	}
	return err
}

// Unlock lets go of either.
func (s *locks) Unlock() { _ = unix.Flock(int(s.lock.Fd()), unix.LOCK_UN) }

// ObjectsOf opens the directory of a segment's objects.
func (s *objects) ObjectsOf(segment string, create bool) (int, error) {
	if !journal.ValidSegment(segment) {
		return -1, fmt.Errorf("segment %q: no such name", segment)
	}
	objects, err := s.directory("objects")
	if err != nil {
		return -1, err
	}
	defer unix.Close(objects)
	if create {
		if err := disk.MkdirAt(objects, segment, 0o700); err != nil && err != unix.EEXIST {
			return -1, err
		}
	}
	if err := disk.Try("open"); err != nil {
		return -1, err
	}
	return unix.Openat2(objects, segment, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
}

// directory pins one of the store's own: what is made or removed in it is not by a
// link that somebody has put there.
func (s *place) directory(name string) (int, error) {
	return unix.Openat(s.fd, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// SetIgnored says what is not kept from now on, by the path that something had when
// a step began. A file with several names is kept all the same: it may be something
// else by another one.
func (s *settings) SetIgnored(ignored func(path string) bool) { s.ignored = ignored }

// SyncDirectory brings the names in a directory of the store to the disk.
func (s *place) SyncDirectory(name string) error {
	fd, err := s.directory(name)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return disk.SyncNames(fd)
}

// syncAbove brings the directories to the disk that lead to a new store. What may
// not be read was not made by this user.
func syncAbove(dir string) error {
	for dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = disk.SyncFile(fd)
			unix.Close(fd)
		}
		if err != nil && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EROFS) {
			return err
		}
	}
	return nil
}
