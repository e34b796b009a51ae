package desktop

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"net"
	"sync"
	"time"

	"carrel/internal/desktop/wire"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"
)

// Dial connects to an X server. A *net.UnixConn, or what has one in it, is best:
// pictures then come through shared memory.
type Dial func(ctx context.Context) (net.Conn, error)

// display is one connection to an X display: requests with a bound in time, events, atoms and
// properties. It has no memory of what is on the screen.
type display struct {
	x      *xgb.Conn
	wire   *wire.Conn
	root   xproto.Window
	screen *xproto.ScreenInfo
	setup  *xproto.SetupInfo
	atoms  atoms
	hub    hub
	turns  chan struct{} // one for each call that waits for the server
	gone   chan struct{} // closed when the connection has ended
	end    func()        // closes it
	once   sync.Once     // of Close
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

// connect connects to a display; see [Open].
func connect(ctx context.Context, dial Dial, cookie []byte) (*display, error) {
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

func open(ctx context.Context, c net.Conn, cookie []byte) (*display, error) {
	w, err := wire.Greet(c, cookie)
	if err != nil {
		return nil, err
	}
	d := &display{wire: w, turns: make(chan struct{}, maxTurns), gone: make(chan struct{})}
	d.end = sync.OnceFunc(func() { close(d.gone) })
	w.End = d.end
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

// Close ends the connection, and with it every call that still waits.
func (d *display) Close() error {
	err := net.ErrClosed
	d.once.Do(func() {
		err = d.wire.Conn.Close() // the library's own Close waits for the server
		d.end()
	})
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Done is closed when the connection to the display has ended.
func (d *display) Done() <-chan struct{} { return d.gone }

// do runs f, which talks to the server, and comes back when it is done, when
// the context ends or when the display is gone. What is left of f then ends on
// its own, with the server's answer or with the connection; until then it
// keeps its turn, so that a server that hangs is not asked without end. The
// error names what was tried. f gives its result, and writes nothing else that
// the caller reads: it may still run when the caller has gone on.
func do[T any](ctx context.Context, d *display, what string, f func() (T, error)) (T, error) {
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
func (d *display) do(ctx context.Context, what string, f func() error) error {
	_, err := do(ctx, d, what, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// explain says what was tried, and turns the library's end of file into ours.
func (d *display) explain(what string, err error) error {
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
func (d *display) ask(request []byte) *xgb.Cookie {
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

// sleep waits for a signal, or for a time where there is none.
func (d *display) sleep(ctx context.Context, t time.Duration, s signal) error {
	var after <-chan time.Time
	if s == nil {
		after = time.After(t)
	}
	select {
	case <-s:
		return nil
	case <-after:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-d.gone:
		return ErrGone
	}
}

// ErrTimeout is what waiting in vain gives, with context.DeadlineExceeded.
var ErrTimeout = errors.New("it did not happen in time")

func (d *display) timeout(what string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w (%w)", what, ErrTimeout, context.DeadlineExceeded)
	}
	return d.explain(what, err)
}

// roundTrip comes back when the server has done all earlier requests.
func (d *display) roundTrip() error {
	_, err := xproto.GetInputFocus(d.x).Reply()
	return err
}

// Size is the size of the screen in pixels.
func (d *display) Size(ctx context.Context) (width, height int, err error) {
	g, err := do(ctx, d, "asking for the screen's size", func() (*xproto.GetGeometryReply, error) {
		return xproto.GetGeometry(d.x, xproto.Drawable(d.root)).Reply()
	})
	if err != nil {
		return 0, 0, err
	}
	return int(g.Width), int(g.Height), nil
}

// Pointer is where the pointer is, in the screen's coordinates.
func (d *display) Pointer(ctx context.Context) (image.Point, error) {
	return do(ctx, d, "asking for the pointer", func() (image.Point, error) {
		r, err := xproto.QueryPointer(d.x, d.root).Reply()
		if err != nil {
			return image.Point{}, err
		}
		return image.Pt(int(r.RootX), int(r.RootY)), nil
	})
}

// extent is Size as a point.
func (d *display) extent(ctx context.Context) (image.Point, error) {
	w, h, err := d.Size(ctx)
	return image.Pt(w, h), err
}
