package a11y

import (
	"context"
	"fmt"
	"time"

	"carrel/internal/dbus"
)

// What programs are asked to tell while somebody waits. They tell nothing unasked.
var listenedTo = []string{
	"object:children-changed", "object:state-changed", "object:property-change", "object:text-changed", "object:bounds-changed", "window",
}

// Rules by which the bus sends us those events.
var matchRules = []string{
	"type='signal',interface='org.a11y.atspi.Event.Object'",
	"type='signal',interface='org.a11y.atspi.Event.Window'",
}

// A wait looks when there were events, but not more often than restTime after the
// last look or as long as that took, whatever is longer: programs can send events
// without end. Without any it looks every lookTime: they can also forget to.
const (
	restTime = 50 * time.Millisecond
	lookTime = time.Second
)

// event is called by the reader for each signal; it must not wait.
func (b *Bus) event() {
	b.listening.Lock()
	defer b.listening.Unlock()
	for l := range b.listeners {
		select {
		case l <- struct{}{}:
		default:
		}
	}
}

// Wait looks until a query finds a node, or with gone until it finds none, and
// returns what it found last. With gone a program that did not answer counts as
// one that may still show it. The end of ctx is an error, with what was found.
func (b *Bus) Wait(ctx context.Context, q Query, gone bool) (*Found, error) {
	l := make(chan struct{}, 1)
	if err := b.listen(ctx, l); err != nil {
		return nil, err
	}
	defer b.unlisten(l)
	look := time.NewTimer(0)
	defer look.Stop()
	for {
		began := time.Now()
		f, err := b.Find(ctx, q)
		if err != nil {
			return nil, err
		}
		if gone && len(f.Nodes) == 0 && len(f.Problems) == 0 || !gone && len(f.Nodes) > 0 {
			return f, nil
		}
		rest := time.NewTimer(max(restTime, time.Since(began)))
		look.Reset(lookTime)
		select {
		case <-l:
			select {
			case <-rest.C:
			case <-ctx.Done():
			}
		case <-look.C:
		case <-ctx.Done():
		}
		rest.Stop()
		if err := ctx.Err(); err != nil {
			return f, fmt.Errorf("waiting for a node: %w", err)
		}
	}
}

// listen has events sent, for the first listener.
func (b *Bus) listen(ctx context.Context, l chan struct{}) error {
	b.listening.Lock()
	first := len(b.listeners) == 0
	b.listeners[l] = true
	b.listening.Unlock()
	if !first {
		return nil
	}
	if err := b.subscribe(ctx, "AddMatch", "RegisterEvent"); err != nil {
		b.unlisten(l)
		return fmt.Errorf("asking for events: %w", err)
	}
	return nil
}

func (b *Bus) unlisten(l chan struct{}) {
	b.listening.Lock()
	delete(b.listeners, l)
	last := len(b.listeners) == 0
	b.listening.Unlock()
	if last {
		// Without waiting for it: where this fails, the bus has gone.
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), actTime)
			defer cancel()
			_ = b.subscribe(ctx, "RemoveMatch", "DeregisterEvent")
		}()
	}
}

func (b *Bus) subscribe(ctx context.Context, match, register string) error {
	var calls []*dbus.Call
	for _, rule := range matchRules {
		calls = append(calls, dbus.ToBus(match, "", rule))
	}
	registry := Ref{b.registry, registryPath}
	for _, event := range listenedTo {
		calls = append(calls, registry.ask(prefix+"Registry", register, "", event))
	}
	if err := b.conn.Begin(calls...); err != nil {
		return err
	}
	for _, c := range calls {
		if _, err := b.conn.Wait(ctx, c); err != nil {
			b.conn.Forget(calls...)
			return err
		}
	}
	return nil
}
