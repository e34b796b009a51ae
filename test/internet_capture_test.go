//go:build linux

package e2e

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// capture is what left the host by its cable, as a packet socket beside it saw it.
type capture struct {
	n    *internet
	file *os.File
	mu   sync.Mutex
	left []packet
}

// packet is one that left. What is not IP has its Ethernet type as protocol.
type packet struct {
	proto    string
	from, to netip.AddrPort
	payload  []byte
}

func newCapture(n *internet) *capture {
	c := &capture{n: n}
	n.must(n.host.do(func() error {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		link, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20)
		c.file = os.NewFile(uintptr(fd), "capture")
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_ALL), Ifindex: link.Index})
	}))
	n.t.Cleanup(func() { c.file.Close() })
	go c.watch()
	return c
}

func htons(v uint16) uint16 { return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v)) }

// watch keeps what leaves until the socket is closed.
func (c *capture) watch() {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, 1<<17)
	for {
		var size int
		var from unix.Sockaddr
		err := raw.Read(func(fd uintptr) bool {
			var err error
			size, from, err = unix.Recvfrom(int(fd), buf, unix.MSG_TRUNC)
			return err != unix.EAGAIN
		})
		if err != nil {
			return
		}
		if at, ok := from.(*unix.SockaddrLinklayer); ok && at.Pkttype == unix.PACKET_OUTGOING && size > 14 {
			p := parsePacket(buf[:min(size, 512)])
			c.mu.Lock()
			c.left = append(c.left, p)
			c.mu.Unlock()
		}
	}
}

// parsePacket reads an Ethernet frame as far as the tests want to know.
func parsePacket(frame []byte) packet {
	kind, body := binary.BigEndian.Uint16(frame[12:]), frame[14:]
	var proto byte
	var from, to netip.Addr
	switch {
	case kind == unix.ETH_P_IP && len(body) >= 20 && len(body) >= int(body[0]&15)*4:
		proto = body[9]
		from, to = netip.AddrFrom4([4]byte(body[12:])), netip.AddrFrom4([4]byte(body[16:]))
		body = body[int(body[0]&15)*4:]
	case kind == unix.ETH_P_IPV6 && len(body) >= 40:
		proto = body[6]
		from, to = netip.AddrFrom16([16]byte(body[8:])), netip.AddrFrom16([16]byte(body[24:]))
		body = body[40:]
	default:
		return packet{proto: fmt.Sprintf("ether-%04x", kind), payload: slices.Clone(body)}
	}
	p := packet{proto: fmt.Sprintf("ip-%d", proto), from: netip.AddrPortFrom(from, 0), to: netip.AddrPortFrom(to, 0)}
	name := map[byte]string{1: "icmp", 6: "tcp", 17: "udp", 58: "icmp6", 132: "sctp"}[proto]
	if name != "" {
		p.proto = name
	}
	if (name == "tcp" || name == "udp" || name == "sctp") && len(body) >= 8 {
		p.from = netip.AddrPortFrom(from, binary.BigEndian.Uint16(body))
		p.to = netip.AddrPortFrom(to, binary.BigEndian.Uint16(body[2:]))
		head := 8
		if name == "tcp" && len(body) >= 20 {
			head = int(body[12]>>4) * 4
		}
		body = body[min(head, len(body)):]
	}
	p.payload = slices.Clone(body)
	return p
}

// String names where a packet went, and which name a question is about.
func (p packet) String() string {
	if strings.HasPrefix(p.proto, "ether-") {
		return p.proto
	}
	to := p.to.String()
	if p.to.Port() == 0 {
		to = p.to.Addr().String()
	}
	if p.proto == "icmp6" && len(p.payload) > 0 {
		return fmt.Sprintf("icmp6 type %d %s", p.payload[0], to)
	}
	if p.proto == "udp" && p.to.Port() == 53 {
		var d dnsmessage.Parser
		if _, err := d.Start(p.payload); err == nil {
			if q, err := d.Question(); err == nil {
				return "dns " + strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
			}
		}
	}
	return p.proto + " " + to
}

// start forgets what left so far.
func (c *capture) start() {
	c.flush()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = nil
}

// flush waits until the socket has given all that it holds: a packet of our own
// is the last of them.
func (c *capture) flush() {
	c.n.t.Helper()
	mark := fmt.Sprintf("mark %d", time.Now().UnixNano())
	udp := c.n.packets(c.n.host, hostAddress+":0")
	defer udp.Close()
	_, err := udp.WriteTo([]byte(mark), net.UDPAddrFromAddrPort(netip.MustParseAddrPort(gateway+":9")))
	c.n.must(err)
	eventually(c.n.t, "the capture sees what leaves", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.IndexFunc(c.left, func(p packet) bool { return string(p.payload) == mark })
		if i >= 0 {
			c.left = slices.Delete(c.left, i, i+1)
		}
		return i >= 0
	})
}

// seen gives what left since start, each once, sorted.
func (c *capture) seen() []string {
	c.n.t.Helper()
	c.flush()
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, p := range c.left {
		all = append(all, p.String())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// noise is what a kernel says of itself when a cable is new.
var noise = []string{"ip-0 ff02::16"}

// only wants nothing to have left but what is listed.
func (c *capture) only(what string, listed ...string) {
	c.n.t.Helper()
	for _, s := range c.seen() {
		if !slices.Contains(listed, s) && !slices.Contains(noise, s) {
			c.n.t.Errorf("%s: %q left the host; listed: %q", what, s, listed)
		}
	}
}
