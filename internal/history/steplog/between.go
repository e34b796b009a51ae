package steplog

import "carrel/internal/history/journal"

// Between lists what another program wrote to files of the step while that went on, and
// the step then destroyed, in the order in which that happened. Path is what the file
// was called by then.
func (s *changes) Between() []journal.Pre {
	s.Read()
	return s.between
}

func (s *changes) addBetween(p *journal.Pre) {
	if p.Object != (journal.Object{}) && !journal.ValidSegment(p.Object.Segment) {
		p.Object, p.Lost = journal.Object{}, badSegment
	}
	s.between = append(s.between, *p)
}

const badSegment = "its place in the history has no valid name"
