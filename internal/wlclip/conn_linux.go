package wlclip

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Socket gives the path of the compositor's socket, as libwayland finds it, "" without
// one.
func Socket(getenv func(string) string) string {
	name := getenv("WAYLAND_DISPLAY")
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	dir := getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, name)
}

// answerTime is how long the compositor may take to answer.
const answerTime = 5 * time.Second

// maxFiles are the descriptors that wait to be taken: each belongs to a message.
const maxFiles = 28 // as libwayland has it

// conn is a connection to the compositor, read by one goroutine at a time.
type conn struct {
	c     *net.UnixConn
	in    []byte
	files []int

	write sync.Mutex
}

func dial(ctx context.Context, path string) (*conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("connecting to the compositor: %w", err)
	}
	return &conn{c: c.(*net.UnixConn)}, nil
}

func (c *conn) close() {
	c.c.Close()
	for _, fd := range c.files {
		unix.Close(fd)
	}
	c.files = nil
}

// send sends a request, with a descriptor where there is one.
func (c *conn) send(b []byte, files ...*os.File) error {
	c.write.Lock()
	defer c.write.Unlock()
	var rights []byte
	for _, f := range files {
		rights = unix.UnixRights(int(f.Fd()))
	}
	_ = c.c.SetWriteDeadline(time.Now().Add(answerTime))
	n, _, err := c.c.WriteMsgUnix(b, rights, nil)
	for err == nil && n < len(b) {
		var more int
		more, err = c.c.Write(b[n:])
		n += more
	}
	if err != nil {
		return fmt.Errorf("telling the compositor: %w", err)
	}
	return nil
}

// event gives the next one; its arguments are valid until the one after.
func (c *conn) event() (message, error) {
	for {
		m, rest, ok, err := next(c.in)
		if err != nil {
			return m, err
		}
		if ok {
			c.in = rest
			return m, nil
		}
		buf := make([]byte, maxMessage)
		rights := make([]byte, unix.CmsgSpace(4*maxFiles))
		n, r, _, _, err := c.c.ReadMsgUnix(buf, rights)
		if err == nil && n == 0 {
			err = errors.New("it closed the connection")
		}
		if err != nil {
			return m, fmt.Errorf("hearing the compositor: %w", err)
		}
		c.in = append(append([]byte(nil), c.in...), buf[:n]...)
		if err := c.keep(rights[:r]); err != nil {
			return m, err
		}
	}
}

// keep keeps the descriptors that came with a message until they are taken.
func (c *conn) keep(rights []byte) error {
	if len(rights) == 0 {
		return nil
	}
	list, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return fmt.Errorf("hearing the compositor: %w", err)
	}
	for i := range list {
		fds, err := unix.ParseUnixRights(&list[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
		}
		c.files = append(c.files, fds...)
	}
	if len(c.files) > maxFiles {
		return fmt.Errorf("the compositor sent %d descriptors that belong to no message", len(c.files))
	}
	return nil
}

// file takes the first descriptor that has come.
func (c *conn) file() (int, error) {
	if len(c.files) == 0 {
		return -1, errors.New("the compositor sent no descriptor where one belongs")
	}
	fd := c.files[0]
	c.files = c.files[1:]
	return fd, nil
}
