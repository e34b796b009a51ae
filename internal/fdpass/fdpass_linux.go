package fdpass

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Most bounds how many descriptors are kept of what comes before one [Reader.Take].
const Most = 4

// Reader reads a connection and keeps the descriptors that come with its bytes, until
// Stop. Whoever reads the connection without it gets none: the kernel closes them.
type Reader struct {
	Conn  *net.UnixConn
	files []*os.File
	over  bool // what comes from now on is closed
}

// Read implements [io.Reader].
func (r *Reader) Read(b []byte) (int, error) {
	var oob [128]byte
	n, oobn, _, _, err := r.Conn.ReadMsgUnix(b, oob[:])
	if oobn > 0 {
		r.keep(oob[:oobn])
	}
	if n <= 0 && err == nil {
		return 0, io.EOF
	}
	return max(n, 0), err
}

func (r *Reader) keep(oob []byte) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			if r.over || len(r.files) == Most {
				unix.Close(fd)
				continue
			}
			r.files = append(r.files, os.NewFile(uintptr(fd), "received"))
		}
	}
}

// Take gives what has come, which is the caller's to close.
func (r *Reader) Take() []*os.File {
	files := r.files
	r.files = nil
	return files
}

// Stop closes what comes from now on.
func (r *Reader) Stop() { r.over = true }

// Close closes what has come and nobody took.
func (r *Reader) Close() {
	for _, f := range r.Take() {
		f.Close()
	}
}

// Send writes a line with descriptors beside it, which stay the caller's. A connection
// that takes none gets the line.
func Send(conn net.Conn, line []byte, files ...*os.File) error {
	c, ok := conn.(*net.UnixConn)
	if !ok || len(files) == 0 {
		_, err := conn.Write(line)
		return err
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	n, _, err := c.WriteMsgUnix(line, unix.UnixRights(fds...), nil)
	if err == nil && n < len(line) { // the descriptors have gone with the first byte
		_, err = conn.Write(line[n:])
	}
	return err
}

// nullDevice is /dev/null, null(4).
var nullDevice = unix.Mkdev(1, 3)

// Stream says whether a descriptor is one that opens no way to anything else: a pipe or
// /dev/null.
func Stream(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var st unix.Stat_t
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = unix.Fstat(int(fd), &st) }); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFIFO, kind == unix.S_IFCHR && st.Rdev == nullDevice:
		return nil
	default:
		return fmt.Errorf("a descriptor of type %#o is none: want pipes or /dev/null", kind)
	}
}

// Caller gives the number of the process at the other end of a Unix socket, as it was when
// that connected; 0 where it cannot be known.
func Caller(conn net.Conn) (pid int) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return 0
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid
}

// Listener takes a listening descriptor over.
func Listener(fd int) (net.Listener, error) {
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	return net.FileListener(f)
}

// Conn takes the descriptor of a connection over.
func Conn(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "connection")
	defer f.Close()
	return net.FileConn(f)
}
