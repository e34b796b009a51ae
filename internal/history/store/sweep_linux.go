package store

import (
	"errors"
	"fmt"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// sweep removes what nothing refers to: objects, then the journals that are dead,
// then what is empty.
func (r *remover) sweep() error {
	var failed error // the first; the others go on
	keep, held := r.log.Objects(), r.log.LiveSegments()
	err := r.eachObject(func(o journal.Object, e entry) error {
		switch {
		case o == (journal.Object{}) || e.is.kind == journal.Dir:
			if !keep[o] {
				r.out.Left = append(r.out.Left, e.at)
			}
		case keep[o] || held[o.Segment] || r.log.Broken[o.Segment] || !r.isSure(o.Segment):
		default:
			if err := r.unlink(e, 0); err == nil {
				r.out.Freed.add(e.is)
			} else if failed == nil {
				failed = err
			}
		}
		return nil
	})
	if err == nil {
		err = r.sweepJournals()
	}
	return errors.Join(err, failed)
}

func (r *remover) unlink(e entry, flags int) error {
	if r.dry {
		return nil
	}
	if err := disk.UnlinkAt(e.dir, e.name, flags); err != nil {
		return fmt.Errorf("removing %q of the history: %w", e.at, err)
	}
	return nil
}

// sweepJournals removes dead journals. Only when they are gone from the disk is it
// forgotten that they are.
func (r *remover) sweepJournals() error {
	journals := make(map[string]bool)
	err := r.eachName("journal", func(e entry) error {
		if !r.dead[e.name] {
			journals[e.name] = true
			return nil
		}
		r.out.Freed.Disk += e.is.disk
		if !r.dry {
			r.MarkClosed(e.name)
		}
		return r.unlink(e, 0)
	})
	if err != nil || r.dry {
		return err
	}
	err = r.eachName("objects", func(e entry) error {
		if journals[e.name] || e.is.kind != journal.Dir || !journal.ValidSegment(e.name) {
			return nil
		}
		err := r.unlink(e, unix.AT_REMOVEDIR)
		if errors.Is(err, unix.ENOTEMPTY) {
			return nil
		}
		return err
	})
	if err != nil || r.gone == nil || len(r.gone.whole) == 0 && len(r.gone.steps) == 0 {
		return err
	}
	if err := r.SyncDirectory("journal"); err != nil {
		return err
	}
	before := len(r.gone.whole) + len(r.gone.steps)
	for name := range r.gone.whole {
		if !journals[name] {
			delete(r.gone.whole, name)
		}
	}
	for name := range r.gone.steps {
		if !journals[name] {
			delete(r.gone.steps, name)
		}
	}
	if len(r.gone.whole)+len(r.gone.steps) == before {
		return nil
	}
	return r.writeDiscards(r.gone)
}
