//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// netAttacks are what a program may try on the network. Where the answer is an
// error it has to come soon: see quick.
var netAttacks = map[string]func(args []string) (string, error){
	"dial":      netDial,
	"tls":       netTLS,
	"get":       func(a []string) (string, error) { return netGet(a, http.ProxyFromEnvironment) },
	"getdirect": func(a []string) (string, error) { return netGet(a, nil) },
	"udp":       netUDP,
	"ping":      netPing,
	"rawicmp":   netRaw,
	"frame":     netFrame,
	"stream":    netStream,
	"vsock":     netVsock,
	"routes":    netRoutes,
	"lookup":    netLookup,
	"query":     netQuery,
	"reuseport": netReusePort,
	"say":       netSay,
	"many":      netMany,
	"halfopen":  netHalfOpen,
}

// quick is how long a refusal may take.
const quick = 3 * time.Second

// netDial connects, and says what the other side says first.
func netDial(a []string) (string, error) {
	c, err := net.DialTimeout(a[0], a[1], 3*quick)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(3 * quick))
	buf := make([]byte, 64)
	n, err := c.Read(buf)
	return string(buf[:n]), err
}

// netTLS speaks TLS over a connection of its own and knows no proxy. A third
// argument is the name that it gives in place of the host's.
func netTLS(a []string) (string, error) {
	host, _, _ := net.SplitHostPort(a[0])
	conf := &tls.Config{ServerName: host}
	if len(a) > 1 {
		conf.ServerName, conf.InsecureSkipVerify = a[1], true
	}
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: 3 * quick}, "tcp", a[0], conf)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(3 * quick))
	fmt.Fprintf(c, "GET / HTTP/1.0\r\nHost: %s\r\n\r\n", conf.ServerName)
	return lastLine(c)
}

func lastLine(r io.Reader) (string, error) {
	last := ""
	s := bufio.NewScanner(r)
	for s.Scan() {
		last = s.Text()
	}
	return last, s.Err()
}

// netGet fetches with Go's client and gives status, refusal and body.
func netGet(a []string, proxy func(*http.Request) (*url.URL, error)) (string, error) {
	client := &http.Client{Transport: &http.Transport{Proxy: proxy}, Timeout: 3 * quick}
	r, err := client.Get(a[0])
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, 4096))
	text := strconv.Itoa(r.StatusCode) + " "
	if code := r.Header.Get("X-Carrel-Denied"); code != "" {
		text += code + " "
	}
	return text + strings.ReplaceAll(strings.TrimSpace(string(body)), "\n", " | "), err
}

// netUDP sends a datagram and waits for its echo.
func netUDP(a []string) (string, error) {
	c, err := net.Dial("udp", a[0])
	if err != nil {
		return "", err
	}
	defer c.Close()
	return echoed(c, "leak-by-udp")
}

func echoed(c net.Conn, text string) (string, error) {
	if _, err := c.Write([]byte(text)); err != nil {
		return "", err
	}
	_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	buf := make([]byte, 64)
	n, err := c.Read(buf)
	return string(buf[:n]), err
}

// netPing sends an echo request through a socket that needs no privilege.
func netPing(a []string) (string, error) {
	to := netip.MustParseAddr(a[0])
	family, proto, kind := unix.AF_INET, unix.IPPROTO_ICMP, byte(8)
	if to.Is6() {
		family, proto, kind = unix.AF_INET6, unix.IPPROTO_ICMPV6, byte(128)
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM, proto)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return exchange(fd, sockaddr(to, 0), append([]byte{kind, 0, 0, 0, 0, 1, 0, 1}, "leak-by-icmp"...))
}

// exchange sends one packet and waits for any answer.
func exchange(fd int, to unix.Sockaddr, packet []byte) (string, error) {
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 200_000})
	if err := unix.Sendto(fd, packet, 0, to); err != nil {
		return "", err
	}
	buf := make([]byte, 256)
	if _, _, err := unix.Recvfrom(fd, buf, 0); err != nil {
		return "", err
	}
	return "answered", nil
}

func sockaddr(a netip.Addr, port int) unix.Sockaddr {
	if a.Is6() {
		return &unix.SockaddrInet6{Addr: a.As16(), Port: port}
	}
	return &unix.SockaddrInet4{Addr: a.As4(), Port: port}
}

// netRaw sends an echo request through a raw socket.
func netRaw(a []string) (string, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return exchange(fd, sockaddr(netip.MustParseAddr(a[0]), 0), append([]byte{8, 0, 0xf7, 0xfd, 0, 1, 0, 1}, make([]byte, 8)...))
}

// netFrame puts a frame of its own making on the first cable that is there.
func netFrame([]string) (string, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, int(htons(unix.ETH_P_ALL)))
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	link, err := net.InterfaceByName("eth0")
	if err != nil {
		return "", err
	}
	frame := append(bytes.Repeat([]byte{0xff}, 12), 0x88, 0xb5)
	frame = append(frame, "leak-by-frame"...)
	return "sent", unix.Sendto(fd, append(frame, make([]byte, 50)...), 0, &unix.SockaddrLinklayer{Ifindex: link.Index})
}

// netStream connects a stream of another protocol: its number and address.
func netStream(a []string) (string, error) {
	proto, _ := strconv.Atoi(a[0])
	to := netip.MustParseAddrPort(a[1])
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, proto)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: 1})
	err = unix.Connect(fd, sockaddr(to.Addr(), int(to.Port())))
	if err == unix.EINTR { // the kernel goes on connecting: the socket is writable when that is over
		for err == unix.EINTR {
			_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, int(quick.Milliseconds()))
		}
		if err == nil {
			_, err = unix.Getpeername(fd)
		}
	}
	return "connected", err
}

// netVsock connects to the machine that this one may be a guest of.
func netVsock([]string) (string, error) {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	_ = unix.SetsockoptTimeval(fd, unix.AF_VSOCK, 6, &unix.Timeval{Sec: 1})
	if err := unix.Connect(fd, &unix.SockaddrVM{CID: unix.VMADDR_CID_HOST, Port: 9}); err != nil && !errors.Is(err, unix.EPERM) {
		return "made", nil // a socket is there; whether somebody listens is no matter of walls
	}
	return "", unix.EPERM
}

// netRoutes makes a way out by netlink: an interface of its own.
func netRoutes([]string) (string, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	// RTM_NEWLINK of a pair of cables, asked to be confirmed.
	msg := []byte{0, 0, 0, 0, unix.RTM_NEWLINK, 0, 5, 6, 1, 0, 0, 0, 0, 0, 0, 0}
	msg = append(msg, make([]byte, 16)...)
	msg = append(msg, 16, 0, 18, 0, 9, 0, 1, 0, 'v', 'e', 't', 'h', 0, 0, 0, 0)
	msg[0] = byte(len(msg))
	if err := unix.Sendto(fd, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return "", err
	}
	buf := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, buf, 0)
	if err != nil || n < 20 {
		return "", errors.Join(err, io.ErrUnexpectedEOF)
	}
	if code := -int32(uint32(buf[16]) | uint32(buf[17])<<8 | uint32(buf[18])<<16 | uint32(buf[19])<<24); code != 0 {
		return "", unix.Errno(code)
	}
	return "made", nil
}

// netLookup resolves as programs do.
func netLookup(a []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*quick)
	defer cancel()
	all, err := net.DefaultResolver.LookupHost(ctx, a[0])
	return strings.Join(all, " "), err
}

// netQuery asks a name server (address and port) for a type and a name, and
// gives the code of its answer and how many records it has.
func netQuery(a []string) (string, error) {
	types := map[string]dnsmessage.Type{"A": 1, "AAAA": 28, "TXT": 16, "MX": 15, "NULL": 10, "SRV": 33, "PTR": 12, "HTTPS": 65, "ANY": 255, "NS": 2}
	name, err := dnsmessage.NewName(a[2])
	if err != nil {
		return "", err
	}
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true}, Questions: []dnsmessage.Question{{Name: name, Type: types[a[1]], Class: dnsmessage.ClassINET}}}
	packed, err := m.Pack()
	if err != nil {
		return "", err
	}
	c, err := net.Dial("udp", a[0])
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	if _, err = c.Write(packed); err != nil {
		return "", err
	}
	buf := make([]byte, 4096)
	n, err := c.Read(buf)
	if err != nil {
		return "", err
	}
	if err := m.Unpack(buf[:n]); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d", strings.TrimPrefix(m.RCode.String(), "RCode"), len(m.Answers)), nil
}

// netReusePort listens where somebody listens already, as SO_REUSEPORT permits
// among those who agree.
func netReusePort(a []string) (string, error) {
	at := netip.MustParseAddrPort(a[1])
	kind := map[string]int{"tcp": unix.SOCK_STREAM, "udp": unix.SOCK_DGRAM}[a[0]]
	fd, err := unix.Socket(unix.AF_INET, kind, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
	if err == nil {
		err = unix.Bind(fd, sockaddr(at.Addr(), int(at.Port())))
	}
	if err == nil && kind == unix.SOCK_STREAM {
		err = unix.Listen(fd, 10)
	}
	return "bound", err
}

// netSay writes bytes (a quoted Go string) to an address and gives back, quoted,
// the start of all that comes until the end or until nothing comes any more.
func netSay(a []string) (string, error) {
	text, err := strconv.Unquote(a[1])
	if err != nil {
		return "", err
	}
	c, err := net.DialTimeout("tcp", a[0], 3*quick)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(3 * quick))
	go func() { _, _ = io.WriteString(c, text) }()
	wait := 500 * time.Millisecond
	if len(a) > 2 {
		wait, _ = time.ParseDuration(a[2])
	}
	var all []byte
	buf := make([]byte, 4096)
	for len(all) < 8192 {
		_ = c.SetReadDeadline(time.Now().Add(wait))
		n, err := c.Read(buf)
		all = append(all, buf[:n]...)
		if err != nil {
			if os.IsTimeout(err) {
				all = append(all, " (waits)"...)
			}
			break
		}
	}
	return strconv.Quote(string(all)), nil
}

// netMany makes N connections at once by the proxy and counts how they end.
func netMany(a []string) (string, error) {
	n, _ := strconv.Atoi(a[1])
	request := fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", a[2])
	var open, refused, failed atomic.Int64
	var all sync.WaitGroup
	ready := make(chan struct{})
	for range n {
		all.Go(func() {
			c, err := net.DialTimeout("tcp", a[0], 30*time.Second)
			if err != nil {
				failed.Add(1)
				return
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(30 * time.Second))
			_, _ = io.WriteString(c, request)
			line, err := bufio.NewReader(c).ReadString('\n')
			switch {
			case err != nil:
				failed.Add(1)
			case strings.Contains(line, " 200 "):
				open.Add(1)
				<-ready
			default:
				refused.Add(1)
			}
		})
	}
	for deadline := time.Now().Add(40 * time.Second); open.Load()+refused.Load()+failed.Load() < int64(n) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	close(ready)
	all.Wait()
	return fmt.Sprintf("open %d refused %d failed %d", open.Load(), refused.Load(), failed.Load()), nil
}

// netHalfOpen leaves N connections without a word, then wants one to be served.
func netHalfOpen(a []string) (string, error) {
	n, _ := strconv.Atoi(a[1])
	for range n {
		c, err := net.DialTimeout("tcp", a[0], quick)
		if err != nil {
			return "", err
		}
		defer c.Close()
		if _, err := io.WriteString(c, a[2]); err != nil {
			return "", err
		}
	}
	return netGet(a[3:], http.ProxyFromEnvironment)
}
