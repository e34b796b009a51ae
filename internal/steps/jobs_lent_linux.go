package steps

// Lend makes the changes of what has a label those of a process inside.
func (k *Recorder) Lend(label uint64, caller int) {
	if k == nil {
		return
	}
	j := k.jobs
	if j.epoch.Load() == 0 || caller <= 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	c, known := j.callers[caller]
	if !known || !c.alive() {
		c = j.recall(caller, c)
	}
	if c.job == nil {
		return
	}
	if j.lent == nil {
		j.lent = make(map[uint64]*Job)
	}
	j.lent[label] = c.job
}

// GiveBack ends that.
func (k *Recorder) GiveBack(label uint64) {
	if k == nil {
		return
	}
	j := k.jobs
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.lent, label)
}
