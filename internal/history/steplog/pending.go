package steplog

// LiveSegments are those that a process writes, or that were not closed.
func (l *Log) LiveSegments() map[string]bool {
	out := make(map[string]bool)
	for _, s := range l.Steps {
		if s.Live || s.Open() {
			out[s.Segment] = true
		}
	}
	return out
}

// NextInterrupted gives the step that is to be closed next: of those of runs the
// newest, which knows what it moved of what the others left.
func (l *Log) NextInterrupted(but map[uint64]bool) (next *Step) {
	for _, st := range l.Interrupted() {
		if !but[st.Number] && (next == nil || !st.Undoes()) {
			next = st
		}
	}
	return next
}

// Interrupted gives the steps that no process will close, and the undos that had
// more to do. Those whose journal is damaged stay as they are.
func (l *Log) Interrupted() (out []*Step) {
	last := make(map[string]*Step)
	for _, st := range l.Steps {
		last[st.Segment] = st
	}
	for _, st := range l.Steps {
		if !st.Live && st.Damaged == "" && (st.Open() || len(st.Begin.Rest) > 0 && last[st.Segment] == st) {
			out = append(out, st)
		}
	}
	return out
}
