package hostexec

import (
	"context"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// plumbing is what a command's standard streams are connected to.
type plumbing struct {
	far  [3]*os.File
	near [3]*os.File // nil for what is passed through; of a terminal the first is all
	tty  bool
}

func newPlumbing(files []*os.File, tty bool) (*plumbing, error) {
	p := &plumbing{tty: tty}
	if tty {
		return p, nil
	}
	if len(files) == 3 {
		copy(p.far[:], files)
		return p, nil
	}
	for i := range p.far {
		r, w, err := os.Pipe()
		if err != nil {
			p.abandon()
			return nil, err
		}
		if i == 0 {
			p.far[i], p.near[i] = r, w
		} else {
			p.near[i], p.far[i] = r, w
		}
	}
	return p, nil
}

// started lets go of the command's ends, and takes a terminal's near one.
func (p *plumbing) started(ok bool, process Process) {
	for i, f := range p.far {
		if f != nil {
			f.Close()
		}
		p.far[i] = nil
	}
	if p.tty && ok {
		p.near[0] = process.Terminal()
	}
}

func (p *plumbing) abandon() {
	for i, f := range slices.Concat(p.far[:], p.near[:]) {
		if f != nil {
			f.Close()
		}
		if i >= len(p.far) {
			p.near[i-len(p.far)] = nil
		}
	}
}

// drainGrace is how long output is waited for once a command and all that it has started
// has ended: who has been handed its streams may keep them open for ever.
const drainGrace = time.Second

// relay begins to carry between a command and its client; what it gives waits until all
// output is told, or nothing comes any more though somebody keeps it open.
func (p *plumbing) relay(ctx context.Context, c *call, out func(stream string, b []byte)) (drained func()) {
	var reading sync.WaitGroup
	var moved atomic.Int64
	read := func(f *os.File, stream string) {
		if f == nil {
			return
		}
		reading.Go(func() {
			buf := make([]byte, 32<<10)
			for {
				n, err := f.Read(buf)
				if n > 0 {
					moved.Add(1)
					out(stream, buf[:n])
					moved.Add(1)
				}
				if err != nil {
					return
				}
			}
		})
	}
	if p.tty {
		read(p.near[0], StreamStdout)
	} else {
		read(p.near[1], StreamStdout)
		read(p.near[2], StreamStderr)
	}
	if p.near[0] != nil && c.stdin != nil {
		go feed(p.near[0], c, p.tty)
	}
	return func() {
		done := make(chan struct{})
		go func() {
			reading.Wait()
			close(done)
		}()
		for was := int64(-1); ; {
			select {
			case <-done:
				p.abandon()
				return
			case <-ctx.Done():
			case <-time.After(drainGrace):
				// An odd count is in the middle of telling a client that reads slowly.
				if now := moved.Load(); now != was || now%2 == 1 {
					was = now
					continue
				}
			}
			p.abandon()
			return
		}
	}
}

// feed writes a command's input. What comes for one that reads no more is taken all the
// same: its connection has other commands.
func feed(to *os.File, c *call, tty bool) {
	deaf := false
	for {
		select {
		case piece := <-c.stdin:
			switch {
			case deaf:
			case piece == nil && tty:
				_, err := to.Write([]byte{4}) // what a person types for the end: there is no other for a terminal
				deaf = err != nil
			case piece == nil:
				to.Close()
				deaf = true
			default:
				_, err := to.Write(piece)
				deaf = err != nil
			}
		case <-c.done:
			return
		}
	}
}
