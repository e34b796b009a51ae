package disk

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// AppendLog appends to a file through mapped memory: a system call for each
// line is a tenth of what a brokered call costs. As with write(2), the kernel
// has what was appended: it stays when this process is killed, in a file that
// then ends in NULs. Blocks are allocated before they are mapped, so a full
// disk is an error and not a signal; where a file system cannot do that, lines
// are written.
type AppendLog struct {
	file   *os.File
	window []byte
	used   int   // bytes of window
	start  int64 // of window in the file; where lines are written, of the next line
	plain  bool
	broken error // it ends in a part of a line that cannot be cut off
}

// logWindow is how much is allocated and mapped at once: a multiple of every
// page size.
const logWindow = 1 << 20

// NewAppendLog takes over an empty file that is open for reading and writing.
func NewAppendLog(f *os.File) *AppendLog { return &AppendLog{file: f} }

// ContinueLog goes on with a file that holds whole lines up to an offset: each line is
// written, nothing is mapped.
func ContinueLog(f *os.File, whole int64) *AppendLog {
	return &AppendLog{file: f, plain: true, start: whole}
}

// Append adds a line that is shorter than logWindow.
func (l *AppendLog) Append(line []byte) error {
	if !l.plain && l.used+len(line) > len(l.window) {
		if err := l.advance(); err != nil {
			return err
		}
	}
	if l.plain {
		return l.write(line)
	}
	return l.copy(line)
}

// write leaves nothing of a line that it cannot write whole: what comes after
// a part of one would not be found.
func (l *AppendLog) write(line []byte) error {
	if l.broken != nil {
		return l.broken
	}
	n, err := l.file.WriteAt(line, l.start)
	if err == nil {
		l.start += int64(n)
		return nil
	}
	l.broken = l.file.Truncate(l.start)
	return err
}

// copy answers a page that cannot be had, since somebody cut the file short or
// the disk is failing, with an error.
func (l *AppendLog) copy(line []byte) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %v", l.file.Name(), r)
		}
	}()
	l.used += copy(l.window[l.used:], line)
	return nil
}

// advance maps the next window, beginning in the page where the last one ended.
func (l *AppendLog) advance() error {
	page := int64(os.Getpagesize())
	end := l.Size()
	start := end - end%page
	err := Try("allocate")
	if err == nil {
		err = unix.Fallocate(int(l.file.Fd()), 0, start, logWindow)
	}
	var window []byte
	if err == nil {
		window, err = unix.Mmap(int(l.file.Fd()), start, logWindow, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	switch {
	case err == nil:
		l.Unmap()
		l.window, l.start, l.used = window, start, int(end-start)
		return nil
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENODEV), errors.Is(err, unix.EINVAL):
		l.Unmap()
		if err = l.file.Truncate(end); err == nil {
			l.plain, l.start, l.used = true, end, 0
		}
	}
	return err
}

// Size is how much was appended.
func (l *AppendLog) Size() int64 { return l.start + int64(l.used) }

// Unmap lets go of the memory; the file stays open.
func (l *AppendLog) Unmap() {
	if l.window != nil {
		_ = unix.Munmap(l.window)
		l.window = nil
	}
}

// Close cuts off what was not used.
func (l *AppendLog) Close() (err error) {
	end := l.Size()
	l.Unmap()
	defer func() { err = errors.Join(err, l.file.Close()) }()
	if l.plain {
		return nil
	}
	return Truncate(int(l.file.Fd()), end)
}
