package gui

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"carrel/internal/a11y"
	"carrel/internal/xvfb"
)

// rulesFile is the name of the rules of the accessibility bus in their directory.
const rulesFile = "rules.conf"

// treeRules are the rules of the accessibility bus: as on the display, programs inside
// may act on each other only while the workspace is active.
type treeRules struct {
	write  func(data []byte) error     // for the bus to read
	reread func(context.Context) error // has a bus that runs read them; one that starts later does anyway

	mu  sync.Mutex
	now a11y.Rules
}

// newTreeRules gives the rules of a desktop that has no programs yet.
func newTreeRules(place *xvfb.Place, d *buses) *treeRules {
	r := &treeRules{now: a11y.Rules{People: make(map[string]bool)}}
	r.write = func(data []byte) error { return place.WriteBus(rulesFile, data) }
	r.reread = func(ctx context.Context) error {
		select {
		case <-d.ready:
		default:
			return nil // nothing runs inside
		}
		if d.session == nil || !d.session.running.Load() {
			return nil
		}
		session, err := d.dial(ctx)
		if err != nil {
			return err
		}
		return a11y.Reread(ctx, session, d.dialInside)
	}
	return r
}

// change makes a change of the rules and writes them. On an error the change is kept:
// what is written next has it.
func (r *treeRules) change(change func(*a11y.Rules)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.now)
	return r.write(r.now.Config())
}

// follow has the bus follow the mode of the workspace, before it returns.
func (r *treeRules) follow(ctx context.Context, active bool) error {
	ctx, cancel := context.WithTimeout(ctx, letGoTime)
	defer cancel()
	if err := r.change(func(r *a11y.Rules) { r.Active = active }); err != nil {
		return err
	}
	return r.reread(ctx)
}

// admit lets a connection of ours act where programs inside may not, until done is
// called. Only it has a name that could not be known before, and that no other may
// wait for when the bus begins to let it through.
func (r *treeRules) admit(ctx context.Context, bus *a11y.Bus) (done func(), err error) {
	name := "carrel.person.x" + rand.Text()
	if err := bus.TakeName(ctx, name); err != nil {
		return nil, fmt.Errorf("taking a name on the accessibility bus: %w", err)
	}
	set := func(ctx context.Context, change func(*a11y.Rules)) error {
		return errors.Join(r.change(change), bus.Reread(ctx))
	}
	done = func() { // the name ends with the connection in any case
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), letGoTime)
		defer cancel()
		_ = set(ctx, func(r *a11y.Rules) { delete(r.People, name) })
	}
	err = set(ctx, func(r *a11y.Rules) { r.People[name] = false })
	if err == nil {
		err = bus.Alone(ctx, name)
	}
	if err == nil {
		err = set(ctx, func(r *a11y.Rules) { r.People[name] = true })
	}
	if err != nil {
		done()
		return nil, fmt.Errorf("acting on the accessibility bus: %w", err)
	}
	return done, nil
}
