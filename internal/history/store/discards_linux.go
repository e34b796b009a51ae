package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
)

// discards says which steps are gone, though a journal may still tell of them. The
// file is replaced as a whole before anything that such a step kept is removed.
type discards struct {
	whole map[string]bool            // segments of which nothing counts any more
	steps map[string]map[uint64]bool // by segment
	// What numbers had been given by then: those of steps that are gone are not
	// given again, even if a crash of the machine takes the counters back.
	stamp, number uint64
}

const (
	discardsFile = "discarded"
	maxDiscards  = 64 << 20 // bytes of the file
	perDiscard   = 10_000   // steps in one record
)

var errDiscards = errors.New(discardsFile + ": it cannot be read, so steps that were discarded are listed again")

func newDiscards() *discards {
	return &discards{whole: make(map[string]bool), steps: make(map[string]map[uint64]bool)}
}

func (d *discards) has(segment string, step uint64) bool {
	return d.whole[segment] || d.steps[segment][step]
}

func (d *discards) add(s *steplog.Step) {
	if d.steps[s.Segment] == nil {
		d.steps[s.Segment] = make(map[uint64]bool)
	}
	d.steps[s.Segment][s.Number] = true
}

// readDiscards reads the file; with an error none are known.
func (s *place) readDiscards() (*discards, error) {
	d := newDiscards()
	f, err := s.file(discardsFile, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return d, errDiscards
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDiscards))
	if err != nil {
		return d, errDiscards
	}
	for len(data) > 0 {
		r, n := journal.Decode(data)
		if n == 0 || r.Discard == nil {
			return newDiscards(), errDiscards
		}
		data = data[n:]
		d.take(r)
	}
	return d, nil
}

func (d *discards) take(r *journal.Record) {
	d.stamp, d.number = max(d.stamp, r.Stamp), max(d.number, r.Step)
	if r.Discard.Whole {
		d.whole[r.Discard.Segment] = true
	}
	for _, n := range r.Discard.Steps {
		d.add(&steplog.Step{Segment: r.Discard.Segment, Number: n})
	}
}

// writeDiscards replaces the file; afterwards it is on the disk.
func (s *place) writeDiscards(d *discards) error {
	data, err := d.encode()
	if err != nil {
		return err
	}
	temp := discardsFile + ".new"
	err = s.writeSynced(temp, data)
	if err == nil {
		err = disk.RenameOver(s.fd, temp, s.fd, discardsFile)
	}
	if err == nil {
		err = disk.SyncFile(s.fd)
	}
	if err != nil {
		return fmt.Errorf("writing down what is discarded: %w", err)
	}
	return nil
}

func (d *discards) encode() ([]byte, error) {
	data, err := journal.Encode(nil, &journal.Record{Stamp: d.stamp, Step: d.number, Discard: &journal.Discard{}})
	for _, segment := range sortedKeys(d.whole) {
		if err == nil {
			data, err = journal.Encode(data, &journal.Record{Discard: &journal.Discard{Segment: segment, Whole: true}})
		}
	}
	for _, segment := range sortedKeys(d.steps) {
		for some := range slices.Chunk(sortedKeys(d.steps[segment]), perDiscard) {
			if err == nil {
				data, err = journal.Encode(data, &journal.Record{Discard: &journal.Discard{Segment: segment, Steps: some}})
			}
		}
	}
	if err == nil && len(data) >= maxDiscards {
		err = journal.ErrTooLarge
	}
	return data, err
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func (s *place) writeSynced(name string, data []byte) error {
	f, err := s.file(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, disk.SyncFile(int(f.Fd())), f.Close())
}
