package workspace

import (
	"fmt"
	"slices"

	"carrel/internal/api"
)

func (p *Prepared) note(format string, args ...any) { p.addNotes(fmt.Sprintf(format, args...)) }

func (p *Prepared) addNotes(notes ...string) {
	p.said.Lock()
	defer p.said.Unlock()
	p.notes = append(p.notes, notes...)
}

// noteOnce adds a note, unless it is there.
func (p *Prepared) noteOnce(text string) {
	if !slices.Contains(p.noted(), text) {
		p.addNotes(text)
	}
}

// noted is what there is to tell so far; others may go on telling.
func (p *Prepared) noted() []string {
	p.said.Lock()
	defer p.said.Unlock()
	return slices.Clone(p.notes)
}

// refused is what was refused so far.
func (p *Prepared) refused() []api.Denial {
	p.said.Lock()
	defer p.said.Unlock()
	return slices.Clone(p.denials)
}

func (p *Prepared) deny(d ...api.Denial) {
	if p.heard != nil {
		for i := range d {
			p.heard(d[i])
		}
		return
	}
	p.said.Lock()
	defer p.said.Unlock()
	p.denials = append(p.denials, d...)
}

// mostDenials is how many different refusals of one kind are told.
func (p *Prepared) mostDenials() int {
	if p.heard == nil {
		return maxDenials
	}
	return maxDenials * 100 // of all that a workspace that stays will ever run
}

// Bounds on what a flood of requests from inside can leave in memory and log.
const (
	maxDenials = 100
	maxSubject = 256 // bytes
)

// auditRequired says where it is asked that nothing is done which cannot be written down,
// "" for nowhere.
func (p *Prepared) auditRequired() string {
	if v := p.Loaded.Settings.AuditRequired; v != nil && v.V {
		return v.Source.String()
	}
	return ""
}
