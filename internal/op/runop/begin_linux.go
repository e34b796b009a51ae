package runop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/review"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"

	"golang.org/x/sys/unix"
)

const (
	maxBytes  = 32 << 30         // that one layer may take
	leastFree = 64 << 20         // that a file system has to have, for one to begin
	pollTime  = time.Second / 4  // between looks at what is free
	pauseTime = 10 * time.Second // between looks at the layer itself
)

// run is a command in review mode.
type run struct {
	until context.Context // the command is ended with it

	layer  *review.Layer
	cancel context.CancelFunc
	done   chan struct{}
	full   bool
}

// begin lays a layer for a decision, and puts it into the plan that is made of it. Without a
// draft there is none, and the run is nil.
func begin(d *decide.Decision) (*run, error) {
	if d.Policy.History != policy.HistoryDraft {
		return nil, nil
	}
	state, err := statedir.Open(statedir.Path(d.Getenv))
	if err != nil {
		return nil, fmt.Errorf("nothing can keep a layer: %w", err)
	}
	m := review.Meta{Project: api.Text(d.Place.Project), Bound: maxBytes}
	for _, word := range d.Request.Argv {
		m.Command = append(m.Command, api.Text(word))
	}
	for _, tree := range d.Drafted() {
		if err := mayLay(d, tree, state.Root()); err != nil {
			return nil, err
		}
		m.Trees = append(m.Trees, api.Text(tree))
		if !pathname.Within(tree, d.Place.Project) && !ofRepository(d, tree) {
			m.Granted = append(m.Granted, api.Text(tree))
		}
	}
	if err := state.Use(d.Place.Project); err != nil {
		return nil, err
	}
	place := state.Project(d.Place.Project)
	if m.Bound, err = bound(place); err != nil {
		return nil, err
	}
	l, err := review.OpenStore(place).Make(m, func(text string) { d.Note("%s", text) })
	if err != nil {
		return nil, err
	}
	for i, tree := range l.Trees {
		d.Layers = append(d.Layers, sandbox.Overlay{Path: string(tree), Lower: string(tree), Upper: l.Upper(i), Work: l.Work(i),
			Kept: true, Reason: "--review"})
	}
	r := &run{layer: l, done: make(chan struct{})}
	r.until, r.cancel = context.WithCancel(context.Background())
	go r.watch(place)
	return r, nil
}

// ofRepository says whether a tree is written as it is the project's repository.
func ofRepository(d *decide.Decision, tree string) bool {
	for _, dir := range d.Guarded.Write {
		if pathname.Within(tree, dir) {
			return true
		}
	}
	return false
}

// mayLay refuses what no layer can lie over.
func mayLay(d *decide.Decision, tree, state string) error {
	real, kind := d.Facts.Resolve(tree)
	switch {
	case kind != sandbox.KindDir || real != tree:
		return &advice.Error{Err: fmt.Errorf("a layer lies over directories, and %q is none", tree),
			Hint: "open the directory that it lies in for writing, or run with --history on"}
	case pathname.Within(state, tree):
		return &advice.Error{Err: fmt.Errorf("the layer would lie in %q itself, over which it is laid", tree),
			Hint: "XDG_STATE_HOME names a place outside of it; or run with --history on"}
	}
	return nil
}

// bound is what a layer may take: a part of what is free.
func bound(place string) (int64, error) {
	free, err := freeBytes(place)
	if err != nil {
		return 0, err
	}
	if free < leastFree {
		return 0, &advice.Error{Err: fmt.Errorf("%d MiB are free where layers are kept, %s, and one takes %d at least", free>>20, place,
			leastFree>>20), Hint: "`carrel review list` names what is kept; XDG_STATE_HOME names another place"}
	}
	return min(maxBytes, free/2), nil
}

func freeBytes(place string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(place, &st); err != nil {
		return 0, fmt.Errorf("looking at the file system of %q: %w", place, err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// watch ends the run where its layer takes more than its bound. What is free is looked at
// often, as that costs nothing, and the layer where much of that has gone.
func (r *run) watch(place string) {
	defer close(r.done)
	free, _ := freeBytes(place)
	last, pause := time.Now(), pauseTime
	var had int64
	for {
		select {
		case <-r.until.Done():
			return
		case <-time.After(pollTime):
		}
		now, err := freeBytes(place)
		if err != nil || free-now < (r.layer.Bound-had)/2 && time.Since(last) < pause {
			continue
		}
		begin := time.Now()
		if had, err = r.layer.Bytes(); err != nil {
			continue
		}
		free, last = now, time.Now()
		pause = max(pauseTime, 20*time.Since(begin))
		if had > r.layer.Bound {
			r.full = true
			r.cancel()
			return
		}
	}
}

func (r *run) end() bool {
	if r.layer == nil {
		return false
	}
	r.cancel()
	<-r.done
	return true
}

// finish notes the end of the run, and says what it has changed. A layer without a change is
// forgotten; its id is "" then.
func (r *run) finish(exit int) (*Ended, error) {
	if !r.end() {
		return nil, errors.New("the run has ended before")
	}
	l := r.layer
	r.layer = nil
	defer l.Close()
	if err := l.Finish(exit, r.full); err != nil {
		return nil, err
	}
	out := &Ended{ID: l.ID, Full: r.full, Bound: l.Bound}
	d, err := l.Changes()
	if err != nil {
		return out, err
	}
	for _, c := range d.Changes {
		switch {
		case c.Refused != "":
			out.Refused++
		case c.What == review.Added:
			out.Added++
		case c.What == review.Removed:
			out.Removed++
		default:
			out.Modified++
		}
		if c.Conflict != "" {
			out.Conflicts++
		}
	}
	if len(d.Changes) == 0 {
		out.ID = ""
		return out, l.Remove()
	}
	return out, nil
}
