package writer

import (
	"fmt"

	"carrel/internal/history/store"

	"golang.org/x/sys/unix"
)

// room is what may still be copied by one step. Links and clones cost nothing now
// and are not asked for.
type room struct {
	w     *segmentWriter
	step  uint64
	taken int64
}

// spending is how many bytes a step has copied.
type spending struct {
	step  uint64
	bytes int64
}

// newRoom is called with mu held.
func (w *segmentWriter) newRoom() *room {
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
	limits := r.w.store.Limits()
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
	return min(st.Size, st.Blocks*store.BlockBytes), nil
}
