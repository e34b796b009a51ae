package guest

import (
	"fmt"
	"time"

	"carrel/internal/streams"

	"golang.org/x/sys/unix"
)

// carried is a descriptor of a command that is about to be carried.
type carried struct {
	what Descriptor
	conn streams.Conn // nil for [Null], and where an earlier descriptor is the same
	size func() (unix.Winsize, bool)
}

// sameFile tells one open pipe, socket or terminal from another.
type sameFile struct {
	kind           byte
	dev, ino, rdev uint64
}

// carry makes streams of the descriptors of a command, which stay the caller's. The same pipe or
// terminal is one stream, so that what is written to it stays in order.
func (h *Host) carry(fds []int) (list []carried, err error) {
	seen := make(map[sameFile]Descriptor)
	for _, fd := range fds {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return list, fmt.Errorf("a standard descriptor: %w", err)
		}
		one := carried{what: Descriptor{Kind: kindOf(fd, &st)}}
		same := sameFile{one.what.Kind, st.Dev, st.Ino, st.Rdev}
		if was, ok := seen[same]; ok {
			list = append(list, carried{what: was})
			continue
		}
		if one.what.Kind != Null {
			if one.conn, err = open(fd, one.what.Kind); err != nil {
				return list, fmt.Errorf("carrying a standard descriptor: %w", err)
			}
			h.streams++
			one.what.Stream = h.streams
			seen[same] = one.what
		}
		if e, ok := one.conn.(sized); ok && one.what.Kind == Terminal {
			one.size = e.size
		}
		list = append(list, one)
	}
	return list, nil
}

func kindOf(fd int, st *unix.Stat_t) byte {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFSOCK:
		return Socket
	case unix.S_IFCHR:
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
			return Terminal
		}
		return Null // the machine has its own
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY {
		return Input
	}
	return Output
}

// sized is what may have the size of a terminal.
type sized interface {
	size() (size unix.Winsize, ok bool)
}

// open opens what a descriptor leads to once more: whether the caller's blocks is the caller's.
// What another user has made, as the terminal of a person who became this user, is shared.
func open(fd int, kind byte) (streams.Conn, error) {
	if kind == Socket {
		return share(fd, kind)
	}
	flags := map[byte]int{Input: unix.O_RDONLY, Output: unix.O_WRONLY, Terminal: unix.O_RDWR}[kind]
	own, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), flags|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err == unix.ENXIO { // a pipe that has no reader any more
		var gone [2]int
		if err = unix.Pipe2(gone[:], unix.O_CLOEXEC); err == nil {
			own = gone[1]
			unix.Close(gone[0])
		}
	}
	if err == unix.EACCES {
		return share(fd, kind)
	}
	if err != nil {
		return nil, err
	}
	if kind == Terminal {
		if err := bare(own); err != nil {
			unix.Close(own)
			return nil, err
		}
	}
	return NewEnd(own, kind != Output, kind != Input), nil
}

// share takes a descriptor of the same open file.
func share(fd int, kind byte) (streams.Conn, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err == nil && kind == Terminal {
		err = bare(own)
	}
	if err != nil {
		return nil, err
	}
	return newShared(own, kind)
}

// bare has a terminal pass bytes on as they are: the one behind it in the machine does the rest.
func bare(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(fd, unix.TCSETS, t)
}

// size gives the size of a terminal, while it is open.
func (e *End) size() (size unix.Winsize, ok bool) {
	raw, err := e.file().SyscallConn()
	if err != nil {
		return size, false
	}
	err = raw.Control(func(fd uintptr) { size, ok = sizeOf(int(fd)) })
	return size, ok && err == nil
}

// size gives the size of a terminal, while it is open.
func (s *shared) size() (size unix.Winsize, ok bool) {
	if !s.use(1, false) {
		return size, false
	}
	defer s.use(-1, false)
	return sizeOf(s.fd)
}

func sizeOf(fd int) (size unix.Winsize, ok bool) {
	w, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	if err != nil {
		return size, false
	}
	return *w, true
}

// sizePeriod is how often a terminal is asked for its size. Its near end has no other way to tell.
const sizePeriod = 50 * time.Millisecond

// follow tells the size of a terminal when it changes, as long as it is there.
func (h *Host) follow(stream uint64, was unix.Winsize, size func() (unix.Winsize, bool)) {
	for range time.Tick(sizePeriod) {
		now, ok := size()
		if !ok || h.over() {
			return
		}
		if now != was {
			was = now
			h.queue(item{record: resized(stream, now)})
		}
	}
}
