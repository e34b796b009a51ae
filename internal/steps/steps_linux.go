package steps

// tellStep writes down that a step begins or is closed; the lock is held.
func (k *Recorder) tellStep(operation string, step uint64) {
	if k.audited != nil && step != 0 {
		k.audited(operation, step, k.app, k.beginning())
	}
}

// Segments are what a run and its jobs have written, when all are closed.
func (k *Recorder) Segments() []Segment {
	if k == nil {
		return nil
	}
	return append(k.segment(), k.jobs.ended...)
}

func (k *Recorder) segment() []Segment {
	out := k.former
	if k.writer != nil && len(k.all) > 0 {
		out = append(out, Segment{k.writer.Segment(), k.writer.Lost()})
	}
	return out
}
