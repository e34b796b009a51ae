package seccomp

import (
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func probeSockets() map[string]int {
	return map[string]int{
		"socketpair":   errnoOf(useSocketpair()),
		"tcp4":         errnoOf(loopback("tcp4", "127.0.0.1:0")),
		"tcp6":         errnoOf(loopback("tcp6", "[::1]:0")),
		"unix":         errnoOf(loopback("unix", "echo.sock")),
		"udp":          errnoOf(datagrams()),
		"routes":       errnoOf(routes()),
		"message pass": errnoOf(passDescriptor()),
	}
}

func useSocketpair() error {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.SetsockoptInt(p[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 1<<16); err != nil {
		return err
	}
	if _, err := unix.GetsockoptInt(p[0], unix.SOL_SOCKET, unix.SO_SNDBUF); err != nil {
		return err
	}
	if err := unix.Sendto(p[0], []byte("x"), 0, nil); err != nil {
		return err
	}
	if _, err := unix.Getpeername(p[0]); err != nil {
		return err
	}
	if _, _, err := unix.Recvfrom(p[1], make([]byte, 8), 0); err != nil {
		return err
	}
	return unix.Shutdown(p[0], unix.SHUT_RDWR)
}

func loopback(network, address string) error {
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			io.Copy(c, c)
			c.Close()
		}
	}()
	c, err := net.DialTimeout(network, l.Addr().String(), 5*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("ping")); err != nil {
		return err
	}
	_, err = io.ReadFull(c, make([]byte, 4))
	return err
}

func datagrams() error {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.WriteTo([]byte("x"), c.LocalAddr()); err != nil {
		return err
	}
	_, _, err = c.ReadFrom(make([]byte, 8))
	return err
}

// routes asks for the interfaces as getifaddrs does.
func routes() error {
	if _, err := syscall.NetlinkRIB(syscall.RTM_GETROUTE, syscall.AF_UNSPEC); err != nil {
		return err
	}
	_, err := net.Interfaces()
	return err
}

func passDescriptor() error {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(p[0], []byte("x"), unix.UnixRights(0), nil, 0); err != nil {
		return err
	}
	_, _, _, _, err = unix.Recvmsg(p[1], make([]byte, 8), make([]byte, 64), unix.MSG_CMSG_CLOEXEC)
	return err
}
