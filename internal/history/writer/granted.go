package writer

import (
	"sync"

	"carrel/internal/history/journal"
)

// Granted are the files that the steps of some writers opened for writing. The
// zero value is none yet, nil is nobody's business.
type Granted struct {
	mu    sync.Mutex
	files map[journal.ID]bool
}

func (g *Granted) add(id journal.ID) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.files == nil {
		g.files = make(map[journal.ID]bool)
	}
	g.files[id] = true
}

func (g *Granted) has(id journal.ID) bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.files[id]
}
