package synhold

import (
	"encoding/binary"
	"net/netip"
)

// Positions in headers: RFC 791, RFC 8200, RFC 9293.
const (
	header4, header6 = 20, 40
	headerTCP        = 20
	ttl4, hops6      = 8, 7
	protocolTCP      = 6
	protocolICMP     = 1
	flagsTCP         = 13
	sumTCP           = 16

	flagSYN, flagRST, flagACK = 0x02, 0x04, 0x10
)

// deliveredTTL is the TTL (hop limit) of a packet that is delivered again, by which the
// filters know it. A program may set it itself and is then accepted at once, as it would
// be without this package: nothing is decided by it.
const deliveredTTL = 1

// first is the first packet of a connection.
type first struct {
	ends Ends
	text []byte // from the IP header on
	head int    // length of the IP header
}

// readFirst reads a packet that the loopback interface has carried.
func readFirst(b []byte) (f first, ok bool) {
	if len(b) < header4+headerTCP {
		return f, false
	}
	var size int
	var src, dst netip.Addr
	switch b[0] >> 4 {
	case 4:
		f.head, size = int(b[0]&0xf)*4, int(binary.BigEndian.Uint16(b[2:]))
		if f.head < header4 || b[9] != protocolTCP || binary.BigEndian.Uint16(b[6:])&0x1fff != 0 || b[ttl4] == deliveredTTL {
			return f, false
		}
		src, dst = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
	case 6:
		f.head, size = header6, header6+int(binary.BigEndian.Uint16(b[4:]))
		if len(b) < header6+headerTCP || b[6] != protocolTCP || b[hops6] == deliveredTTL {
			return f, false
		}
		src, dst = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
	default:
		return f, false
	}
	if size > len(b) || size < f.head+headerTCP {
		return f, false
	}
	f.text = b[:size]
	t := f.text[f.head:]
	f.ends = Ends{netip.AddrPortFrom(src, binary.BigEndian.Uint16(t)), netip.AddrPortFrom(dst, binary.BigEndian.Uint16(t[2:]))}
	return f, t[flagsTCP]&(flagSYN|flagRST|flagACK) == flagSYN
}

// deliver is the packet once more, for the listener.
func (f *first) deliver() []byte {
	b := append([]byte(nil), f.text...)
	if f.ends.To.Addr().Is4() {
		b[ttl4] = deliveredTTL
		b[10], b[11] = 0, 0
		binary.BigEndian.PutUint16(b[10:], checksum(b[:f.head], 0))
	} else {
		b[hops6] = deliveredTTL
	}
	sumSegment(b[f.head:], f.ends.From.Addr(), f.ends.To.Addr()) // the loopback interface leaves it to others
	return b
}

// refuse is what a host says where no program listens.
func (f *first) refuse() []byte {
	t := make([]byte, headerTCP)
	binary.BigEndian.PutUint16(t, f.ends.To.Port())
	binary.BigEndian.PutUint16(t[2:], f.ends.From.Port())
	binary.BigEndian.PutUint32(t[8:], binary.BigEndian.Uint32(f.text[f.head+4:])+1)
	t[12], t[flagsTCP] = headerTCP/4<<4, flagRST|flagACK
	sumSegment(t, f.ends.To.Addr(), f.ends.From.Addr())
	return f.back(protocolTCP, t)
}

// unreachable is what a router says where it finds no way to the host. On the loopback
// addresses, of which alone there are of IPv6, there is no router.
func (f *first) unreachable() []byte {
	if !f.ends.To.Addr().Is4() {
		return f.refuse()
	}
	const hostUnreachable = 3<<8 | 1 // type and code
	m := binary.BigEndian.AppendUint16(nil, hostUnreachable)
	m = append(m, 0, 0, 0, 0, 0, 0)
	m = append(m, f.text[:f.head+8]...)
	binary.BigEndian.PutUint16(m[2:], checksum(m, 0))
	return f.back(protocolICMP, m)
}

// back gives an answer the IP header of one from the far side.
func (f *first) back(protocol byte, text []byte) []byte {
	src, dst := f.ends.To.Addr().AsSlice(), f.ends.From.Addr().AsSlice()
	if len(src) == 16 {
		b := make([]byte, 8, header6+len(text))
		b[0], b[6], b[hops6] = 6<<4, protocol, deliveredTTL
		binary.BigEndian.PutUint16(b[4:], uint16(len(text)))
		return append(append(append(b, src...), dst...), text...)
	}
	b := make([]byte, 12, header4+len(text))
	b[0], b[ttl4], b[9] = 4<<4|header4/4, deliveredTTL, protocol
	binary.BigEndian.PutUint16(b[2:], uint16(header4+len(text)))
	b = append(append(b, src...), dst...)
	binary.BigEndian.PutUint16(b[10:], checksum(b, 0))
	return append(b, text...)
}

// sumSegment sets the checksum of a TCP segment.
func sumSegment(t []byte, src, dst netip.Addr) {
	t[sumTCP], t[sumTCP+1] = 0, 0
	pseudo := append(src.AsSlice(), dst.AsSlice()...)
	pseudo = binary.BigEndian.AppendUint16(pseudo, protocolTCP)
	pseudo = binary.BigEndian.AppendUint16(pseudo, uint16(len(t)))
	binary.BigEndian.PutUint16(t[sumTCP:], checksum(t, ^checksum(pseudo, 0)))
}

// checksum is that of RFC 1071.
func checksum(b []byte, from uint16) uint16 {
	sum := uint32(from)
	for ; len(b) > 1; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) > 0 {
		sum += uint32(b[0]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
