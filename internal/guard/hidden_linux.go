package guard

import (
	"maps"
	"slices"
	"sync"

	"carrel/internal/broker"
)

// hidden are the files of secrets that have been hidden since the start. The
// mirror has no masks of them: what the broker does there has to be refused by
// the name.
type hidden struct {
	mu    sync.Mutex
	names map[string]bool
}

func (h *hidden) add(at string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.names == nil {
		h.names = make(map[string]bool)
	}
	h.names[at] = true
}

func (h *hidden) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.names))
}

// of gives the hidden name that a change is about, "" for none.
func (h *hidden) of(ch *broker.Change) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.names[ch.Path]:
		return ch.Path
	case h.names[ch.To]:
		return ch.To
	}
	return ""
}

// Hide adds the file of a secret that has been hidden since the start.
func (d *Guard) Hide(at string) { d.hidden.add(at) }

// Hidden are those.
func (d *Guard) Hidden() []string { return d.hidden.all() }
