package desktop

import (
	"errors"
	"fmt"
	"sync"

	"github.com/jezek/xgb/shm"
	"github.com/jezek/xgb/xproto"
)

// segments are pieces of memory that the server writes pictures into. A
// picture is used where it lies, so there are as many as pictures are taken at
// once.
type segments struct {
	mu     sync.Mutex
	free   []*segment
	refuse bool // the server cannot do it: pictures come over the socket
	closed bool
}

type segment struct {
	id     shm.Seg
	memory []byte
}

// pixelReader fetches pixels from the server: through shared memory, or over the socket.
type pixelReader struct {
	*display
	shared segments
}

// spare is how many unused segments are kept.
const spare = 2

func (s *segments) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, g := range s.free {
		freeMemory(g.memory)
	}
	s.free = nil
}

// borrow gives a segment of at least size bytes, or nil where there is no
// shared memory with this server.
func (d *pixelReader) borrow(size int) *segment {
	s := &d.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse || s.closed {
		return nil
	}
	for i, g := range s.free {
		if len(g.memory) >= size {
			s.free = append(s.free[:i], s.free[i+1:]...)
			return g
		}
	}
	// Pictures of the whole screen are the most frequent.
	g, err := d.attach(max(size, int(d.screen.WidthInPixels)*int(d.screen.HeightInPixels)*4))
	if err != nil {
		s.refuse = true
		return nil
	}
	return g
}

// giveBack is called once for each segment that was borrowed.
func (d *pixelReader) giveBack(g *segment) {
	s := &d.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) < spare && !s.closed {
		s.free = append(s.free, g)
		return
	}
	if !s.closed {
		shm.Detach(d.x, g.id)
	}
	freeMemory(g.memory)
}

// attach makes a segment known to the server by a descriptor, as MIT-SHM 1.2
// allows. The older way by System V's numbers needs one IPC namespace.
func (d *pixelReader) attach(size int) (*segment, error) {
	op, err := d.opcode("MIT-SHM")
	if err != nil {
		return nil, err
	}
	if !d.wire.Passes() {
		return nil, errors.New("a descriptor goes over a Unix socket only")
	}
	f, memory, err := newMemory(size)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	id, err := shm.NewSegId(d.x)
	if err != nil {
		freeMemory(memory)
		return nil, err
	}
	const attachFd = 6
	d.wire.HandOver(f, func(b []byte) bool { return len(b) > 1 && b[0] == op && b[1] == attachFd })
	err = shm.AttachFdChecked(d.x, id, false).Check()
	d.wire.HandOver(nil, nil)
	if err != nil {
		freeMemory(memory)
		return nil, err
	}
	return &segment{id, memory}, nil
}

// pixels fetches a rectangle of a window or pixmap, that has to lie in it: four
// bytes for each pixel, blue, green, red and one that means nothing. done is
// called when they are not used any more. The server may change them while
// they are looked at.
func (d *pixelReader) pixels(from xproto.Drawable, x, y, w, h int) (pix []byte, done func(), err error) {
	size := w * h * 4
	const all = 0xffffffff
	if g := d.borrow(size); g != nil {
		r, err := shm.GetImage(d.x, from, int16(x), int16(y), uint16(w), uint16(h), all, xproto.ImageFormatZPixmap, g.id, 0).Reply()
		if err == nil && int(r.Size) != size {
			err = fmt.Errorf("the X server gives %d bytes for %dx%d pixels, where %d are expected: only screens with 32 bits a pixel are known", r.Size, w, h, size)
		}
		if err != nil {
			d.giveBack(g)
			return nil, nil, err
		}
		return g.memory[:size:size], func() { d.giveBack(g) }, nil
	}
	pix, err = d.strips(from, x, y, w, h)
	return pix, func() {}, err
}
