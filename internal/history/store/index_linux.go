package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"

	"golang.org/x/sys/unix"
)

// What a step is called and comes to is known without reading all that it changed:
// a writer that closes its segment adds that to a file beside the journals, and so does
// the first survey that reads a segment. The file may be removed. A segment that has
// another size, time or inode than is said there is read again.

const (
	indexFile  = "index"
	indexHead  = "carrel index 2\n" // a file that begins with anything else is replaced
	formerFile = "heads"            // which versions before wrote
	maxIndex   = 256 << 20          // bytes of the file
	maxEntry   = 16 << 20           // bytes of what it says of one segment
	spareIndex = 16                 // entries of segments that are gone, beside as many as there are others
	usualEntry = 150                // bytes of what it says of a segment with one step
	maxLearned = 1 << 20            // bytes of a journal that its writer reads for the index
)

// Survey reads what there is to know of all steps, but what they changed only once
// somebody asks: then it is read from the journal, if that is there still; see
// [Log.Unreadable]. The plans of undos that are over are left out: who asks what
// became of objects wants Read.
func (s *Store) Survey() (*Log, error) {
	l, _, err := s.survey()
	return l, err
}

func (s *Store) survey() (*Log, *index, error) {
	x := s.readIndex()
	l, err := s.readAll(x)
	if err == nil {
		x.write(s)
	}
	return l, x, err
}

// errIndex says that the index contradicts a journal.
var errIndex = errors.New("the index of the history is wrong")

// dropIndex removes the file: the next survey makes it from the journals.
func (s *place) dropIndex() error {
	if err := disk.UnlinkAt(s.fd, indexFile, 0); err != nil && err != unix.ENOENT {
		return fmt.Errorf("%w and cannot be removed: %w", errIndex, err)
	}
	return nil
}

// index is the file while it is read, and what is to be added to it.
type index struct {
	of      map[string]string // entries by segment
	entries int               // in the file
	journal int               // the directory, -1 where it cannot be opened
	used    map[string]bool   // segments whose entries count
	learned []byte            // entries for the file
	rewrite bool              // something in the file is wrong
}

// readIndex takes what it can: the file may be anybody's old one.
func (s *place) readIndex() *index {
	x := &index{of: make(map[string]string), used: make(map[string]bool), journal: -1, rewrite: true}
	f, err := s.file(indexFile, os.O_RDONLY)
	if err != nil {
		return x
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxIndex {
		return x
	}
	data := make([]byte, st.Size())
	n, err := io.ReadFull(f, data)
	if err != nil {
		return x
	}
	text, ours := strings.CutPrefix(string(data[:n]), indexHead)
	if !ours {
		return x
	}
	data = data[len(indexHead):]
	x.of = make(map[string]string, len(data)/usualEntry)
	for len(text) > 0 {
		whole := journal.FrameBytes + len(journal.Frame(data, maxEntry))
		if whole == journal.FrameBytes {
			return x
		}
		entry := text[journal.FrameBytes:whole]
		data, text = data[whole:], text[whole:]
		segment, ok := steplog.EntrySegment(entry)
		if !ok {
			return x
		}
		x.of[segment] = entry
		x.entries++
	}
	x.rewrite = false
	return x
}

// take adds the steps of a segment to a log, if it is the one that was read.
func (x *index) take(s *Store, l *Log, name string) bool {
	entry, known := x.of[name]
	var st unix.Stat_t
	if !known || x.journal < 0 || unix.Fstatat(x.journal, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	is, steps, ok := steplog.ReadEntry(entry)
	if !ok || is.Size != st.Size || is.Mtime != st.Mtim.Nano() || is.Inode != st.Ino || st.Mode&unix.S_IFMT != unix.S_IFREG {
		x.rewrite = true
		return false
	}
	l.Stamp, l.Number = max(l.Stamp, is.Stamp), max(l.Number, is.Number)
	for _, step := range steps {
		step.Unread = s.reader(l, step)
	}
	l.Steps = append(l.Steps, steps...)
	x.used[name] = true
	return true
}

// learn takes over what was read of a segment, if nothing more will come. What its
// steps changed is let go of.
func (x *index) learn(seg *steplog.Segment, l *Log, s *Store, is steplog.SegmentState) {
	entry := seg.Entry(is)
	if entry == nil || len(entry) > maxEntry {
		return
	}
	seg.LetGo(func(st *steplog.Step) func() error { return s.reader(l, st) })
	x.learned = journal.AppendFrame(x.learned, entry)
}

// confirms reports whether the entry of a segment that was believed is what the journal
// gives now. A segment that was read itself needs none.
func (x *index) confirms(s *Store, name string) bool {
	if !x.used[name] {
		return true
	}
	fresh, l := &index{}, &Log{Log: steplog.New(0)}
	err := l.segment(s, name, fresh)
	return err == nil && string(fresh.learned) == string(journal.AppendFrame(nil, []byte(x.of[name])))
}

// IndexSegment adds a segment to the file, once its writer has closed it. A long one is left to
// the next survey.
func (s *Store) IndexSegment(name string) {
	if size, err := s.SegmentSize(name); err != nil || size > maxLearned {
		return
	}
	x, l := &index{}, &Log{Log: steplog.New(0)}
	if l.segment(s, name, x) == nil && len(x.learned) > 0 {
		x.add(s)
	}
}

// add appends what was learned. Entries that two write at once are both there, and a
// part of one is seen by its checksum.
func (x *index) add(s *Store) {
	f, err := s.file(indexFile, os.O_WRONLY|os.O_APPEND)
	if errors.Is(err, os.ErrNotExist) {
		f, err = s.file(indexFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL)
		x.learned = append([]byte(indexHead), x.learned...)
	}
	if err == nil {
		_, _ = f.Write(x.learned)
		f.Close()
	}
}

// write adds what was learned to the file, or replaces it, where much of it counts no
// more. Where neither can be, the journals are read again.
func (x *index) write(s *Store) {
	x.rewrite = x.rewrite || x.entries > 2*len(x.used)+spareIndex
	if len(x.learned) == 0 && (!x.rewrite || x.entries == 0) {
		return
	}
	if !x.rewrite {
		x.add(s)
		return
	}
	out := []byte(indexHead)
	for _, name := range sortedKeys(x.used) {
		out = journal.AppendFrame(out, []byte(x.of[name]))
	}
	out = append(out, x.learned...)
	temp := indexFile + ".new" // two at once spoil it, which is seen
	f, err := s.file(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil || len(out) > maxIndex {
		return
	}
	_, err = f.Write(out)
	if err = errors.Join(err, f.Close()); err == nil {
		err = disk.RenameOver(s.fd, temp, s.fd, indexFile)
	}
	if err != nil {
		_ = disk.UnlinkAt(s.fd, temp, 0)
	}
	_ = disk.UnlinkAt(s.fd, formerFile, 0)
}

// reader gives what reads a step from its part of its segment.
func (s *place) reader(l *Log, st *steplog.Step) func() error {
	return l.Later(st, func() error {
		f, err := s.file("journal/"+st.Segment, os.O_RDONLY)
		if err != nil {
			return err
		}
		defer f.Close()
		is, err := stateOf(f)
		if err != nil {
			return errors.Join(err, errors.New("it is not what it was"))
		}
		return st.Reread(f, is.Size, renumbered)
	})
}

func stateOf(f *os.File) (steplog.SegmentState, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return steplog.SegmentState{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > maxSegment {
		return steplog.SegmentState{}, errors.New("no journal")
	}
	return steplog.SegmentState{Size: st.Size, Mtime: st.Mtim.Nano(), Inode: st.Ino}, nil
}
