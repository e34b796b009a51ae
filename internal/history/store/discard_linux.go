package store

import (
	"errors"
	"fmt"
	"slices"

	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
)

// SetLimits bounds what the store keeps from now on.
func (s *settings) SetLimits(l Limits) { s.limits = l }

// Discard removes steps for good, each with its undos and redos. all says that
// everything goes, also what cannot be read any more. Nothing is removed while
// somebody else writes, nor with dry.
func (s *Store) Discard(steps []uint64, all, dry bool) (*Removal, error) {
	return s.remove(dry, all, func(l *Log, _ *Usage, _ *Removal) ([]*steplog.Family, error) {
		if !all && l.Broken[discardsFile] {
			return nil, fmt.Errorf("%w; nothing is discarded before all is", errDiscards)
		}
		return l.Doomed(steps, all)
	})
}

// Collect removes what nothing refers to, and the oldest steps of a store that is
// beyond its limits.
func (s *Store) Collect(dry bool) (*Removal, error) {
	return s.remove(dry, false, func(l *Log, u *Usage, out *Removal) ([]*steplog.Family, error) {
		return u.overdue(l, out), nil
	})
}

// Trim is Collect where there may be a need to: nothing is looked at in a store
// that is estimated to be within its limits. nil says that nothing was done, as
// also while somebody else writes.
func (s *Store) Trim() (*Removal, error) {
	if size, err := s.Estimate(); err != nil || !size.Over(s.limits) {
		return nil, err
	}
	r, err := s.Collect(false)
	if errors.Is(err, ErrBusy) {
		return nil, nil
	}
	return r, err
}

// Shrink removes the oldest steps until the store takes no more than some bytes of the
// disk. The newest step stays.
func (s *Store) Shrink(bytes int64) (*Removal, error) {
	return s.remove(false, false, func(l *Log, u *Usage, out *Removal) ([]*steplog.Family, error) {
		list, kept := u.removable(l)
		var families []*steplog.Family
		for i := range list {
			if w := &list[i]; kept > bytes && !w.fixed && w.bytes > 0 {
				families, kept = append(families, w.family), kept-w.bytes
			}
		}
		out.Over = max(0, kept-bytes)
		return families, nil
	})
}

// removable gives what may go, oldest first, and what is kept now. Where something
// cannot be read nothing goes by itself.
func (u *Usage) removable(l *Log) (list []weight, kept int64) {
	list = u.weights(l)
	for i := range list {
		list[i].fixed = list[i].fixed || len(l.Damaged) > 0
	}
	return list, u.Disk()
}

// overdue finds what has to go for the limits.
func (u *Usage) overdue(l *Log, out *Removal) []*steplog.Family {
	list, more := u.removable(l)
	first, _ := overLimit(list, u.Limits.Steps, 0, func(w *weight) int64 { return int64(min(1, len(w.family.Steps))) })
	for _, w := range first {
		w.fixed, w.gone = true, true
	}
	for i := range list {
		more -= list[i].bytes
	}
	second, kept := overLimit(list, u.Limits.Bytes, more, func(w *weight) int64 {
		if w.gone {
			return 0
		}
		return w.bytes
	})
	if u.Limits.Bytes > 0 {
		out.Over = max(0, kept-u.Limits.Bytes)
	}
	var families []*steplog.Family
	for _, w := range append(first, second...) {
		families = append(families, w.family)
	}
	return families
}

// remover is one removal under way.
type remover struct {
	*Store
	dry   bool
	log   *Log
	index *index // what of log was not read from the journals
	sure  map[string]bool
	gone  *discards
	out   *Removal
	dead  map[string]bool // segments
}

// remove does what all removals do. What goes is written down before anything
// does; what a crash leaves of it, the next removal ends.
//
// The index says what to remove, so that only the journals of that are read. An index
// that a journal contradicts is removed, and all journals are read.
func (s *Store) remove(dry, all bool, pick func(*Log, *Usage, *Removal) ([]*steplog.Family, error)) (*Removal, error) {
	if err := s.LockExclusive(); err != nil {
		return nil, err
	}
	defer s.Unlock()
	r, err := s.removeSeen(dry, all, pick)
	if errors.Is(err, errIndex) {
		if err = s.dropIndex(); err == nil {
			r, err = s.removeSeen(dry, all, pick)
		}
	}
	return r, err
}

func (s *Store) removeSeen(dry, all bool, pick func(*Log, *Usage, *Removal) ([]*steplog.Family, error)) (*Removal, error) {
	r := &remover{Store: s, dry: dry, out: &Removal{}, sure: make(map[string]bool), dead: make(map[string]bool)}
	var err error
	if r.log, r.index, err = s.survey(); err != nil {
		return nil, err
	}
	if r.gone, err = s.readDiscards(); err != nil && !all && !dry {
		r.gone = nil // it is not written over
	}
	usage, err := s.Usage(r.log)
	if err != nil {
		return nil, err
	}
	families, err := pick(r.log, usage, r.out)
	if err != nil {
		return nil, err
	}
	if err := r.discard(families, all); err != nil {
		return nil, err
	}
	if err := r.sweep(); err != nil {
		return r.out, err
	}
	r.out.Kept, r.out.Oldest = usage.Disk()-r.out.Freed.Disk, r.log.Oldest()
	if !dry {
		s.estimated(r.out.Kept, int64(len(r.log.Changes())))
	}
	return r.out, nil
}

// isSure reports whether what is known of a segment is what its journal says.
func (r *remover) isSure(segment string) bool {
	is, known := r.sure[segment]
	if !known {
		is = r.index.confirms(r.Store, segment)
		r.sure[segment] = is
	}
	return is
}

// discard writes down that families are gone, and what journals nobody needs.
func (r *remover) discard(families []*steplog.Family, all bool) error {
	for _, f := range families {
		for _, s := range f.Steps {
			if !r.isSure(s.Segment) {
				return errIndex
			}
			if r.gone != nil {
				r.gone.add(s)
			}
			r.out.Steps = append(r.out.Steps, s.Number)
		}
	}
	slices.Sort(r.out.Steps)
	r.log.Drop(families)
	if all {
		clear(r.log.Broken)
	}
	if err := r.findDead(); err != nil || r.dry || r.gone == nil || len(families) == 0 && len(r.dead) == 0 && !all {
		return err
	}
	for name := range r.dead {
		r.gone.whole[name] = true
		delete(r.gone.steps, name)
	}
	var err error
	if r.gone.stamp, err = r.Stamp(); err != nil {
		return err
	}
	r.gone.number = max(r.gone.number, r.log.Number)
	return r.writeDiscards(r.gone)
}

// findDead finds the journals that tell of nothing any more.
func (r *remover) findDead() error {
	needed := make(map[string]bool)
	for _, s := range r.log.Steps {
		needed[s.Segment] = true
	}
	for _, s := range append(slices.Clip(r.log.Hidden), r.log.Fruitless...) { // as long as there are steps before it
		if len(r.log.Steps) > 0 && r.log.Steps[0].Number < s.Number {
			needed[s.Segment] = true
		}
	}
	return r.eachName("journal", func(e entry) error {
		if journal.ValidSegment(e.name) && !needed[e.name] && !r.log.Broken[e.name] {
			if !r.isSure(e.name) {
				return errIndex
			}
			r.dead[e.name] = true
		}
		return nil
	})
}
