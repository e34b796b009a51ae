package store

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// EstimateAt is [Store.Estimate] of the store in a directory, which is not opened for
// that and need not be of this version.
func EstimateAt(dir string) (Size, error) {
	f, err := os.OpenFile(filepath.Join(dir, "counters"), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return Size{}, err
	}
	defer f.Close()
	var page [4 * 8]byte
	if _, err := f.ReadAt(page[:], 0); err != nil {
		return Size{}, fmt.Errorf("reading %q: %w", f.Name(), err)
	}
	counter := func(i int) int64 { return int64(binary.NativeEndian.Uint64(page[8*i:])) }
	return Size{max(0, counter(2)), max(0, counter(1)-counter(3))}, nil
}

// Recount counts the bytes of the disk that the store takes, and corrects its estimate.
// No journal is read for that.
func (s *Store) Recount() (Size, error) {
	var all Share
	var journals int64
	err := s.eachObject(func(_ journal.Object, e entry) error {
		all.add(e.is)
		return nil
	})
	if err == nil {
		err = s.eachName("journal", func(e entry) error {
			journals += e.is.disk
			return nil
		})
	}
	if err != nil {
		return Size{}, err
	}
	err = s.mappedCounters(func() { s.counters[2].Store(uint64(all.Disk + journals)) })
	if err != nil {
		return Size{}, err
	}
	return s.Estimate()
}

// Usage says where the bytes of the store are. While somebody writes it is what
// was found in passing.
func (s *Store) Usage(l *Log) (*Usage, error) {
	families := l.Families()
	u := &Usage{Steps: make([]StepShare, len(families)), Limits: s.limits}
	owner := make(map[journal.Object]*StepShare)
	for i, f := range families {
		mine := &u.Steps[i]
		mine.Family = f
		for _, step := range f.Steps {
			step.References(func(o journal.Object) {
				if of, ok := owner[o]; ok && of != mine {
					owner[o] = nil // of several: discarding one frees nothing
				} else {
					owner[o] = mine
				}
			})
		}
	}
	live := l.LiveSegments()
	err := s.eachObject(func(o journal.Object, e entry) error {
		u.All.add(e.is)
		if of, ok := owner[o]; of != nil {
			of.add(e.is)
		} else if !ok && !live[o.Segment] {
			u.Unreferenced.add(e.is)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = s.eachName("journal", func(e entry) error {
		u.Journals += e.is.disk
		return nil
	})
	return u, err
}

// weights gives what every family comes to in the budget. What may not go is
// fixed: the newest, and what is not over.
func (u *Usage) weights(l *Log) []weight {
	newest := make(map[uint64]bool)
	if changes := l.Changes(); len(changes) > 0 {
		newest[changes[len(changes)-1].Number] = true
	}
	if len(l.Steps) > 0 {
		newest[l.Steps[len(l.Steps)-1].Number] = true
	}
	out := make([]weight, 0, len(u.Steps))
	for i := range u.Steps {
		s := &u.Steps[i]
		w := weight{family: s.Family, bytes: s.Disk, empty: true, run: s.Steps[0].Begin.Run}
		for _, step := range s.Steps {
			w.empty = w.empty && step.Empty()
			w.fixed = w.fixed || step.Live || step.Open() || newest[step.Number]
		}
		out = append(out, w)
	}
	return out
}
