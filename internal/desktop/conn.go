package desktop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"
)

// Dial connects to an X server. A *net.UnixConn, or what has one in it, is best:
// pictures then come through shared memory.
type Dial func(ctx context.Context) (net.Conn, error)

// Desktop is an X display with one connection to it.
type Desktop struct {
	x      *xgb.Conn
	wire   *wire
	root   xproto.Window
	screen *xproto.ScreenInfo
	setup  *xproto.SetupInfo
	atoms  atoms
	hub    hub
	turns  chan struct{} // one for each call that waits for the server
	gone   chan struct{} // closed when the connection has ended
	end    func()        // closes it
	once   sync.Once     // of Close
	shared segments
	input  inputState
}

// ErrGone is what calls return once the connection to the display has ended:
// the server died, or Close was called.
var ErrGone = errors.New("the display is gone: its X server ended or the connection was closed")

// Bounds of one call.
const (
	// maxTurns calls wait for the server at the same time; more wait for them.
	maxTurns = 16
	// patience is how long a call waits for the server's answer, even when its
	// context has no deadline.
	patience = 30 * time.Second
)

// Open connects to a display. The cookie has 16 bytes, the secret of
// MIT-MAGIC-COOKIE-1; nil is for a server that asks for none. The context
// bounds the connecting only.
func Open(ctx context.Context, dial Dial, cookie []byte) (*Desktop, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting to the display: %w", err)
	}
	// A server that accepts and says nothing, or a call that was cancelled.
	stop := context.AfterFunc(ctx, func() { c.Close() })
	d, err := open(ctx, c, cookie)
	if !stop() && err == nil {
		d.Close()
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("connecting to the display: %w", err)
	}
	return d, nil
}

func open(ctx context.Context, c net.Conn, cookie []byte) (*Desktop, error) {
	tables()
	w, err := greet(c, cookie)
	if err != nil {
		return nil, err
	}
	d := &Desktop{wire: w, turns: make(chan struct{}, maxTurns), input: inputState{turn: make(chan struct{}, 1)}, gone: make(chan struct{})}
	d.end = sync.OnceFunc(func() { close(d.gone) })
	w.end = d.end
	x, err := xgb.NewConnNet(w)
	if err != nil {
		return nil, err
	}
	d.x = x
	go d.dispatch()
	err = d.do(ctx, "the first questions", func() error {
		d.setup = xproto.Setup(x)
		d.screen = d.setup.DefaultScreen(x)
		d.root = d.screen.Root
		if err := d.learn(); err != nil {
			return err
		}
		if _, err := d.opcode("XTEST"); err == nil {
			// A program inside that grabs the server stops all its other
			// clients, but not us.
			xtest.GrabControl(x, true)
		}
		return d.intern()
	})
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close ends the connection, and with it every call that still waits. It frees
// the memory of pictures, so it is called after the server's end as well.
func (d *Desktop) Close() error {
	err := net.ErrClosed
	d.once.Do(func() {
		err = d.wire.Conn.Close() // the library's own Close waits for the server
		d.end()
		d.shared.close()
	})
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Done is closed when the connection to the display has ended.
func (d *Desktop) Done() <-chan struct{} { return d.gone }

// do runs f, which talks to the server, and comes back when it is done, when
// the context ends or when the display is gone. What is left of f then ends on
// its own, with the server's answer or with the connection; until then it
// keeps its turn, so that a server that hangs is not asked without end. The
// error names what was tried. f gives its result, and writes nothing else that
// the caller reads: it may still run when the caller has gone on.
func do[T any](ctx context.Context, d *Desktop, what string, f func() (T, error)) (T, error) {
	var none T
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case d.turns <- struct{}{}:
	case <-ctx.Done():
		return none, fmt.Errorf("%s: the X server is busy with earlier requests: %w", what, ctx.Err())
	case <-d.gone:
		return none, fmt.Errorf("%s: %w", what, ErrGone)
	}
	type outcome struct {
		value T
		err   error
	}
	result := make(chan outcome, 1)
	go func() {
		defer func() { <-d.turns }()
		var o outcome
		o.err = protect(func() (err error) {
			o.value, err = f()
			return err
		})
		result <- o
	}()
	select {
	case o := <-result:
		return o.value, d.explain(what, o.err)
	case <-ctx.Done():
		return none, fmt.Errorf("%s: no answer from the X server: %w", what, ctx.Err())
	case <-d.gone:
		return none, fmt.Errorf("%s: %w", what, ErrGone)
	}
}

// do is for what has no result.
func (d *Desktop) do(ctx context.Context, what string, f func() error) error {
	_, err := do(ctx, d, what, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// explain says what was tried, and turns the library's end of file into ours.
func (d *Desktop) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-d.gone:
		err = ErrGone
	default:
		if errors.Is(err, io.EOF) {
			err = ErrGone
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// protect turns a panic into an error: the library indexes replies by lengths
// that are in them.
func protect(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the X server's answer makes no sense: %v", r)
		}
	}()
	return f()
}

// ask sends a request that has a reply, and can be waited for later: many can
// be on their way. The reply of a request is its bytes, head included, at
// least 32.
func (d *Desktop) ask(request []byte) *xgb.Cookie {
	c := d.x.NewCookie(true, true)
	d.x.NewRequest(request, c)
	return c
}

// isX says whether an error is the server's word on one request, and not the
// end of the connection.
func isX(err error) bool {
	var x xgb.Error
	return errors.As(err, &x)
}
