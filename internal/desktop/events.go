package desktop

import (
	"sync"

	"github.com/jezek/xgb"
)

// hub hands events to whoever listens.
type hub struct {
	mu        sync.Mutex
	listeners map[*listener]bool
}

type listener struct{ f func(xgb.Event) }

// dispatch reads events until the connection ends. The library stops reading
// when nobody takes events, so this never waits for anybody.
func (d *Desktop) dispatch() {
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
func (d *Desktop) listen(f func(xgb.Event)) (stop func()) {
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
