package writer

import (
	"slices"
	"strings"
	"sync"
	"time"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// The kernel tells whether a file is open for writing, or mapped so: it refuses a read
// lease then. A file that the step writes to is asked for one again and again until it
// is granted.

// Bounds of what is watched, and how often it is looked at.
const (
	maxWatched = 4096
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
	manyLooks  = 64 // files that are looked at before others may go on
)

// grants are the files that the open step writes to.
type grants struct {
	knowledge
	of     map[*grant]bool // those that are watched; nil before the step writes to any
	moving int             // renames of directories on their way
	moves  int             // those that are over
	summed int             // files of which the content was looked at

	watching sync.WaitGroup
	wake     chan struct{} // nil before anything is watched
	over     chan struct{}
}

// forget is for the end of a step.
func (w *grants) forget() { w.of, w.moving, w.summed = nil, 0, 0 }

// stop ends the watching.
func (w *grants) stop() {
	if w.wake != nil {
		close(w.over)
		w.watching.Wait()
		w.wake = nil
	}
}

// watch begins to look whether a file that the step writes to is closed.
func (w *grants) watch(o *object) {
	g := o.grant()
	if known := w.known(o.id); g == nil && known.grant() != nil { // it was opened by another name first
		g = known.grant()
		o.setGrant(g)
	}
	if g == nil {
		g = new(grant)
		o.setGrant(g)
		w.tree.held += grantWeight
	}
	g.named(o)
	if known := w.known(o.id); known != nil {
		if g.made == nil {
			g.made = known.left
		}
		known.left = nil
		if known.grant() == nil { // by another name
			known.setGrant(g)
		}
	}
	g.turn++
	g.left, g.pause, g.due = journal.State{}, firstPause, time.Now().Add(firstPause)
	if w.of == nil {
		w.of = make(map[*grant]bool)
	}
	if g.late = !w.of[g] && len(w.of) >= maxWatched; g.late {
		return
	}
	w.of[g] = true
	if w.wake == nil {
		w.wake, w.over = make(chan struct{}, 1), make(chan struct{})
		w.watching.Go(w.watcher)
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// watcher looks at what is watched until the writer is closed.
func (w *grants) watcher() {
	wake, over := w.wake, w.over
	for {
		var later <-chan time.Time
		if pause := w.lookAtWatched(); pause > 0 {
			later = time.After(pause - firstPause)
		}
		select {
		case <-later:
		case <-wake:
		case <-over:
			return
		}
		select { // many files that are opened one after the other are looked at together
		case <-time.After(firstPause):
		case <-over:
			return
		}
	}
}

// watched is one look at a file.
type watched struct {
	g    *grant
	turn int
	path string
	held uint64 // its link in the store, where the step knows no path of it any more
	sum  bool
	now  journal.State
	err  error // EAGAIN while it is open for writing
}

// Watched is how many files the open step has opened for writing, as far as it is not known yet
// that they are closed.
func (w *grants) Watched() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.of)
}

// lookAtWatched looks at the files that are due, and says when the next one is; 0 for
// never.
func (w *grants) lookAtWatched() time.Duration {
	if w.Watched() == 0 {
		return 0
	}
	looks, moves, pause := w.dueLooks()
	slices.SortFunc(looks, func(a, b watched) int { return strings.Compare(a.path, b.path) })
	in := disk.DirWalk{Roots: w.roots, Open: w.parent}
	for i := range looks {
		looks[i].now, looks[i].err = w.whenClosed(&in, &looks[i])
	}
	in.Close()
	if len(looks) == 0 {
		return pause
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range looks {
		l := &looks[i]
		if w.moving == 0 && w.moves == moves && w.of[l.g] && l.g.busy == 0 && l.g.turn == l.turn {
			w.sees(l)
		}
	}
	return firstPause
}

// dueLooks gives the files that are due.
func (w *grants) dueLooks() (looks []watched, moves int, pause time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.step == 0 {
		return nil, 0, 0
	}
	pause = lastPause
	if w.moving > 0 {
		return nil, 0, firstPause
	}
	now := time.Now()
	for g := range w.of { // in an order that is drawn anew each time
		if len(looks) == manyLooks {
			break
		}
		if wait := g.due.Sub(now); wait > 0 {
			pause = min(pause, max(wait, firstPause))
			continue
		}
		s, held := g.at(), g.held()
		switch {
		case s == nil && held == 0:
			delete(w.of, g)
			continue
		case g.busy > 0:
			pause = firstPause
			continue
		}
		l := watched{g: g, turn: g.turn, sum: w.summed < sumFiles}
		if s != nil {
			l.path = s.path()
		} else {
			l.held = held
		}
		looks = append(looks, l)
	}
	return looks, w.moves, pause
}

// whenClosed looks at a file while the kernel keeps everybody from opening it for
// writing.
func (w *grants) whenClosed(in *disk.DirWalk, l *watched) (journal.State, error) {
	dir, name, err := w.objects, journal.ObjectName(l.held), error(nil)
	if l.held == 0 {
		dir, name, err = in.Parent(l.path)
	}
	if err != nil {
		return journal.State{}, err
	}
	fd, err := disk.OpenAt(dir, name, unix.O_RDONLY)
	if err != nil {
		return journal.State{}, err
	}
	defer unix.Close(fd)
	refused := readLease(fd)
	st, err := disk.StateAt(fd, "", 0)
	if err == nil {
		err = refused
	}
	if err != nil || !l.sum || st.Size > disk.SumBytes {
		return st, err
	}
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK) // who opens it does not have to wait for this
	st.Sum = disk.SumOf(fd, &st, "")
	return st, nil
}

// replaced reports whether what lies at a name of a file is another one by now.
func (w *grants) replaced(g *grant, now journal.ID) bool {
	if w.layered || w.raced || len(g.names) == 0 {
		return false
	}
	id := g.names[0].id
	return id != (journal.ID{}) && !w.isInode(id, now)
}

// sees takes over what a look has found.
func (w *grants) sees(l *watched) {
	g := l.g
	g.pause = min(2*g.pause, lastPause)
	g.due = time.Now().Add(g.pause)
	known := g.seen != nil
	switch other := known && l.now.ID != g.seen.ID; {
	case !known && l.now.Kind != journal.Absent && w.replaced(g, l.now.ID): // before anybody had looked
		g.late = true
	case l.err == nil && l.now.Kind == journal.File && !other:
		if g.left = l.now; len(l.now.Sum) > 0 {
			w.summed++
		}
		g.tick = time.Now().UnixNano()-l.now.Ctime < int64(disk.ClockTick)
	case known && (disk.Missing(l.err) || l.now.Kind != journal.Absent && other):
		g.left = *g.seen // another program took its name, or gave it to another file
	case l.now.Kind == journal.File && (l.err == nil || l.err == unix.EAGAIN):
		now := l.now
		g.seen = &now
		return
	case l.err == unix.EAGAIN: // another program has a lease
		return
	default:
		g.late = true
	}
	g.seen = nil
	delete(w.of, g)
}
