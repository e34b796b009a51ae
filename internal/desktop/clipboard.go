package desktop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"carrel/internal/desktop/wire"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// Selection is one of the places through which programs on a display hand each
// other data. X keeps no data: the program that has set a selection, its owner,
// is asked for it by each that wants it (ICCCM, chapter 2).
type Selection string

const (
	// Copied is what was copied or cut, for pasting.
	Copied Selection = "CLIPBOARD"
	// Marked is what was marked last, for the middle button.
	Marked Selection = "PRIMARY"
)

// Content is data in one or more formats, by target: "UTF8_STRING", "image/png".
type Content map[string][]byte

// TextContent is a text in the formats by which programs ask for one.
func TextContent(text string) Content {
	c := Content{"UTF8_STRING": []byte(text), "text/plain;charset=utf-8": []byte(text), "text/plain": []byte(text), "TEXT": []byte(text)}
	if latin, ok := toLatin1(text); ok {
		c["STRING"] = latin
	}
	return c
}

// Bounds of the clipboard.
const (
	// MaxClipboard is the most bytes that are read or set, all formats together.
	MaxClipboard = wire.MaxProperty
	// maxReadings is the most bytes that readings hold which go on at the same time.
	maxReadings = 2 * MaxClipboard
	// maxTargets formats are listed or set.
	maxTargets = 200
	// maxPart is how much goes through a property at once; more goes in parts.
	maxPart = 128 << 10
	// maxTransfers are on their way at the same time, in parts.
	maxTransfers = 32
	// quiet is how long the other side may say nothing.
	quiet = 5 * time.Second
	// maxReading bounds one reading as a whole.
	maxReading = time.Minute
)

// ErrEmpty is what reading gives when a selection has no owner.
var ErrEmpty = errors.New("the selection is empty: no program offers anything there")

// Clipboard reads and sets the selections of a display. It has a connection of
// its own, and owns what was set until another program sets something else or
// Close is called.
type Clipboard struct {
	d      *display
	window xproto.Window // the owner's
	queue  chan xgb.Event
	atom   map[string]xproto.Atom

	reading atomic.Int64 // bytes that readings hold

	mu    sync.Mutex
	owned map[xproto.Atom]*offer
	// transfers are touched by serve alone.
	transfers map[transferKey]*transfer
}

// offer is what this program offers in one selection.
type offer struct {
	since xproto.Timestamp
	data  map[xproto.Atom][]byte
}

var clipboardAtoms = []string{"CLIPBOARD", "PRIMARY", "TARGETS", "MULTIPLE", "TIMESTAMP", "ATOM_PAIR", "INCR", "CARREL_DATA"}

// OpenClipboard connects to a display, as [Open] does.
func OpenClipboard(ctx context.Context, dial Dial, cookie []byte) (*Clipboard, error) {
	d, err := connect(ctx, dial, cookie)
	if err != nil {
		return nil, err
	}
	c := &Clipboard{d: d, queue: make(chan xgb.Event, 1000), owned: make(map[xproto.Atom]*offer), transfers: make(map[transferKey]*transfer)}
	err = d.do(ctx, "opening the clipboard", func() (err error) {
		if c.atom, err = d.internAll(clipboardAtoms); err != nil {
			return err
		}
		c.window, err = c.newWindow()
		return err
	})
	if err != nil {
		d.Close()
		return nil, err
	}
	// The library stops reading when its events are not taken: this only puts
	// them aside. Who sends a flood of requests gets no answer to most.
	d.listen(func(e xgb.Event) {
		switch e.(type) {
		case xproto.SelectionRequestEvent, xproto.SelectionClearEvent, xproto.PropertyNotifyEvent, xproto.DestroyNotifyEvent:
			select {
			case c.queue <- e:
			default:
			}
		}
	})
	go c.serve()
	return c, nil
}

// Done is closed when the connection has ended, by Close or with the server.
func (c *Clipboard) Done() <-chan struct{} { return c.d.Done() }

// Close gives up what is owned and ends the connection.
func (c *Clipboard) Close() error { return c.d.Close() }

// newWindow makes one that is never seen; its properties are ours to read.
func (c *Clipboard) newWindow() (xproto.Window, error) {
	w, err := xproto.NewWindowId(c.d.x)
	if err != nil {
		return 0, err
	}
	return w, xproto.CreateWindowChecked(c.d.x, 0, w, c.d.root, -1, -1, 1, 1, 0, xproto.WindowClassInputOnly, 0, xproto.CwEventMask, []uint32{xproto.EventMaskPropertyChange}).Check()
}

func (c *Clipboard) selection(s Selection) (xproto.Atom, error) {
	if s != Copied && s != Marked {
		return 0, fmt.Errorf("selection %.60q: want %s or %s", string(s), Copied, Marked)
	}
	return c.atom[string(s)], nil
}

// Set offers content in a selection. Empty content empties it, whoever owns it.
func (c *Clipboard) Set(ctx context.Context, s Selection, content Content) error {
	selection, err := c.selection(s)
	if err != nil {
		return err
	}
	if err := content.check(); err != nil {
		return fmt.Errorf("setting %s: %w", s, err)
	}
	now, err := c.time(ctx)
	if err != nil {
		return err
	}
	return c.d.do(ctx, "setting "+string(s), func() error {
		targets, err := c.d.internAll(slices.Collect(maps.Keys(content)))
		if err != nil {
			return err
		}
		o, owner := &offer{now, make(map[xproto.Atom][]byte)}, c.window
		for name, data := range content {
			o.data[targets[name]] = slices.Clone(data)
		}
		if len(content) == 0 {
			o, owner = nil, 0
		}
		// Before it is ours: whoever sees the change may ask at once.
		c.mu.Lock()
		c.owned[selection] = o
		c.mu.Unlock()
		xproto.SetSelectionOwner(c.d.x, owner, selection, now)
		r, err := xproto.GetSelectionOwner(c.d.x, selection).Reply()
		if err == nil && r.Owner != owner {
			err = errors.New("another program took it at the same time")
		}
		return err
	})
}

func (c Content) check() error {
	if len(c) > maxTargets {
		return fmt.Errorf("%d formats: at most %d", len(c), maxTargets)
	}
	size := 0
	for name, data := range c {
		if name == "" || len(name) > 200 {
			return fmt.Errorf("format %.60q: want a name of 1 to 200 bytes, as UTF8_STRING or image/png", name)
		}
		size += len(data)
	}
	if size > MaxClipboard {
		return fmt.Errorf("%d bytes: at most %d", size, MaxClipboard)
	}
	return nil
}

// Owns says whether the selection is still what was last set here.
func (c *Clipboard) Owns(s Selection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owned[c.atom[string(s)]] != nil
}

// time is the server's: a change of a property tells it.
func (c *Clipboard) time(ctx context.Context) (xproto.Timestamp, error) {
	told := make(chan xproto.Timestamp, 1)
	stop := c.d.listen(func(e xgb.Event) {
		if p, ok := e.(xproto.PropertyNotifyEvent); ok && p.Window == c.window && p.Atom == c.atom["TIMESTAMP"] {
			select {
			case told <- p.Time:
			default:
			}
		}
	})
	defer stop()
	err := c.d.do(ctx, "asking for the display's time", func() error {
		return xproto.ChangePropertyChecked(c.d.x, xproto.PropModeAppend, c.window, c.atom["TIMESTAMP"], xproto.AtomInteger, 32, 0, nil).Check()
	})
	if err != nil {
		return 0, err
	}
	select {
	case t := <-told:
		return t, nil
	case <-time.After(quiet):
		return 0, errors.New("asking for the display's time: no answer from the X server")
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-c.d.gone:
		return 0, ErrGone
	}
}

// toLatin1 gives a text as ICCCM's STRING, if it can be one.
func toLatin1(text string) ([]byte, bool) {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff || r == utf8.RuneError {
			return nil, false
		}
		out = append(out, byte(r))
	}
	return out, true
}

func fromLatin1(b []byte) string {
	out := make([]rune, len(b))
	for i, c := range b {
		out[i] = rune(c)
	}
	return string(out)
}
