package desktop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// How long a program has to read what was typed.
const (
	// answerTime is for programs that say when they have.
	answerTime = 10 * time.Second
	// guessTicks of guessTick are for those that cannot be asked, as xterm. A
	// machine that is busy does not keep the ticks, and then it is more, up to
	// guessMost of them.
	guessTick  = 10 * time.Millisecond
	guessTicks = 30
	guessMost  = 200
)

// settle comes back when the window with the focus has read all input so far.
// A program that takes part in _NET_WM_PING answers to a message that stands
// behind the key presses in its queue; the others get time.
func (d *inputDevice) settle(ctx context.Context) error {
	var to xproto.Window
	err := d.do(ctx, "looking for the window with the focus", func() (err error) {
		to, err = d.pinged()
		return err
	})
	if err != nil {
		return err
	}
	if to == 0 {
		return d.guess(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errors.New("it does not answer"))
	defer cancel()
	answered := make(signal, 1)
	stamp := uint32(time.Now().UnixMilli()) | 1
	stop := d.listen(func(e xgb.Event) {
		m, ok := e.(xproto.ClientMessageEvent)
		if ok && m.Format == 32 && m.Window == d.root && m.Type == d.atom("WM_PROTOCOLS") && m.Data.Data32[0] == uint32(d.atom("_NET_WM_PING")) && m.Data.Data32[1] == stamp {
			answered.raise()
		}
	})
	defer stop()
	for {
		// Again and again, as waiting for windows may change what the root's
		// events are selected for; an old answer is as good.
		err = d.do(ctx, "asking a program whether it has read its input", func() error { return d.ping(to, stamp) })
		if err != nil {
			return err
		}
		select {
		case <-answered:
			return nil
		case <-d.gone:
			return ErrGone
		case <-time.After(time.Second):
		case <-ctx.Done():
			return fmt.Errorf("waiting until window %#x has read what was typed: %w", to, context.Cause(ctx))
		}
	}
}

// guess waits until a program will have read its input.
func (d *inputDevice) guess(ctx context.Context) error {
	for kept, all := 0, 0; kept < guessTicks && all < guessMost; all++ {
		began := time.Now()
		if err := (&hands{d: d}).wait(ctx, guessTick); err != nil {
			return err
		}
		if time.Since(began) < guessTick+guessTick/3 {
			kept++
		}
	}
	return nil
}

// ping sends the question. The answer goes to those who listen to the root's
// children, as the specification has it, and from Qt to those who listen to the
// root itself. What the root's events are selected for otherwise stays.
func (d *inputDevice) ping(to xproto.Window, stamp uint32) error {
	a, err := xproto.GetWindowAttributes(d.x, d.root).Reply()
	if err != nil {
		return err
	}
	mask := a.YourEventMask | xproto.EventMaskSubstructureNotify | xproto.EventMaskStructureNotify
	xproto.ChangeWindowAttributes(d.x, d.root, xproto.CwEventMask, []uint32{mask})
	message := xproto.ClientMessageEvent{Format: 32, Window: to, Type: d.atom("WM_PROTOCOLS"), Data: xproto.ClientMessageDataUnionData32New([]uint32{uint32(d.atom("_NET_WM_PING")), stamp, uint32(to), 0, 0})}
	return xproto.SendEventChecked(d.x, false, to, 0, string(message.Bytes())).Check()
}

// maxNesting bounds the walk through windows in windows.
const maxNesting = 30

// pinged finds the window that can be asked: the one that has the focus, or
// one around it. 0 is for none.
func (d *inputDevice) pinged() (xproto.Window, error) {
	r, err := xproto.GetInputFocus(d.x).Reply()
	if err != nil {
		return 0, err
	}
	w := r.Focus
	if w == xproto.InputFocusPointerRoot || w == d.root {
		if w, err = d.underPointer(); err != nil {
			return 0, err
		}
	}
	for range maxNesting {
		if w == xproto.WindowNone || w == d.root {
			return 0, nil
		}
		protocols := d.askProperty(w, d.atom("WM_PROTOCOLS"), 4*64)
		parent, err := d.ask(queryTree(w)).Reply()
		if err != nil {
			return 0, nil // it went away: nobody is behind
		}
		if p, err := take(protocols); err == nil && slices.Contains(p.numbers(), uint32(d.atom("_NET_WM_PING"))) {
			return w, nil
		}
		w = xproto.Window(le32(parent[12:]))
	}
	return 0, nil
}

// underPointer is the innermost window there.
func (d *inputDevice) underPointer() (xproto.Window, error) {
	w := d.root
	for range maxNesting {
		r, err := xproto.QueryPointer(d.x, w).Reply()
		if err != nil || r.Child == 0 {
			return w, err
		}
		w = r.Child
	}
	return w, nil
}
