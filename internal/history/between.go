package history

// Between lists what another program wrote to files of the step while that went on, and
// the step then destroyed, in the order in which that happened. Path is what the file
// was called by then.
func (s *Step) Between() []Pre {
	s.read()
	return s.between
}

func (s *Step) addBetween(p *Pre) {
	if p.Object != (Object{}) && !validSegment(p.Object.Segment) {
		p.Object, p.Lost = Object{}, badSegment
	}
	s.between = append(s.between, *p)
}

const badSegment = "its place in the history has no valid name"
