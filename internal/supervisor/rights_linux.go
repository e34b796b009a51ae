package supervisor

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// maxRights bounds how many descriptors come with a line.
const maxRights = 4

// rights reads a connection and keeps the descriptors that come with its first bytes.
// Whoever reads the connection without it gets none: the kernel closes them.
type rights struct {
	conn  *net.UnixConn
	files []*os.File
	taken bool // what comes from now on is closed
}

func (r *rights) Read(b []byte) (int, error) {
	var oob [128]byte
	n, oobn, _, _, err := r.conn.ReadMsgUnix(b, oob[:])
	if oobn > 0 {
		r.keep(oob[:oobn])
	}
	if n <= 0 && err == nil {
		return 0, errEnd
	}
	return max(n, 0), err
}

func (r *rights) keep(oob []byte) {
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
			if r.taken || len(r.files) == maxRights {
				unix.Close(fd)
				continue
			}
			r.files = append(r.files, os.NewFile(uintptr(fd), "received"))
		}
	}
}

// take gives what has come, which is the caller's to close.
func (r *rights) take() []*os.File {
	r.taken = true
	files := r.files
	r.files = nil
	return files
}

// sendWith writes a line with descriptors beside it.
func sendWith(conn net.Conn, line []byte, files []*os.File) error {
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
	if err == nil && n < len(line) {
		_, err = conn.Write(line[n:])
	}
	return err
}
