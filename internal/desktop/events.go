package desktop

import (
	"sync"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// hub hands events to whoever listens.
type hub struct {
	mu        sync.Mutex
	listeners map[*listener]bool
}

type listener struct{ f func(xgb.Event) }

// dispatch reads events until the connection ends. The library stops reading
// when nobody takes events, so this never waits for anybody.
func (d *display) dispatch() {
	defer d.end()
	for {
		event, err := d.x.WaitForEvent()
		if event == nil && err == nil {
			return
		}
		if event == nil {
			continue // an error of a request that nobody waits for
		}
		d.hub.mu.Lock()
		for l := range d.hub.listeners {
			l.f(event)
		}
		d.hub.mu.Unlock()
	}
}

// listen has f called with every event until stop is called. f must not wait
// for anything, and must not call listen or stop.
func (d *display) listen(f func(xgb.Event)) (stop func()) {
	l := &listener{f}
	d.hub.mu.Lock()
	defer d.hub.mu.Unlock()
	if d.hub.listeners == nil {
		d.hub.listeners = make(map[*listener]bool)
	}
	d.hub.listeners[l] = true
	return func() {
		d.hub.mu.Lock()
		defer d.hub.mu.Unlock()
		delete(d.hub.listeners, l)
	}
}

// signal is a channel that remembers that something happened, once.
type signal chan struct{}

func (s signal) raise() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// selectEvents has events of a window sent to this connection from now on. It
// is not taken back: others may wait for the same.
func (d *display) selectEvents(w xproto.Window, mask uint32) {
	xproto.ChangeWindowAttributes(d.x, w, xproto.CwEventMask, []uint32{mask})
}

// tellRoot sends the window manager a message about a window.
func (d *display) tellRoot(w xproto.Window, kind string, data ...uint32) error {
	const manager = xproto.EventMaskSubstructureNotify | xproto.EventMaskSubstructureRedirect
	return d.tell(d.root, w, kind, manager, [5]uint32(data))
}

func (d *display) tell(to, about xproto.Window, kind string, mask uint32, data [5]uint32) error {
	e := xproto.ClientMessageEvent{Format: 32, Window: about, Type: d.atom(kind), Data: xproto.ClientMessageDataUnionData32New(data[:])}
	return xproto.SendEventChecked(d.x, false, to, mask, string(e.Bytes())).Check()
}
