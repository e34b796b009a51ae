package supervisor

import (
	"sync"
	"time"

	"carrel/internal/api"
)

// Bounds of what is kept of events.
const (
	keptEvents  = 256 // for whoever asks later
	followQueue = 256 // for a follower that reads slowly; then it loses some

	maxEventText = 4 << 10 // bytes: some of it is a caller's, or a program's
)

// hub hands events to followers and never waits for one.
type hub struct {
	workspace string
	record    func(api.Event) // writes one down; nil for nowhere

	mu     sync.Mutex
	seq    uint64
	kept   []api.Event
	follow map[*follower]bool
	closed bool
}

type follower struct {
	events chan api.Event
	lost   int // under hub.mu
}

func newHub(workspace string) *hub {
	return &hub{workspace: workspace, follow: make(map[*follower]bool)}
}

// emit numbers an event and passes it on.
func (h *hub) emit(e api.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.seq++
	e.Text = e.Text[:min(len(e.Text), maxEventText)]
	e.Seq, e.Time, e.Workspace = h.seq, time.Now(), h.workspace
	if len(h.kept) == keptEvents {
		copy(h.kept, h.kept[1:])
		h.kept = h.kept[:keptEvents-1]
	}
	h.kept = append(h.kept, e)
	if h.record != nil {
		h.record(e)
	}
	for f := range h.follow {
		f.offer(e)
	}
}

// last is the number of the newest event.
func (h *hub) last() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seq
}

func (f *follower) offer(e api.Event) {
	e.Lost = f.lost
	select {
	case f.events <- e:
		f.lost = 0
	default:
		f.lost++
	}
}

// subscribe gives what was kept and what comes after it, without a gap.
func (h *hub) subscribe() ([]api.Event, *follower) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := &follower{events: make(chan api.Event, followQueue)}
	if h.closed {
		close(f.events)
	} else {
		h.follow[f] = true
	}
	return append([]api.Event(nil), h.kept...), f
}

func (h *hub) unsubscribe(f *follower) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.follow, f)
}

// close ends all followers after what they have still to read.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	for f := range h.follow {
		close(f.events)
	}
	clear(h.follow)
}
