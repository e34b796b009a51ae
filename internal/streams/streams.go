package streams

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// Bounds. A frame has a header of the connection, the kind and the length of what follows.
const (
	headerSize = 9
	maxChunk   = 16 << 10
	window     = 256 << 10 // of one connection: sent, and not yet taken by its reader
	maxStreams = 512
)

// Kinds of frames.
const (
	kindOpen  = iota // a new connection, with its own number; text: what for
	kindData         // bytes
	kindTaken        // a number: so many bytes were taken by the reader
	kindEnd          // no more bytes come; both ends: the connection is over
	kindReset        // it is over at once
)

// Conn is what is carried.
type Conn interface {
	net.Conn
	CloseWrite() error
}

// Counted is a [Conn] that is told how many of the bytes that were read from it the reader at the
// other side has taken.
type Counted interface{ Taken(n int) }

var errRules = errors.New("the other side breaks the rules of carried connections")

// Mux carries connections. Accept gives a far end for one that the other side has opened; nil
// refuses all.
type Mux struct {
	in     io.Reader
	out    io.Writer
	accept func(what string) (Conn, error)

	writing sync.Mutex
	mu      sync.Mutex
	streams map[uint32]*stream
	next    uint32
	over    bool
	running sync.WaitGroup
}

// stream is one connection.
type stream struct {
	m    *Mux
	id   uint32
	conn Conn

	mu      sync.Mutex
	changed *sync.Cond
	waiting []byte // from the other side
	owed    int    // bytes that came, and of which it was not told that they were taken
	ended   bool   // nothing more comes from there
	cut     bool   // by the other side: what came before is still written
	deaf    bool   // nothing is taken any more
	credit  int    // that may be sent
	over    bool
	halves  int // of the two directions, those that are done
}

// New is a mux over two streams of bytes. The two sides open connections with numbers that differ
// in their first bit, which first says.
func New(in io.Reader, out io.Writer, first bool, accept func(what string) (Conn, error)) *Mux {
	m := &Mux{in: in, out: out, accept: accept, streams: make(map[uint32]*stream), next: 2}
	if first {
		m.next = 1
	}
	return m
}

// Serve carries until the stream ends. No connection is left then.
func (m *Mux) Serve() error {
	err := m.read()
	m.mu.Lock()
	m.over = true
	all := make([]*stream, 0, len(m.streams))
	for _, s := range m.streams {
		all = append(all, s)
	}
	m.mu.Unlock()
	for _, s := range all {
		s.reset()
	}
	m.running.Wait()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// Carry carries a connection to the other side, which is told what it is for.
func (m *Mux) Carry(c Conn, what string) error {
	m.mu.Lock()
	if m.over || len(m.streams) >= maxStreams {
		m.mu.Unlock()
		c.Close()
		return errors.New("too many connections are carried, or none any more")
	}
	id := m.next
	m.next += 2
	s := m.add(id, c)
	m.mu.Unlock()
	if err := m.send(id, kindOpen, []byte(what)); err != nil {
		s.reset()
		return err
	}
	s.start()
	return nil
}

// add takes a connection in; the lock is held.
func (m *Mux) add(id uint32, c Conn) *stream {
	s := &stream{m: m, id: id, conn: c, credit: window}
	s.changed = sync.NewCond(&s.mu)
	m.streams[id] = s
	return s
}

func (m *Mux) send(id uint32, kind byte, body []byte) error {
	buf := make([]byte, headerSize, headerSize+len(body))
	binary.BigEndian.PutUint32(buf, id)
	buf[4] = kind
	binary.BigEndian.PutUint32(buf[5:], uint32(len(body)))
	m.writing.Lock()
	defer m.writing.Unlock()
	_, err := m.out.Write(append(buf, body...))
	return err
}

func (m *Mux) read() error {
	buf := make([]byte, headerSize+maxChunk)
	for {
		if _, err := io.ReadFull(m.in, buf[:headerSize]); err != nil {
			return err
		}
		id, kind, length := binary.BigEndian.Uint32(buf), buf[4], binary.BigEndian.Uint32(buf[5:])
		if length > maxChunk {
			return fmt.Errorf("%w: a frame of %d bytes", errRules, length)
		}
		body := buf[headerSize : headerSize+length]
		if _, err := io.ReadFull(m.in, body); err != nil {
			return err
		}
		if err := m.take(id, kind, body); err != nil {
			return err
		}
	}
}

// take carries out a frame. What is about a connection that is over is late, and means nothing.
func (m *Mux) take(id uint32, kind byte, body []byte) error {
	m.mu.Lock()
	s := m.streams[id]
	m.mu.Unlock()
	if kind == kindOpen {
		if s != nil || id%2 == m.next%2 {
			return fmt.Errorf("%w: connection %d is opened twice", errRules, id)
		}
		return m.opened(id, string(body))
	}
	if s == nil {
		return nil
	}
	switch kind {
	case kindData:
		return s.came(body)
	case kindTaken:
		if len(body) != 4 {
			return errRules
		}
		return s.taken(binary.BigEndian.Uint32(body))
	case kindEnd:
		s.mu.Lock()
		s.ended = true
		s.mu.Unlock()
		s.changed.Broadcast()
	case kindReset:
		s.cutOff()
	default:
		return fmt.Errorf("%w: kind %d", errRules, kind)
	}
	return nil
}

func (m *Mux) opened(id uint32, what string) error {
	m.mu.Lock()
	full := len(m.streams) >= maxStreams
	m.mu.Unlock()
	if full || m.accept == nil {
		return m.send(id, kindReset, nil)
	}
	c, err := m.accept(what)
	if err != nil {
		return m.send(id, kindReset, nil)
	}
	m.mu.Lock()
	s := m.add(id, c)
	m.mu.Unlock()
	s.start()
	return nil
}

func (s *stream) start() {
	s.m.running.Add(2)
	go s.inward()
	go s.outward()
}

// came takes bytes of the other side, which sends no more than was taken of what it sent.
func (s *stream) came(body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut || s.deaf { // sent before the other side knows
		return nil
	}
	if s.ended || s.owed+len(body) > window {
		return fmt.Errorf("%w: too many bytes", errRules)
	}
	s.waiting, s.owed = append(s.waiting, body...), s.owed+len(body)
	s.changed.Broadcast()
	return nil
}

func (s *stream) taken(n uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > window || s.credit+int(n) > window {
		return fmt.Errorf("%w: more was taken than was sent", errRules)
	}
	s.credit += int(n)
	s.changed.Broadcast()
	if c, ok := s.conn.(Counted); ok {
		c.Taken(int(n))
	}
	return nil
}

// outward writes to the connection what came from the other side.
func (s *stream) outward() {
	defer s.m.running.Done()
	for {
		s.mu.Lock()
		for len(s.waiting) == 0 && !s.ended && !s.over {
			s.changed.Wait()
		}
		body, over, cut := s.waiting, s.over, s.cut
		s.waiting = nil
		s.mu.Unlock()
		switch {
		case over:
			return
		case len(body) == 0 && cut:
			s.close()
			return
		case len(body) == 0:
			_ = s.conn.CloseWrite()
			s.half()
			s.done()
			return
		}
		if _, err := s.conn.Write(body); err != nil {
			s.unheard(err)
			return
		}
		s.mu.Lock()
		s.owed -= len(body)
		s.mu.Unlock()
		if err := s.m.send(s.id, kindTaken, binary.BigEndian.AppendUint32(nil, uint32(len(body)))); err != nil {
			s.close()
			return
		}
	}
}

// inward reads from the connection what the other side is to get.
func (s *stream) inward() {
	defer s.m.running.Done()
	buf := make([]byte, maxChunk)
	for {
		s.mu.Lock()
		for s.credit == 0 && !s.over {
			s.changed.Wait()
		}
		most, over := min(s.credit, len(buf)), s.over
		s.mu.Unlock()
		if over {
			return
		}
		n, err := s.conn.Read(buf[:most])
		if n > 0 {
			s.mu.Lock()
			s.credit -= n
			s.mu.Unlock()
			if s.m.send(s.id, kindData, buf[:n]) != nil {
				s.close()
				return
			}
		}
		if errors.Is(err, io.EOF) && s.half() {
			_ = s.m.send(s.id, kindEnd, nil)
			s.done()
			return
		}
		if err != nil {
			s.reset()
			return
		}
	}
}

// half is told that one direction is done. It says false where the other one has failed: then all is over.
func (s *stream) half() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.halves++
	return !s.deaf
}

// done ends a connection of which both directions are done.
func (s *stream) done() {
	s.mu.Lock()
	both := s.halves == 2
	s.mu.Unlock()
	if both {
		s.close()
	}
}

// unheard ends the direction in which nothing is taken any more. Where the other end has closed, what it
// said before, as an answer, is still read, and the end of that is the end of all.
func (s *stream) unheard(err error) {
	s.mu.Lock()
	s.deaf, s.waiting = true, nil
	reads := s.halves == 0 && (errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET))
	s.mu.Unlock()
	if reads {
		time.AfterFunc(lastTime, s.reset)
	} else {
		s.reset()
	}
}

// reset ends a connection at once, and tells the other side.
func (s *stream) reset() {
	s.mu.Lock()
	over := s.over
	s.mu.Unlock()
	if !over {
		_ = s.m.send(s.id, kindReset, nil)
	}
	s.close()
}

// lastTime bounds how long what came before a reset may take to be written or read.
const lastTime = 5 * time.Second

// cutOff ends a connection that the other side has reset: an answer that was sent before is whole, as
// with a socket.
func (s *stream) cutOff() {
	s.mu.Lock()
	unwritten := s.owed > 0 && !s.deaf
	s.cut, s.ended = true, true
	s.mu.Unlock()
	s.changed.Broadcast()
	if unwritten {
		time.AfterFunc(lastTime, s.close)
	} else {
		s.close()
	}
}

func (s *stream) close() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.changed.Broadcast()
	s.conn.Close()
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if s.m.streams[s.id] == s {
		delete(s.m.streams, s.id)
	}
}
