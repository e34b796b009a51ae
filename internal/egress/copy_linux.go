package egress

import (
	"errors"
	"io"
	"math"
	"net"
	"os"
	"syscall"
	"time"
)

// maxFast bounds the streams that the kernel copies by itself (splice(2)), each
// through a pipe of 1 MiB. All pipes of a user together may hold 64 MiB before
// the kernel makes the next ones tiny, the user's other programs' too, so that
// only streams that move much have one, and give it back when they rest.
const maxFast = 8

const (
	hotAfter  = 512 << 10              // bytes without a rest
	restAfter = 200 * time.Millisecond // without a byte
	fastChunk = 64 << 20
)

// transfer copies until the end of src, or at most limit bytes if that is not
// negative, and tells apart whose error ended it. A stream that rests holds no
// buffer and no pipe.
func transfer(dst, src net.Conn, limit int64, fast chan struct{}) (n int64, read, write error) {
	in, ok := src.(*net.TCPConn)
	out, ok2 := dst.(*net.TCPConn)
	if !ok || !ok2 {
		return transferAny(dst, src, limit)
	}
	raw, err := in.SyscallConn()
	if err != nil {
		return 0, err, nil
	}
	t := pump{in: in, out: out, raw: raw}
	if limit < 0 {
		limit = math.MaxInt64
	}
	for hot := 0; n < limit; {
		moved, rested := t.step(limit - n)
		n += int64(moved)
		if t.read != nil || t.write != nil || moved == 0 {
			return n, t.read, t.write
		}
		if hot += moved; rested {
			hot = 0
		}
		if hot < hotAfter {
			continue
		}
		hot = 0
		select {
		case fast <- struct{}{}:
			moved, ended := t.splice(limit - n)
			<-fast
			n += moved
			if ended {
				return n, t.read, t.write
			}
		default:
		}
	}
	return n, nil, nil
}

// pump is one direction of a connection.
type pump struct {
	in, out     *net.TCPConn
	raw         syscall.RawConn
	read, write error
}

// step moves what is there to be read, and waits for it without a buffer.
func (t *pump) step(limit int64) (moved int, rested bool) {
	var buf *[bufferSize]byte
	defer func() {
		if buf != nil {
			buffers.Put(buf)
		}
	}()
	var err error
	wait := t.raw.Read(func(fd uintptr) bool {
		buf = buffers.Get().(*[bufferSize]byte)
		for {
			moved, err = syscall.Read(int(fd), buf[:min(limit, bufferSize)])
			if err != syscall.EINTR {
				break
			}
		}
		if err == syscall.EAGAIN {
			buffers.Put(buf)
			buf, rested = nil, true
			return false
		}
		return true
	})
	if wait != nil {
		t.read = wait
		return 0, rested
	}
	if err != nil {
		t.read = os.NewSyscallError("read", err)
		return 0, rested
	}
	if moved > 0 {
		_, t.write = t.out.Write(buf[:moved])
	}
	return max(moved, 0), rested
}

// splice has the kernel copy until the stream rests or ends, or limit.
func (t *pump) splice(limit int64) (n int64, ended bool) {
	for n < limit {
		chunk := min(limit-n, fastChunk)
		_ = t.in.SetReadDeadline(time.Now().Add(restAfter))
		moved, err := t.out.ReadFrom(&io.LimitedReader{R: t.in, N: chunk})
		_ = t.in.SetReadDeadline(time.Time{})
		n += moved
		switch {
		case err == nil && moved < chunk:
			return n, true
		case errors.Is(err, os.ErrDeadlineExceeded):
			return n, false
		case errors.Is(err, syscall.EPIPE):
			t.write = err
			return n, true
		case err != nil:
			t.read = err // or a write: the kernel does not say
			return n, true
		}
	}
	return n, false
}

// alive tells whether a connection that rests has neither ended nor something
// to say that nobody asked for.
func alive(c net.Conn) bool {
	s, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = err == syscall.EAGAIN
		return true
	})
	return err == nil && quiet
}
