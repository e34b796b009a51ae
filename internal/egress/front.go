package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"carrel/internal/policy"
)

// Ports where programs are expected when a rule names none.
var usualPorts = []uint16{22, 80, 443}

const (
	maxListeners = 1024            // of the transparent way, each a descriptor
	listenLimit  = 2 * time.Second // for the stage to make one
)

// front is the transparent way: listeners on the addresses of names that were
// asked for, at the ports of their rules. Above the bound those of the name
// that was asked for longest ago are closed; asking opens them again.
type front struct {
	e *Engine

	most int        // listeners
	turn sync.Mutex // held while listeners are made: one name at a time

	mu    sync.Mutex
	doors map[string]*door
	count int
}

type door struct {
	asked time.Time
	open  map[uint16]net.Listener
}

func newFront(e *Engine) *front { return &front{e: e, doors: make(map[string]*door)} }

// ports gives where a name is to be reached without a proxy, or asked about.
func (f *front) ports(rules *policy.HostRules, name string) []uint16 {
	ports, any := rules.Ports(name)
	if any || f.e.cfg.Ask != nil && rules.MayAsk(name) {
		ports = append(ports, usualPorts...)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// admit has connections to a name's address accepted. It fails when none is.
func (f *front) admit(name string, a netip.Addr) error {
	want := f.ports(f.e.rules.Load(), name)
	if f.e.cfg.Listen == nil || len(want) == 0 {
		return nil // there is the proxy still
	}
	if f.has(name, want) {
		return nil
	}
	f.turn.Lock()
	defer f.turn.Unlock()
	var first error
	done := 0
	for _, port := range want {
		if f.has(name, []uint16{port}) {
			done++
			continue
		}
		if err := f.listen(name, netip.AddrPortFrom(a, port)); err == nil {
			done++
		} else if first == nil {
			first = err
		}
	}
	if done == 0 {
		return first
	}
	return nil
}

// has tells whether all of the ports are open, and notes that somebody asked.
func (f *front) has(name string, want []uint16) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.doors[name]
	if d == nil {
		return false
	}
	d.asked = time.Now()
	return !slices.ContainsFunc(want, func(p uint16) bool { return d.open[p] == nil })
}

func (f *front) listen(name string, at netip.AddrPort) error {
	ctx, cancel := context.WithTimeout(f.e.ctx, listenLimit)
	defer cancel()
	l, err := f.e.cfg.Listen(ctx, "tcp4", at.String())
	if err != nil {
		return err
	}
	f.mu.Lock()
	for f.count >= f.most && f.closeOldest(name) {
	}
	d := f.doors[name]
	if d == nil {
		d = &door{open: make(map[uint16]net.Listener)}
		f.doors[name] = d
	}
	d.asked = time.Now()
	d.open[at.Port()] = l
	f.count++
	f.mu.Unlock()
	if !f.e.enter() {
		_ = l.Close()
		return errClosed
	}
	go func() {
		defer f.e.running.Done()
		t := policy.Target{Host: name, Port: at.Port()}
		_ = f.e.serve(l, func(c *client) { c.transparent(t) })
	}()
	return nil
}

// closeOldest closes the listeners of the name that was asked for longest ago,
// another one than keep.
func (f *front) closeOldest(keep string) bool {
	oldest := ""
	for name, d := range f.doors {
		if name != keep && (oldest == "" || d.asked.Before(f.doors[oldest].asked)) {
			oldest = name
		}
	}
	if oldest == "" {
		return false
	}
	for port := range f.doors[oldest].open {
		f.close(oldest, port)
	}
	return true
}

func (f *front) close(name string, port uint16) {
	d := f.doors[name]
	_ = d.open[port].Close()
	delete(d.open, port)
	f.count--
	if len(d.open) == 0 {
		delete(f.doors, name)
	}
}

// narrow closes what newer rules do not list.
func (f *front) narrow(rules *policy.HostRules) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, d := range f.doors {
		want := f.ports(rules, name)
		if !f.e.mayResolve(rules, name) {
			want = nil
		}
		for port := range d.open {
			if !slices.Contains(want, port) {
				f.close(name, port)
			}
		}
	}
}

// transparent carries a connection of a program that knows no proxy.
func (c *client) transparent(t policy.Target) {
	c.carry("tcp", t, voice{
		yes: func() error { return nil },
		no: func(err error) {
			var r *refusal
			if errors.As(err, &r) || !gone(err) {
				c.refuseInKind(t.Host, err)
			}
		},
	})
}
