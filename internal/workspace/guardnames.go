package workspace

import "carrel/internal/protectednames"

// guardNames finds what is protected by its name. Without walls nothing is, but the
// project's repository belongs to it all the same.
func (p *Prepared) guardNames() {
	s := protectednames.Search{Place: &p.place, Policy: p.Policy, Brokered: p.history(), Getenv: p.getenv, Note: p.note}
	if p.view != nil {
		s.Repositories = p.view.Repositories
	}
	p.guarded = s.Find()
	if p.NoWalls() {
		p.guarded = protectednames.Names{Write: p.guarded.Write}
	}
}
