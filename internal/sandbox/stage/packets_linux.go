package stage

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Of linux/ip.h: what the interface accepts.
const (
	devconfAcceptLocal    = 23 // packets that come from an address of this machine
	devconfRouteLocalhost = 26 // and from 127.0.0.0/8
)

// packetSockets makes packet sockets of the loopback interface, one for each family, by
// which the first packet of a connection is seen and delivered later: see package synhold.
// Where the kernel does not make them, connections are accepted at once.
func packetSockets(index int) []int {
	if askRoute(acceptRequest(index)) != nil {
		return nil
	}
	var out []int
	for _, protocol := range []uint16{unix.ETH_P_IP, unix.ETH_P_IPV6} {
		protocol = protocol<<8 | protocol>>8 // of the network
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err == nil {
			out = append(out, fd)
			err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: index})
		}
		if err != nil {
			for _, fd := range out {
				unix.Close(fd)
			}
			return nil
		}
	}
	return out
}

// acceptRequest is nlmsghdr, ifinfomsg, and IFLA_AF_SPEC with the settings of IPv4 in it.
// What comes from a packet socket has passed no route, so that the kernel would take its
// source for a forged one.
func acceptRequest(index int) []byte {
	const settings = unix.SizeofRtAttr + 4
	b := make([]byte, unix.SizeofNlMsghdr, 80)
	b = append(b, unix.AF_UNSPEC, 0, 0, 0)
	b = binary.NativeEndian.AppendUint32(b, uint32(index))
	b = append(b, make([]byte, 8)...)
	for i, nest := range []uint16{unix.IFLA_AF_SPEC, unix.AF_INET, 1 /* IFLA_INET_CONF */} {
		b = binary.NativeEndian.AppendUint16(b, uint16((3-i)*unix.SizeofRtAttr+2*settings))
		b = binary.NativeEndian.AppendUint16(b, nest)
	}
	for _, which := range []uint16{devconfAcceptLocal, devconfRouteLocalhost} {
		b = binary.NativeEndian.AppendUint16(b, settings)
		b = binary.NativeEndian.AppendUint16(b, which)
		b = binary.NativeEndian.AppendUint32(b, 1)
	}
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], unix.RTM_NEWLINK)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	return b
}
