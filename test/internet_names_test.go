//go:build linux

package e2e

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// nameServer answers for the names that a test gives it; others do not exist.
type nameServer struct {
	mu      sync.Mutex
	answers map[string][][]netip.Addr    // by name without dot: the answers in turn, the last one for ever
	turn    map[string][]dnsmessage.Type // asked of a name since its answers last changed
	hangs   map[string]bool
	asked   []string // "A name", in order
}

// newNameServer serves UDP and TCP at the address that the host is told.
func newNameServer(n *internet) *nameServer {
	s := &nameServer{answers: make(map[string][][]netip.Addr), turn: make(map[string][]dnsmessage.Type), hangs: make(map[string]bool)}
	udp := n.packets(n.outside, nameServerAt+":53")
	go func() {
		buf := make([]byte, 4096)
		for {
			size, from, err := udp.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := s.reply(buf[:size]); reply != nil {
				_, _ = udp.WriteTo(reply, from)
			}
		}
	}()
	tcp := n.listen(n.outside, "tcp", nameServerAt+":53")
	go eachConn(tcp, func(c net.Conn) {
		var size [2]byte
		for {
			if _, err := io.ReadFull(c, size[:]); err != nil {
				return
			}
			msg := make([]byte, binary.BigEndian.Uint16(size[:]))
			if _, err := io.ReadFull(c, msg); err != nil {
				return
			}
			if reply := s.reply(msg); reply != nil {
				_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
			}
		}
	})
	return s
}

// eachConn serves every connection in a goroutine of its own.
func eachConn(l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			serve(c)
		}()
	}
}

// set gives a name one answer.
func (s *nameServer) set(name string, addrs ...netip.Addr) { s.turns(name, addrs) }

// turns gives a name answers that follow each other: the next one begins with a
// question that this one has answered, so that a resolver that asks for A and
// AAAA at once has both of the same; the last one stays.
func (s *nameServer) turns(name string, answers ...[]netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[strings.ToLower(name)] = answers
}

// hang lets questions about a name be without an answer.
func (s *nameServer) hang(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangs[name] = true
}

// questions gives what has been asked, each once, sorted, and forgets it.
func (s *nameServer) questions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	slices.Sort(asked)
	return slices.Compact(asked)
}

// reply answers one message; nil for none.
func (s *nameServer) reply(msg []byte) []byte {
	var p dnsmessage.Parser
	h, err := p.Start(msg)
	if err != nil {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	addrs, known, hangs := s.look(q)
	if hangs {
		return nil
	}
	head := dnsmessage.Header{ID: h.ID, Response: true, RecursionDesired: h.RecursionDesired, RecursionAvailable: true}
	if !known {
		head.RCode = dnsmessage.RCodeNameError
	}
	b := dnsmessage.NewBuilder(nil, head)
	b.EnableCompression()
	if b.StartQuestions() != nil || b.Question(q) != nil || b.StartAnswers() != nil {
		return nil
	}
	for _, a := range addrs {
		rh := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			err = b.AResource(rh, dnsmessage.AResource{A: a.As4()})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			err = b.AAAAResource(rh, dnsmessage.AAAAResource{AAAA: a.As16()})
		}
		if err != nil {
			return nil
		}
	}
	reply, _ := b.Finish()
	return reply
}

// look records a question and finds its answer.
func (s *nameServer) look(q dnsmessage.Question) (addrs []netip.Addr, known, hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	s.asked = append(s.asked, strings.TrimPrefix(q.Type.String(), "Type")+" "+name)
	turns := s.answers[name]
	if len(turns) == 0 {
		return nil, false, s.hangs[name]
	}
	if slices.Contains(s.turn[name], q.Type) {
		s.turn[name] = nil
		if len(turns) > 1 {
			turns = turns[1:]
			s.answers[name] = turns
		}
	}
	s.turn[name] = append(s.turn[name], q.Type)
	return turns[0], true, s.hangs[name]
}
