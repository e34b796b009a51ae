package history

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Bounds of what is read.
const (
	maxSegment = 4 << 30 // bytes of one journal
	readAhead  = 1 << 20
)

// Read reads all journals.
func (s *Store) Read() (*Log, error) {
	names, err := filepath.Glob(filepath.Join(s.path, "journal") + "/*")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	l := &Log{}
	for _, name := range names {
		if err := l.segment(filepath.Base(name), name); err != nil {
			l.Damaged = append(l.Damaged, fmt.Sprintf("%s: %v", filepath.Base(name), err))
		}
	}
	l.Steps = slices.DeleteFunc(l.Steps, func(s *Step) bool { return s.End != nil && s.End.Aborted })
	slices.SortStableFunc(l.Steps, func(a, b *Step) int { return cmp.Compare(a.Number, b.Number) })
	l.link()
	s.atLeast(l.stamp, l.number)
	return l, nil
}

// ReadSegment reads one journal alone: the steps that one writer made, and not
// what became of them later.
func (s *Store) ReadSegment(name string) (*Log, error) {
	l := &Log{}
	err := l.segment(name, filepath.Join(s.path, "journal", filepath.Base(name)))
	return l, err
}

// Newest is the number that was given last in this store.
func (s *Store) Newest() uint64 { return s.counters[1].Load() }

// segment reads one journal. What follows the last whole record is what a crash
// left, or zeros that a writer has mapped.
func (l *Log) segment(name, path string) error {
	if !validSegment(name) {
		return errors.New("no name of a segment")
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openNoFollow, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() || st.Size() > maxSegment {
		return errors.New("no journal")
	}
	live := writing(f)
	steps := make(map[uint64]*Step)
	var buf []byte
	var whole int64
	defer func() {
		for _, st := range steps {
			st.whole = whole
		}
	}()
	for {
		r, n := decode(buf)
		if n == 0 {
			more := make([]byte, len(buf), len(buf)+readAhead)
			copy(more, buf)
			got, err := io.ReadFull(f, more[len(buf):cap(more)])
			if got == 0 {
				if err != io.EOF && err != io.ErrUnexpectedEOF {
					return err
				}
				if !live && len(bytes.TrimRight(buf, "\x00")) > 0 {
					return errors.New("its end is unreadable")
				}
				return nil
			}
			buf = more[:len(buf)+got]
			continue
		}
		buf = buf[n:]
		whole += int64(n)
		l.stamp, l.number = max(l.stamp, r.Stamp), max(l.number, r.Step)
		st := steps[r.Step]
		if st == nil {
			if r.Begin == nil {
				continue
			}
			st = &Step{Number: r.Step, Segment: name, Live: live, stamp: r.Stamp, pre: make(map[string]int)}
			steps[r.Step] = st
			l.Steps = append(l.Steps, st)
		}
		st.add(r)
	}
}
