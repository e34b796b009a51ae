package supervisor

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"

	"carrel/internal/api"
	"carrel/internal/fdpass"
	"carrel/internal/registry"
)

// Call sends a request that has one reply. A refusal is an *api.Denial, and the reply that it
// came with is given as well: it may say with which status a shell would tell it.
func (e Entry) Call(ctx context.Context, req api.Request) (api.Reply, error) {
	c, err := e.Open(ctx, req)
	if err != nil {
		return api.Reply{}, err
	}
	defer c.Close()
	for {
		if r, _, err := c.Next(); err != nil || !r.More {
			return r, err
		}
	}
}

// Apps lists what has been started in a workspace that stays.
func (e Entry) Apps(ctx context.Context) ([]api.App, error) {
	var out []api.App
	err := e.Stream(ctx, api.Request{Op: api.OpApps}, func(r api.Reply) error {
		if r.App != nil {
			out = append(out, *r.App)
		}
		return nil
	})
	return out, err
}

// Stream sends a request and hands on each line of the answer, the last one
// too, until it is over, ctx ends, or each gives an error.
func (e Entry) Stream(ctx context.Context, req api.Request, each func(api.Reply) error) error {
	c, err := e.Open(ctx, req)
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		r, _, err := c.Next()
		if err != nil {
			return err
		}
		if err := each(r); err != nil || !r.More {
			return err
		}
	}
}

// Conversation is a request whose answer goes on, with more to say meanwhile. Next
// and Say may be called side by side.
type Conversation struct {
	entry Entry
	ctx   context.Context
	conn  *net.UnixConn
	from  *fdpass.Reader
	in    *bufio.Reader
	stop  func() bool
}

// Open sends a request with descriptors beside it; they stay the caller's.
func (e Entry) Open(ctx context.Context, req api.Request, files ...*os.File) (*Conversation, error) {
	conn, err := e.reach(ctx)
	if err != nil {
		return nil, err
	}
	c := &Conversation{entry: e, ctx: ctx, conn: conn, from: &fdpass.Reader{Conn: conn}}
	c.in = lineReader(c.from)
	if req.Ceiling == "" {
		req.Ceiling = e.Ceiling
	}
	c.stop = context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	if err := writeLine(conn, req, files...); err != nil {
		c.Close()
		return nil, e.failed(ctx, err)
	}
	// What an answer consists of is worked out once, which takes a third of a
	// millisecond: now, while the answer is being made.
	_ = json.Unmarshal([]byte("{}"), new(api.Reply))
	return c, nil
}

// Next gives one line of the answer, with the descriptors that came with it, which
// are the caller's. A refusal is an *api.Denial, and the reply has what else was said.
func (c *Conversation) Next() (api.Reply, []*os.File, error) {
	r, err := readReply(c.in)
	if err != nil {
		return r, nil, c.entry.failed(c.ctx, err)
	}
	files := c.from.Take()
	if r.Error != nil {
		return r, files, r.Error
	}
	if !r.OK {
		return r, files, fmt.Errorf("workspace %s: the answer is neither yes nor no", c.entry.ID)
	}
	return r, files, nil
}

// Say sends one more line.
func (c *Conversation) Say(in api.Input) error { return writeLine(c.conn, in) }

// Close ends the conversation.
func (c *Conversation) Close() {
	c.stop()
	c.conn.Close()
}

func (e Entry) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return e.Listener().Broken(err)
}

// Listener is where and by which process a workspace is answered.
func (e Entry) Listener() registry.Listener {
	return registry.Listener{Dir: e.dir, ID: e.ID, Process: processOf(e.Manifest)}
}

func (e Entry) reach(ctx context.Context) (*net.UnixConn, error) {
	fd, err := e.Listener().Connect(ctx.Done())
	if err != nil {
		return nil, err
	}
	conn, err := fdpass.Conn(fd)
	if err != nil {
		return nil, e.failed(ctx, err)
	}
	return conn.(*net.UnixConn), nil
}

// WaitEnd waits until the supervisor of an entry has ended.
func (e Entry) WaitEnd(ctx context.Context) error {
	me, err := registry.Self()
	if err != nil {
		return err
	}
	for wait := 5 * time.Millisecond; !processOf(e.Manifest).Gone(me); wait = min(2*wait, 100*time.Millisecond) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for workspace %s to end: %w", e.ID, ctx.Err())
		case <-time.After(wait):
		}
	}
	return nil
}

// Alive says whether the supervisor of an entry still runs, as far as this
// process can see.
func (e Entry) Alive() bool { return processOf(e.Manifest).Alive() }
