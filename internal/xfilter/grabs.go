package xfilter

import (
	"sync"
	"time"
)

// maxGrab is how long one client may hold the server. Meanwhile nobody else is
// served: not the supervisor, not who watches.
const maxGrab = 5 * time.Second

// grabs follows who holds the server, in the order in which they asked, as the
// server does. Each has a time of its own that runs while it is first; it comes
// back at a quarter of the speed, so that letting go for a moment is no way to
// hold on.
type grabs struct {
	mu    sync.Mutex
	queue []*conn
	timer *time.Timer
	began time.Time // of the first in the queue
}

// begin notes that a client asked for the server.
func (g *grabs) begin(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, q := range g.queue {
		if q == c {
			return
		}
	}
	g.queue = append(g.queue, c)
	if len(g.queue) == 1 {
		g.next()
	}
}

// next starts the time of the first in the queue.
func (g *grabs) next() {
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	if len(g.queue) == 0 {
		return
	}
	c := g.queue[0]
	g.began = time.Now()
	if c.grabUntil.IsZero() {
		c.grabLeft = maxGrab
	} else {
		c.grabLeft = min(maxGrab, c.grabLeft+time.Since(c.grabUntil)/4)
	}
	g.timer = time.AfterFunc(c.grabLeft, func() { g.late(c) })
}

// late disconnects the client whose time is over, if it is still first.
func (g *grabs) late(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) > 0 && g.queue[0] == c {
		c.end("GrabServer for too long")
	}
}

// end notes that a client does not hold the server any more, or is gone.
func (g *grabs) end(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, q := range g.queue {
		if q != c {
			continue
		}
		g.queue = append(g.queue[:i:i], g.queue[i+1:]...)
		if i == 0 {
			c.grabUntil = time.Now()
			c.grabLeft -= c.grabUntil.Sub(g.began)
			g.next()
		}
		return
	}
}

// endAll disconnects those that hold the server or wait for it.
func (g *grabs) endAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.queue {
		c.end("GrabServer")
	}
}
