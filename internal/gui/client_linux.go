package gui

import (
	"context"
	"sync"
	"time"

	xclient "carrel/internal/desktop"
)

// clientIdle is how long the supervisor's own connection to a display stays after its
// last use: requests come in rows.
const clientIdle = 3 * time.Second

// ownClients are the supervisor's own connections to a display. The one for looking and
// acting counts as a user of the display while it is open; the one that holds what was
// copied does not: it goes with the server.
type ownClients struct {
	display *display

	mu      sync.Mutex
	x       *xclient.Desktop
	uses    int
	closing *time.Timer
	clip    *xclient.Clipboard

	acts    sync.Mutex // guards what follows
	cancels map[int]context.CancelFunc
	actions int
}

// client gives the connection, until done is called.
func (c *ownClients) client(ctx context.Context) (x *xclient.Desktop, done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.x != nil {
		select {
		case <-c.x.Done():
			_ = c.x.Close()
			c.x, c.uses = nil, 0
		default:
		}
	}
	if c.x == nil {
		err = c.display.again(ctx, func() (err error) {
			c.x, err = xclient.Open(ctx, c.display.dialCounted, c.display.cookie)
			return err
		})
		if err != nil {
			c.x = nil
			return nil, nil, err
		}
	}
	if c.closing != nil {
		c.closing.Stop()
		c.closing = nil
	}
	c.uses++
	mine := c.x
	return mine, func() { c.unused(mine) }, nil
}

func (c *ownClients) unused(x *xclient.Desktop) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.x != x {
		return // another one has taken its place
	}
	if c.uses--; c.uses > 0 {
		return
	}
	c.closing = time.AfterFunc(clientIdle, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.x == x && c.uses == 0 {
			_ = x.Close()
			c.x = nil
		}
	})
}

// Clipboard gives the connection that holds what was copied.
func (c *ownClients) Clipboard(ctx context.Context) (*xclient.Clipboard, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clip != nil {
		select {
		case <-c.clip.Done():
			_ = c.clip.Close()
			c.clip = nil
		default:
			return c.clip, nil
		}
	}
	err := c.display.again(ctx, func() (err error) {
		c.clip, err = xclient.OpenClipboard(ctx, c.display.dialUncounted, c.display.cookie)
		return err
	})
	if err != nil {
		c.clip = nil
	}
	return c.clip, err
}

// closeClients ends all of them.
func (c *ownClients) closeClients() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing != nil {
		c.closing.Stop()
	}
	if c.x != nil {
		_ = c.x.Close()
	}
	if c.clip != nil {
		_ = c.clip.Close()
	}
	c.x, c.clip = nil, nil
}

// acting gives a context that ends when the control of the workspace changes: what was
// begun under one mode is not ended under another.
func (c *ownClients) acting(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	c.acts.Lock()
	defer c.acts.Unlock()
	if c.cancels == nil {
		c.cancels = make(map[int]context.CancelFunc)
	}
	c.actions++
	n := c.actions
	c.cancels[n] = cancel
	return ctx, func() {
		cancel()
		c.acts.Lock()
		defer c.acts.Unlock()
		delete(c.cancels, n)
	}
}

// stopActing ends what is being done.
func (c *ownClients) stopActing() {
	c.acts.Lock()
	defer c.acts.Unlock()
	for _, cancel := range c.cancels {
		cancel()
	}
}
