package store

// Estimate is what the store keeps, as far as was counted: a crash of the machine, an
// undo and files with holes make it wrong, and the next count right again.
func (s *numbers) Estimate() (size Size, err error) {
	err = s.mappedCounters(func() {
		size = Size{int64(s.counters[2].Load()), int64(s.counters[1].Load() - s.counters[3].Load())}
	})
	return size, err
}

// AddEstimate adds to the estimate.
func (s *numbers) AddEstimate(bytes int64) {
	_ = s.mappedCounters(func() { s.counters[2].Add(uint64(bytes)) })
}

// estimated says what the store keeps for certain.
func (s *numbers) estimated(bytes, steps int64) {
	_ = s.mappedCounters(func() {
		s.counters[2].Store(uint64(bytes))
		s.counters[3].Store(s.counters[1].Load() - uint64(steps))
	})
}
