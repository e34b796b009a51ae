package history

import (
	"fmt"

	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// room is what may still be copied by one step. Links and clones cost nothing now
// and are not asked for.
type room struct {
	w     *Writer
	step  uint64
	taken int64
}

// spending is how many bytes a step has copied.
type spending struct {
	step  uint64
	bytes int64
}

// newRoom is called with mu held.
func (w *Writer) newRoom() *room {
	if w.spent.step != w.step {
		w.spent = spending{step: w.step}
	}
	return &room{w: w, step: w.step}
}

// take asks for n bytes in all.
func (r *room) take(n int64) error {
	if r == nil || n <= r.taken {
		return nil
	}
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	limits := &r.w.store.limits
	switch left := limits.StepBytes - r.w.spent.bytes; {
	case limits.FileBytes > 0 && n > limits.FileBytes:
		return &LostError{Why: fmt.Sprintf("it would have to be copied, and its %d bytes are more than the %d of history.max_file_bytes", n, limits.FileBytes)}
	case limits.StepBytes > 0 && r.step == r.w.spent.step && n-r.taken > left:
		return &LostError{Why: fmt.Sprintf("it would have to be copied, and its %d bytes are more than the %d that this step has left of history.max_step_bytes", n, max(0, left))}
	}
	if r.step == r.w.spent.step {
		r.w.spent.bytes += n - r.taken
	}
	r.taken = n
	return nil
}

// giveBack is called with mu held, for what was not kept after all.
func (r *room) giveBack() {
	if r.step == r.w.spent.step {
		r.w.spent.bytes -= r.taken
	}
	r.taken = 0
}

// toCopy is how many bytes a copy of an open file takes: holes take none.
func toCopy(fd int) (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	return min(st.Size, st.Blocks*blockBytes), nil
}

// Estimate is what the store keeps, as far as was counted: a crash of the machine, an
// undo and files with holes make it wrong, and the next count right again.
func (s *Store) Estimate() (size Size, err error) {
	err = s.mappedCounters(func() {
		size = Size{int64(s.counters[2].Load()), int64(s.counters[1].Load() - s.counters[3].Load())}
	})
	return size, err
}

// grown adds to the estimate.
func (s *Store) grown(bytes int64) {
	_ = s.mappedCounters(func() { s.counters[2].Add(uint64(bytes)) })
}

// estimated says what the store keeps for certain.
func (s *Store) estimated(bytes, steps int64) {
	_ = s.mappedCounters(func() {
		s.counters[2].Store(uint64(bytes))
		s.counters[3].Store(s.counters[1].Load() - uint64(steps))
	})
}

// growth is by how much an undo makes the store larger, as far as its plan knows.
func (p *Plan) growth() (n int64) {
	for i := range p.actions {
		a := &p.actions[i]
		switch a.Verb {
		case journal.Take:
			n += max(0, a.State.Size)
		case journal.Put:
			n -= max(0, a.State.Size)
		case journal.Swap:
			was, _ := p.Step.PreOf(string(a.Path))
			n += a.State.Size - was.State.Size
		}
	}
	return n
}
