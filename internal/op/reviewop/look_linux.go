package reviewop

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"carrel/internal/api"
	"carrel/internal/pathname"
	"carrel/internal/review"
	"carrel/internal/statedir"
)

func (r *Reviews) store() (*review.Store, error) {
	state := r.c.State()
	if state == "" {
		return nil, statedir.ErrNone
	}
	return review.OpenStore(statedir.At(state).Project(r.project)), nil
}

// List gives the layers of the project, the newest first.
func (r *Reviews) List() ([]Layer, error) {
	s, err := r.store()
	if err != nil {
		return nil, err
	}
	all, broken, err := s.List()
	if err != nil {
		return nil, err
	}
	for _, why := range broken {
		r.c.Tell(why.Error())
	}
	out := []Layer{}
	for _, l := range all {
		one := Layer{ID: l.ID, State: stateOf(l), Command: l.Command, Begun: l.Begun.Format(time.RFC3339), Exit: l.Exit, Trees: l.Trees}
		if one.Bytes, err = l.Bytes(); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

func stateOf(l *review.Layer) string {
	switch {
	case l.Full:
		return StateFull
	case l.Ended != nil:
		return StateEnded
	case l.InUse():
		return StateRunning
	}
	return StateCut
}

// open finds a layer and holds it.
func (r *Reviews) open(id string) (*review.Layer, error) {
	s, err := r.store()
	if err != nil {
		return nil, err
	}
	l, err := s.Open(id)
	if errors.Is(err, review.ErrNone) {
		return nil, none(r.project, id)
	}
	return l, err
}

// none says that there is no such layer.
func none(project, id string) error {
	what := fmt.Sprintf("%q has no layer to review", project)
	if id != "" {
		what = fmt.Sprintf("%q has no layer %q", project, id)
	}
	return &api.Denial{Code: api.CodeNoLayer, Operation: "review", Subject: id, Message: what,
		Hint: "`carrel run --review -- COMMAND` makes one, `carrel review list` names those that there are"}
}

// Difference is what one layer changes, for as long as it is held.
type Difference struct {
	ID      string
	Changes []Change

	layer *review.Layer
	of    []*review.Change
}

// Diff compares a layer, "" for the newest, with the project as it is now. paths limit it.
func (r *Reviews) Diff(id string, paths []string) (*Difference, error) {
	l, err := r.open(id)
	if err != nil {
		return nil, err
	}
	d, err := l.Changes()
	var chosen func(*review.Change) bool
	if err == nil {
		chosen, err = r.below(l, d, paths)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	out := &Difference{ID: l.ID, layer: l}
	for _, c := range d.Changes {
		if chosen(c) {
			out.Changes, out.of = append(out.Changes, tell(l, c)), append(out.of, c)
		}
	}
	return out, nil
}

// Contents reads the file of a change before and after, at most so many bytes of each; nil where
// there is no file.
func (d *Difference) Contents(i int, most int64) (was, now []byte, err error) {
	return d.layer.Contents(d.of[i], most)
}

// Detail says what of a change is not in its contents, "" for nothing.
func (d *Difference) Detail(i int) string {
	c := d.of[i]
	switch {
	case c.Was.Kind != 0 && c.Now.Kind != 0 && c.Was.Kind != c.Now.Kind:
		return fmt.Sprintf("%s, was %s", kindName(c.Now.Kind), kindName(c.Was.Kind))
	case c.Now.Kind == review.Symlink:
		return fmt.Sprintf("symlink -> %q", c.To)
	case c.What == review.Linked:
		return "a further name of a file"
	case c.Was.Kind != 0 && c.Now.Kind != 0 && c.Was.Perm != c.Now.Perm:
		return fmt.Sprintf("mode %#o, was %#o", c.Now.Perm, c.Was.Perm)
	case c.What == review.Time:
		return fmt.Sprintf("time %s, was %s", time.Unix(0, c.Now.Mtime).Format(timeForm), time.Unix(0, c.Was.Mtime).Format(timeForm))
	case c.What == review.Mode:
		return "its attributes"
	}
	return ""
}

const timeForm = "2006-01-02 15:04:05.000000000"

// Close lets go of the layer.
func (d *Difference) Close() { d.layer.Close() }

// below makes of paths what says whether a change is one of them, or in one.
func (r *Reviews) below(l *review.Layer, d *review.Diff, paths []string) (func(*review.Change) bool, error) {
	if len(paths) == 0 {
		return func(*review.Change) bool { return true }, nil
	}
	var places []string
	for _, p := range paths {
		at, err := r.c.Abs(p)
		if err != nil {
			return nil, err
		}
		at = filepath.Clean(at)
		any := false
		for _, c := range d.Changes {
			any = any || pathname.Within(placeOf(l, c), at)
		}
		if !any {
			return nil, fmt.Errorf("layer %s changes nothing at %q\nhint: `carrel review diff %s --stat` names what it changes", l.ID, p, l.ID)
		}
		places = append(places, at)
	}
	return func(c *review.Change) bool {
		for _, at := range places {
			if pathname.Within(placeOf(l, c), at) {
				return true
			}
		}
		return false
	}, nil
}

func placeOf(l *review.Layer, c *review.Change) string {
	return filepath.Join(string(l.Trees[c.Tree]), c.Path)
}

func tell(l *review.Layer, c *review.Change) Change {
	kind := c.Now.Kind
	if kind == review.None {
		kind = c.Was.Kind
	}
	return Change{Path: api.Text(placeOf(l, c)), What: string(c.What), Kind: kindName(kind), Conflict: c.Conflict, Refused: c.Refused}
}

func kindName(k review.Kind) string {
	switch k {
	case review.File:
		return "file"
	case review.Dir:
		return "directory"
	case review.Symlink:
		return "symlink"
	case review.Fifo:
		return "fifo"
	case review.Socket:
		return "socket"
	}
	return "device"
}

// Drop forgets a layer.
func (r *Reviews) Drop(id string) error {
	l, err := r.open(id)
	if err == nil {
		return l.Remove()
	}
	if s, broken := r.store(); broken == nil && s.Drop(id) == nil {
		return nil
	}
	return err
}
