package interceptor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Conn carries whole requests and answers. Read and Write are called by several threads at once.
type Conn interface {
	Read(buf []byte) (int, error) // one whole request; [io.EOF] at the end
	Write(answer []byte) error    // one whole answer
}

// device is /dev/fuse, which gives and takes whole messages.
type device struct{ fd int }

// Device is the connection of a mount of this machine's kernel. The descriptor stays the
// caller's, who ends the connection by unmounting.
func Device(fd int) Conn { return device{fd} }

func (d device) Read(buf []byte) (int, error) {
	for {
		n, err := unix.Read(d.fd, buf)
		switch err {
		case unix.EINTR, unix.EAGAIN, unix.ENOENT: // that request was withdrawn
			continue
		case unix.ENODEV:
			return 0, io.EOF
		}
		return n, err
	}
}

func (d device) Write(answer []byte) error {
	_, err := unix.Write(d.fd, answer)
	if err == unix.ENOENT {
		return nil // its caller waits no more
	}
	return err
}

// stream is a connection over bytes, one message after the other.
type stream struct {
	in      io.Reader
	out     io.Writer
	reading sync.Mutex
	writing sync.Mutex
}

// Stream is the connection to a relay at the other end of a byte stream.
func Stream(in io.Reader, out io.Writer) Conn { return &stream{in: in, out: out} }

func (c *stream) Read(buf []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if _, err := io.ReadFull(c.in, buf[:inHeader]); err != nil {
		return 0, err
	}
	r, err := parse(buf[:inHeader])
	if err != nil {
		return 0, fmt.Errorf("a request of %d bytes: %w", r.length, err)
	}
	if _, err := io.ReadFull(c.in, buf[inHeader:r.length]); err != nil {
		return 0, err
	}
	return int(r.length), nil
}

func (c *stream) Write(answer []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(answer)
	return err
}

// service is one connection. Workers are threads; there is always one that reads, up to a bound.
type service struct {
	s        *Server
	conn     Conn
	protocol *fuse.ProtocolServer
	begun    atomic.Bool // the first request was answered, which says what both sides know
	threads  sync.WaitGroup
	idle     atomic.Int32
	all      atomic.Int32
	once     sync.Once
	err      error
	over     atomic.Bool
	telling  sync.Mutex // held while something is told
}

// Serve answers requests until the connection ends. It is for one connection.
func (s *Server) Serve(c Conn) error {
	v := &service{s: s, conn: c, protocol: s.protocol()}
	defer s.watch.joined(v)()
	v.hire()
	v.threads.Wait()
	return v.err
}

func (v *service) hire() {
	v.idle.Add(1)
	v.all.Add(1)
	v.threads.Add(1)
	go v.work()
}

// work is one thread: it has no capability, and ends with its goroutine.
func (v *service) work() {
	defer v.threads.Done()
	runtime.LockOSThread()
	if err := dropCapabilities(); err != nil {
		v.end(err)
		return
	}
	in, out := make([]byte, MaxMessage), make([]byte, MaxMessage)
	for !v.over.Load() {
		n, err := v.conn.Read(in)
		if err != nil {
			v.end(err)
			return
		}
		if v.idle.Add(-1) == 0 && v.all.Load() < maxWorkers {
			v.hire()
		}
		since := v.s.watch.began()
		answer, last := v.answer(in[:n], out)
		if len(answer) > 0 {
			r, _ := parse(in[:n]) // 0 of what is none
			err = v.s.watch.answered(v.conn, r.op, answer, since)
		}
		v.idle.Add(1)
		if err != nil || last {
			v.end(err)
			return
		}
	}
}

func (v *service) end(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) { // ours was closed, and nothing waits for an answer
		err = nil
	}
	v.once.Do(func() { v.err = err })
	v.over.Store(true)
}

// answer serves one request; last says that the other side is done.
func (v *service) answer(in, out []byte) (answer []byte, last bool) {
	r, err := parse(in)
	if err == nil {
		err = check(r, in)
	}
	if err == nil && (r.op == opInit) == v.begun.Load() { // once, and first
		err = unix.EIO
	}
	if err != nil {
		if r.silent() {
			return nil, false
		}
		var e unix.Errno
		errors.As(err, &e)
		return refusal(out, r.unique, e), false
	}
	if r.op == opInit {
		defer v.begun.Store(true)
	}
	n, code := v.protocol.HandleRequest([][]byte{in}, [][]byte{out})
	if code != fuse.OK && !r.silent() {
		return refusal(out, r.unique, unix.EIO), false
	}
	return out[:n], r.op == opDestroy
}

// dropCapabilities takes all from the calling thread: what the user may do is enough.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("dropping a thread's capabilities: %w", err)
	}
	return nil
}
