package gvisor

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/capped"
)

// Process is one that was started in a sandbox; its descriptors are these.
type Process struct {
	In       io.WriteCloser
	Out, Err io.ReadCloser
	errs     *os.File
	ready    atomic.Bool
}

// lastTime is how long the last words of a sandbox that has ended by itself are waited for.
const lastTime = 2 * time.Second

// Gone is the end of what a process says, where the sandbox has ended by itself.
type Gone struct{ Said string }

// Error implements the interface error.
func (g *Gone) Error() string { return g.Said }

// ends is what is known of the end of a sandbox.
type ends struct {
	closing atomic.Bool // from outside
	mu      sync.Mutex
	began   []*Process
	asked   sync.Once
	said    string
}

// process gives one that was started with descriptors, of which these are our ends.
func (s *Sandbox) process(own [perStart]*os.File) *Process {
	p := &Process{In: own[0], Err: own[2], errs: own[2]}
	p.Out = &output{own[1], p, s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = append(s.began, p)
	return p
}

// Ready reads what a process says until it is ready. What else it says is why it is not.
func (p *Process) Ready() error {
	buf := make([]byte, 1<<10)
	n, err := p.Err.Read(buf)
	text := string(buf[:n])
	if text == "ready\n" {
		p.ready.Store(true)
		return nil
	}
	if text = strings.TrimSpace(text); text != "" {
		return errors.New(text)
	}
	return err
}

// output is what a process says. It ends with [Gone] when the sandbox has ended by itself.
type output struct {
	file    *os.File // not embedded: io.Copy would read it past Read
	of      *Process
	sandbox *Sandbox
}

// Read implements [io.Reader].
func (o *output) Read(data []byte) (int, error) {
	n, err := o.file.Read(data)
	if err == io.EOF && o.of.ready.Load() && !o.sandbox.closing.Load() {
		err = &Gone{o.sandbox.lastWords()}
	}
	return n, err
}

// Close implements [io.Closer].
func (o *output) Close() error { return o.file.Close() }

// lastWords are what the processes in a sandbox that ends, and runsc, have said at last.
func (s *Sandbox) lastWords() string {
	s.asked.Do(func() {
		late := time.Now().Add(lastTime)
		s.mu.Lock()
		began := s.began
		s.mu.Unlock()
		var all []string
		add := func(text string) {
			if text = strings.TrimSpace(text); text != "" {
				all = append(all, text)
			}
		}
		for _, p := range began {
			if !p.ready.Load() {
				continue // the one that waits for it reads that
			}
			kept := capped.Buffer{Most: maxTold}
			_ = p.errs.SetReadDeadline(late)
			_, _ = io.Copy(&kept, p.errs)
			add(kept.Text())
		}
		select {
		case <-s.heard:
		case <-time.After(time.Until(late)):
		}
		add(s.told.last())
		if len(all) == 0 {
			all = []string{"it has said nothing"}
		}
		s.said = strings.Join(all, "; ")
	})
	return s.said
}
