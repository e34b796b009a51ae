package machine

import (
	"os"
	"slices"

	"carrel/internal/broker"
	"carrel/internal/pathname"
	"carrel/internal/qemu"
	"carrel/internal/sandbox"
)

// system is what a machine has of this host's system.
type system struct {
	binds []sandbox.Mount // in the order in which they are made
	kept  []Place         // those of them that a machine only reads
}

// systemOf takes what a plan shows of this host: the project and other roots, what is neither decided
// nor recorded, and what is read.
func systemOf(plan *sandbox.Plan) (s system, roots []Place, apart []own) {
	program := ""
	for _, m := range plan.Mounts {
		if m.Target == sandbox.SelfPath {
			program = m.Source
		}
	}
	for _, m := range plan.Mounts {
		if m.Kind != sandbox.MountBind && m.Kind != sandbox.MountOverlay || qemu.Own(m.Target) || m.Source == program {
			continue
		}
		if _, err := os.Lstat(m.Source); err != nil && m.Optional {
			continue
		}
		place := Place{m.Source, m.Target}
		s.binds = append(s.binds, m)
		switch {
		case m.Kind == sandbox.MountOverlay || m.ReadOnly:
			s.kept = append(s.kept, place)
		case slices.Contains(plan.Roots, m.Target):
			roots = append(roots, place)
		default:
			apart = append(apart, own{place, false})
		}
	}
	return s, roots, apart
}

// at gives what shows a path, nil for none.
func (s *system) at(host string) *sandbox.Mount {
	var found *sandbox.Mount
	for i := range s.binds {
		if b := &s.binds[i]; pathname.Within(host, b.Source) && (found == nil || len(b.Source) >= len(found.Source)) {
			found = b
		}
	}
	return found
}

// reads says whether a path is one that a machine only reads, whatever its kernel says.
func (s *system) reads(host string) bool {
	m := s.at(host)
	return m != nil && (m.Kind == sandbox.MountOverlay || m.ReadOnly)
}

// decide refuses changes of what is only read; ok is false for what others decide.
func (s *system) decide(ch *broker.Change) (v broker.Verdict, ok bool) {
	for _, at := range []string{ch.Path, ch.To} {
		if at == "" || !s.reads(at) {
			continue
		}
		if ch.Op == broker.OpRead {
			return broker.Verdict{Allowed: true}, true
		}
		return broker.Verdict{Rule: "read-only: " + s.at(at).Target, Source: "built in"}, true
	}
	return v, false
}
