package machine

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"carrel/internal/advice"
	"carrel/internal/broker"
	"carrel/internal/pathname"
	"carrel/internal/sandbox"
)

// own is a place in the home of a machine's commands: the agent's settings and state. Behind walls
// it is mounted, and its changes are neither decided nor recorded; here they are the same.
type own struct {
	Place
	readOnly bool
}

// homeOf are the places of a plan in the home of commands.
func homeOf(plan *sandbox.Plan) (places []own) {
	for _, m := range plan.Mounts {
		if m.Kind == sandbox.MountBind && pathname.Within(m.Target, Home) {
			places = append(places, own{Place{m.Source, m.Target}, m.ReadOnly})
		}
	}
	return places
}

// Files shows files in the home of commands, read-only, by their paths below it. They are written to
// a directory that is the caller's to remove.
func (r *Run) Files(dir string, files map[string][]byte) error {
	for name, data := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(at, data, 0o600); err != nil {
			return err
		}
		r.home = append(r.home, own{Place{at, path.Join(Home, name)}, true})
	}
	return nil
}

// ownAt is the place of the home that a path lies in, nil for all others.
func (r *Run) ownAt(at string) *own {
	i := slices.IndexFunc(r.home, func(o own) bool { return pathname.Within(at, o.Host) })
	if i < 0 {
		return nil
	}
	return &r.home[i]
}

// homeApart decides about the places of the home, and passes all other changes on.
type homeApart struct{ r *Run }

// Decide implements [broker.Decider].
func (h homeApart) Decide(ch *broker.Change) broker.Verdict {
	from := h.r.ownAt(ch.Path)
	to := from
	if ch.To != "" {
		to = h.r.ownAt(ch.To)
	}
	switch {
	case from == nil && to == nil:
		if v, ok := h.r.system.decide(ch); ok {
			return v
		}
		v := h.r.Decider.Decide(ch)
		if at := h.r.hiddenIn(ch); v.Allowed && at != "" {
			return broker.Verdict{Rule: at + " is hidden by its path: it gets no other one", Source: "built in"}
		}
		return v
	case from == nil || to == nil:
		return broker.Verdict{Rule: "nothing is moved or linked between the home of a machine and what is recorded", Source: "built in"}
	case ch.Op != broker.OpRead && (from.readOnly || to.readOnly):
		return broker.Verdict{Rule: "read-only: " + from.Guest, Source: "built in"}
	}
	return broker.Verdict{Allowed: true}
}

// Before implements [broker.Recorder].
func (h homeApart) Before(ch *broker.Change) error {
	if h.r.ownAt(ch.Path) != nil {
		return nil
	}
	if h.r.alike { // whose a request is does not come with it
		ch.Label = h.r.Running()
	}
	return h.r.Recorder.Before(ch)
}

// After implements [broker.Recorder].
func (h homeApart) After(ch *broker.Change, err error) {
	if h.r.ownAt(ch.Path) == nil {
		h.r.Recorder.After(ch, err)
	}
}

// programThere refuses to start an agent without its program in the machine.
func (r *Run) programThere(ctx context.Context, g Guest) error {
	if r.Program == "" || g.Has(ctx, r.Program) {
		return nil
	}
	install := "the maker's page says how"
	if r.Install != "" {
		install = r.Install
	}
	return &advice.Error{Err: fmt.Errorf("the machine %s has no program %s", g.Name(), r.Program),
		Hint: fmt.Sprintf("install it there, as its root (%s): %s", install, g.Shell())}
}
