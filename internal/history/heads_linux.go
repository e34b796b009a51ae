package history

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// What a step is called and comes to is known without reading all that it changed:
// once a segment that is closed has been read, that is kept beside the journals, in
// a file that anybody may remove. A segment that has another size or time than is
// said there is read again.

const (
	headsFile = "heads"
	maxHeads  = 256 << 20 // bytes of the file
)

// Survey reads what there is to know of all steps, but what they changed only once
// somebody asks: then it is read from the journal, if that is there still; see
// [Log.Unreadable]. The plans of undos that are over are left out: who asks what
// objects are for wants Read.
func (s *Store) Survey() (*Log, error) {
	known := s.readHeads()
	l, err := s.readAll(known)
	if err == nil && known.news {
		known.write(s)
	}
	return l, err
}

// heads are the records of the file by segment.
type heads struct {
	of   map[string][]Record
	kept []Record // of segments that are there
	news bool
}

// readHeads takes what it can: the file may be anybody's old one.
func (s *Store) readHeads() *heads {
	h := &heads{of: make(map[string][]Record)}
	f, err := s.file(headsFile, os.O_RDONLY)
	if err != nil {
		return h
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxHeads {
		return h
	}
	j := &journal{from: f, left: st.Size()}
	for {
		r, skipped, err := j.next()
		if r == nil || err != nil {
			return h
		}
		if skipped || r.Head == nil || r.Begin == nil || r.End == nil || r.valid() != nil || !validSegment(r.Head.Segment) {
			return &heads{of: make(map[string][]Record)}
		}
		h.of[r.Head.Segment] = append(h.of[r.Head.Segment], *r)
	}
}

// take adds the steps of a segment to a log, if it is the one that was read.
func (h *heads) take(s *Store, l *Log, name string, size, mtime int64, inode uint64) bool {
	list := h.of[name]
	if len(list) == 0 {
		return false
	}
	for i := range list {
		c := list[i].Head
		if c.Size != size || c.Mtime != mtime || c.Inode != inode || c.Steps != len(list) || c.From < 0 || c.To > size || c.From > c.To || c.Stamp > maxNumber || c.Number > maxNumber {
			return false
		}
	}
	for i := range list {
		r, c := &list[i], list[i].Head
		l.stamp, l.number = max(l.stamp, c.Stamp), max(l.number, c.Number)
		st := &Step{
			Number: r.Step, Segment: name, Begin: *r.Begin, End: r.End, stamp: c.Begun, last: c.Last, counts: &c.Counts,
			pre: make(map[string]int), post: make(map[string]int),
		}
		st.unread = s.reader(l, st, c.From, c.To)
		l.Steps = append(l.Steps, st)
	}
	h.kept = append(h.kept, list...)
	return true
}

// learn takes over what was read of a segment, if nothing more will come. What its
// steps changed is let go of.
func (h *heads) learn(seg *segment, l *Log, s *Store, size, mtime int64, inode uint64) {
	for _, st := range seg.steps {
		if seg.live || seg.damaged != nil || st.End == nil || st.End.Aborted && len(st.posts) > 0 {
			return
		}
	}
	for _, st := range seg.steps {
		counts := st.Counts()
		begin, end := st.Begin, *st.End
		h.kept = append(h.kept, Record{Stamp: st.stamp, Step: st.Number, Begin: &begin, End: &end, Head: &head{
			Segment: seg.name, Size: size, Mtime: mtime, Inode: inode, Steps: len(seg.steps), Stamp: seg.stamp, Number: seg.number,
			Begun: st.stamp, Last: st.last, From: st.from, To: st.to, Counts: counts,
		}})
		st.counts, st.unread = &counts, s.reader(l, st, st.from, st.to)
		st.pres, st.posts, st.beyond, st.between, st.plan, st.first, st.pre, st.post = nil, nil, nil, nil, nil, nil, make(map[string]int), make(map[string]int)
		h.news = true
	}
}

// write replaces the file; where that cannot be, the journals are read again.
func (h *heads) write(s *Store) {
	var out []byte
	var err error
	for i := range h.kept {
		if out, err = encode(out, &h.kept[i]); err != nil || len(out) > maxHeads {
			return
		}
	}
	temp := headsFile + ".new" // two at once spoil it, which is seen
	f, err := s.file(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return
	}
	_, err = f.Write(out)
	if err = errors.Join(err, f.Close()); err == nil {
		err = renameOver(s.fd, temp, s.fd, headsFile)
	}
	if err != nil {
		_ = unlinkAt(s.fd, temp, 0)
	}
}

// reader gives what reads a step from a part of its segment.
func (s *Store) reader(l *Log, st *Step, from, to int64) func() error {
	return func() error {
		err := s.readStep(st, from, to)
		if err != nil {
			err = fmt.Errorf("the journal %s of step %d cannot be read: %w", st.Segment, st.Number, err)
			l.unreadable = errors.Join(l.unreadable, err)
		}
		l.movedBack(st)
		return err
	}
}

func (s *Store) readStep(st *Step, from, to int64) error {
	f, err := s.file("journal/"+st.Segment, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if size, _, _, err := sizeOf(f); err != nil || size < to {
		return errors.Join(err, errors.New("it is not what it was"))
	}
	begin, end := st.Begin, st.End // some of which is what others made of it
	defer func() { st.Begin, st.End = begin, end }()
	j := &journal{from: io.NewSectionReader(f, from, to-from), left: to - from}
	for {
		r, skipped, err := j.next()
		if err == nil && skipped {
			err = fmt.Errorf("there is something else before byte %d", from+j.at)
		}
		if err == nil && r != nil {
			err = r.valid()
		} else if err == nil && from+j.at < to {
			err = fmt.Errorf("nothing can be read at byte %d", from+j.at)
		}
		if r == nil || err != nil {
			return err
		}
		if r.Step == st.Number && r.Do == nil && r.Ready == 0 { // the plan of an undo that is over is nobody's any more
			st.present(r)
			st.add(r)
		}
	}
}

// sizeOf gives what tells one state of a file from another.
func sizeOf(f *os.File) (size, mtime int64, inode uint64, err error) {
	var st unix.Stat_t
	if err = unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0, 0, 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > maxSegment {
		return 0, 0, 0, errors.New("no journal")
	}
	return st.Size, st.Mtim.Nano(), st.Ino, nil
}
