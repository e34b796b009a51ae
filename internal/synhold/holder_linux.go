package synhold

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// maxWaiting bounds the connections of one workspace that wait at a time. A program whose
// first packet is not looked at sends it again after a second.
const maxWaiting = 1024

// Holder holds the listeners of one workspace.
type Holder struct {
	answer func(Ends) Answer

	mu      sync.Mutex
	sockets []*os.File
	held    map[netip.AddrPort]bool
	waiting map[Ends]bool
}

// Watch begins to look at the first packets on packet sockets of the workspace's loopback
// interface, one for each family, and takes them over. answer is asked once for each
// connection, each in a goroutine of its own.
func Watch(sockets []int, answer func(Ends) Answer) (*Holder, error) {
	h := &Holder{answer: answer, held: make(map[netip.AddrPort]bool), waiting: make(map[Ends]bool)}
	var err error
	for _, fd := range sockets {
		h.sockets = append(h.sockets, os.NewFile(uintptr(fd), "packets inside"))
		err = errors.Join(err, unix.SetNonblock(fd, true), attach(fd, firstPackets()))
	}
	if err != nil {
		h.Close()
		return nil, err
	}
	for _, s := range h.sockets {
		go h.watch(s)
	}
	return h, nil
}

// Close ends it. Who waits gets no answer any more. It may be called on nil.
func (h *Holder) Close() {
	if h == nil {
		return
	}
	for _, s := range h.sockets {
		s.Close()
	}
}

// Hold has a listener accept only what was answered for. It may be called on nil, which
// holds nothing.
func (h *Holder) Hold(l net.Listener) error {
	t, ok := l.(*net.TCPListener)
	if h == nil || !ok {
		return nil
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return err
	}
	at := addrPort(t.Addr())
	h.mu.Lock()
	h.held[at] = true
	h.mu.Unlock()
	held := raw.Control(func(fd uintptr) { err = attach(int(fd), notFirst(at.Addr().Is4())) })
	return errors.Join(held, err)
}

func (h *Holder) watch(s *os.File) {
	b := make([]byte, 2<<10)
	for {
		n, err := s.Read(b)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		f, ok := readFirst(b[:max(n, 0)])
		if err != nil || !ok || !h.enter(f.ends) {
			continue
		}
		f.text = append([]byte(nil), f.text...)
		go func() {
			answer := f.deliver
			switch h.answer(f.ends) {
			case Refused:
				answer = f.refuse
			case Unreachable:
				answer = f.unreachable
			}
			_, _ = s.Write(answer()) // one that is lost is asked for again
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.waiting, f.ends)
		}()
	}
}

// enter says whether a connection is to be answered for, and is not already.
func (h *Holder) enter(e Ends) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.held[e.To] || h.waiting[e] || len(h.waiting) >= maxWaiting {
		return false
	}
	h.waiting[e] = true
	return true
}

// firstPackets lets the first packets of TCP connections through, of a packet socket that
// has one family; data begins at the IP header.
func firstPackets() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 6, SkipTrue: 5},
		bpf.LoadAbsolute{Off: 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: protocolTCP, SkipTrue: 9},
		bpf.LoadMemShift{Off: 0},
		bpf.LoadIndirect{Off: flagsTCP, Size: 1},
		bpf.Jump{Skip: 3},
		bpf.LoadAbsolute{Off: 6, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: protocolTCP, SkipTrue: 4},
		bpf.LoadAbsolute{Off: header6 + flagsTCP, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: flagSYN | flagRST | flagACK},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: flagSYN, SkipTrue: 1},
		bpf.RetConstant{Val: 2 << 10},
		bpf.RetConstant{Val: 0},
	}
}

// fromIP is where the kernel has the IP header of what a TCP socket filters, whose data
// begins at the TCP header: SKF_NET_OFF of linux/filter.h.
const fromIP = 0xfff00000

// notFirst drops first packets, but for those that are delivered again.
func notFirst(four bool) []bpf.Instruction {
	hops := uint32(fromIP + hops6)
	if four {
		hops = fromIP + ttl4
	}
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: flagsTCP, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: flagSYN | flagRST | flagACK},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: flagSYN, SkipTrue: 3},
		bpf.LoadAbsolute{Off: hops, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: deliveredTTL, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.RetConstant{Val: ^uint32(0)},
	}
}

func attach(fd int, program []bpf.Instruction) error {
	var filter []unix.SockFilter
	for _, ins := range program {
		raw, err := ins.Assemble()
		if err != nil {
			return err
		}
		filter = append(filter, unix.SockFilter{Code: raw.Op, Jt: raw.Jt, Jf: raw.Jf, K: raw.K})
	}
	f := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return os.NewSyscallError("setsockopt", unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &f))
}
