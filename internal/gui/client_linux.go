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
	mu    sync.Mutex
	x     *xclient.Desktop
	uses  int
	close *time.Timer
	clip  *xclient.Clipboard

	acts    sync.Mutex // guards what follows
	acting  map[int]context.CancelFunc
	actions int
}

// client gives the connection, until done is called.
func (d *Desktop) client(ctx context.Context) (x *xclient.Desktop, done func(), err error) {
	c := &d.own
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
		err = d.again(ctx, func() (err error) {
			c.x, err = xclient.Open(ctx, d.Dial, d.cookie)
			return err
		})
		if err != nil {
			c.x = nil
			return nil, nil, err
		}
	}
	if c.close != nil {
		c.close.Stop()
		c.close = nil
	}
	c.uses++
	mine := c.x
	return mine, func() { d.unused(mine) }, nil
}

func (d *Desktop) unused(x *xclient.Desktop) {
	c := &d.own
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.x != x {
		return // another one has taken its place
	}
	if c.uses--; c.uses > 0 {
		return
	}
	c.close = time.AfterFunc(clientIdle, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.x == x && c.uses == 0 {
			_ = x.Close()
			c.x = nil
		}
	})
}

// Clipboard gives the connection that holds what was copied.
func (d *Desktop) Clipboard(ctx context.Context) (*xclient.Clipboard, error) {
	c := &d.own
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
	err := d.again(ctx, func() (err error) {
		c.clip, err = xclient.OpenClipboard(ctx, d.dialUncounted, d.cookie)
		return err
	})
	if err != nil {
		c.clip = nil
	}
	return c.clip, err
}

// lossTime is how long after its last connection the end of a server is known at most.
const lossTime = time.Second

// again connects, and once more where the server has just died: connections to it end
// before its process has.
func (d *Desktop) again(ctx context.Context, connect func() error) error {
	d.mu.Lock()
	s := d.server
	d.mu.Unlock()
	err := connect()
	if err == nil || s == nil {
		return err
	}
	select {
	case <-s.gone:
		return connect()
	case <-time.After(lossTime):
	case <-ctx.Done():
	}
	return err
}

// closeClients ends all of them.
func (d *Desktop) closeClients() {
	c := &d.own
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.close != nil {
		c.close.Stop()
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
func (d *Desktop) acting(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	c := &d.own
	c.acts.Lock()
	defer c.acts.Unlock()
	if c.acting == nil {
		c.acting = make(map[int]context.CancelFunc)
	}
	c.actions++
	n := c.actions
	c.acting[n] = cancel
	return ctx, func() {
		cancel()
		c.acts.Lock()
		defer c.acts.Unlock()
		delete(c.acting, n)
	}
}

// stopActing ends what is being done.
func (d *Desktop) stopActing() {
	c := &d.own
	c.acts.Lock()
	defer c.acts.Unlock()
	for _, cancel := range c.acting {
		cancel()
	}
}
