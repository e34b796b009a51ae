package broker

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// draft is what callers write of a file whose content is judged. They have a file in
// memory, without a name. Once none of them can write to it any more its content is
// vetted, and goes to the file. Until then that holds what it held before; who opens it in
// the moment between waits, as the broker holds a lease on it.
type draft struct {
	change  Change
	verdict Verdict
	place   int // the file, open for reading and writing
	text    int // what was written, open for reading
	in      Inode
	was     unix.Stat_t // of place when it began
	leased  bool        // place is: who opens it waits for the broker
}

// drafts are those of a broker. The goroutine that looks after them is there as long as
// there are any.
type drafts struct {
	mu    sync.Mutex
	open  []*draft
	pause time.Duration
	stuck int // how often in a row something was moving
}

// maxDrafts bounds those of a broker: each takes two descriptors.
const maxDrafts = 100

// How often drafts are looked at: soon after they began, and then more seldom.
const (
	draftSoon   = 100 * time.Microsecond
	draftSeldom = 10 * time.Millisecond
	maxStuck    = 4
)

// again gives the caller the draft that there is of a file, number -1 where there is none.
func (s *drafts) again(w *worker, r *request, ch *Change) (handed, error) {
	in := Inode{ch.Was.Dev, ch.Was.Ino}
	if ch.Was.Kind == KindNone {
		var st unix.Stat_t
		if err := unix.Fstat(ch.Pinned, &st); err != nil {
			return handed{number: -1}, err
		}
		in = Inode{st.Dev, st.Ino}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.open, func(d *draft) bool { return d.in == in })
	if i < 0 {
		return handed{number: -1}, nil
	}
	s.pause = draftSoon
	return s.open[i].give(w, r, s.open[i].text)
}

// begin makes a draft of d.place, and gives it to the caller. It closes that where it
// fails; undo, nil for a file that was there, then takes the file back.
func (s *drafts) begin(w *worker, r *request, d *draft, undo func()) (handed, error) {
	got, err := s.started(w, r, d, undo == nil)
	if err != nil {
		if undo != nil {
			undo()
		}
		unix.Close(d.place)
		return handed{number: -1}, err
	}
	return got, nil
}

func (s *drafts) started(w *worker, r *request, d *draft, was bool) (got handed, err error) {
	if err := unix.Fstat(d.place, &d.was); err != nil {
		return got, err
	}
	d.in = Inode{d.was.Dev, d.was.Ino}
	memory, err := w.withRoom(func() (int, error) { return unix.MemfdCreate("carrel", unix.MFD_CLOEXEC) })
	if err != nil {
		return got, err
	}
	defer unix.Close(memory)
	if was && r.flags&unix.O_TRUNC == 0 {
		text, err := read(d.place)
		if err == nil {
			_, err = unix.Pwrite(memory, text, 0)
		}
		if err != nil {
			return got, err
		}
	}
	if err := setModified(memory, d.was.Mtim); err != nil {
		return got, err
	}
	if d.text, err = w.withRoom(func() (int, error) {
		return unix.Openat(w.b.self, strconv.Itoa(memory), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}); err != nil {
		return got, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxDrafts {
		err = unix.ENFILE
	} else if got, err = d.give(w, r, memory); err == nil {
		err = unix.Fchmod(memory, d.was.Mode&0o777)
	}
	if err != nil {
		unix.Close(d.text)
		return got, err
	}
	_, err = unix.FcntlInt(uintptr(d.place), unix.F_SETLEASE, unix.F_WRLCK)
	d.leased = err == nil // a file system without leases: who looks in that moment sees the file as it was
	d.change.Dir, d.change.ToDir, d.change.Pinned, d.change.Memo, d.change.Wait = -1, -1, 0, nil, nil
	s.pause = draftSoon
	if s.open = append(s.open, d); len(s.open) == 1 {
		go s.look(w.b)
	}
	return got, nil
}

// give opens the text for the caller, as it asked for the file.
func (d *draft) give(w *worker, r *request, of int) (handed, error) {
	flags := r.flags&^(creating|unix.O_NOFOLLOW|unix.O_DIRECT) | unix.O_CLOEXEC
	fd, err := w.withRoom(func() (int, error) { return unix.Openat(w.b.self, strconv.Itoa(of), flags, 0) })
	if err != nil {
		return handed{number: -1}, err
	}
	defer unix.Close(fd)
	n, err := w.trap.AddFD(w.call.ID, fd, r.flags&unix.O_CLOEXEC)
	if err != nil {
		return handed{number: -1}, err
	}
	got := handed{number: int64(n)}
	if r.flags&unix.O_TRUNC != 0 && r.flags&unix.O_ACCMODE != unix.O_ACCMODE {
		got.cut = unix.Ftruncate(fd, 0)
	}
	return got, nil
}

// look settles drafts until there are none.
func (s *drafts) look(b *Broker) {
	for {
		s.mu.Lock()
		held := b.gate.shut()
		quiet := !held && b.still.TryRLock() // else something moves
		if quiet {
			s.open = slices.DeleteFunc(s.open, func(d *draft) bool { return d.settled(b) })
			b.still.RUnlock()
		}
		if s.stuck++; quiet {
			s.stuck = 0
		}
		if quiet || held || s.stuck > maxStuck { // who moves something may be one that waits
			for _, d := range s.open {
				d.letIn()
			}
		}
		s.pause = min(2*s.pause, draftSeldom)
		pause, over := s.pause, len(s.open) == 0
		s.mu.Unlock()
		if over {
			return
		}
		time.Sleep(pause)
	}
}

// end settles all drafts: nobody is left to write.
func (s *drafts) end(b *Broker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.open {
		d.put(b)
	}
	s.open = nil
}

// settled puts the text of a draft into its file, unless somebody can still write to it.
func (d *draft) settled(b *Broker) bool {
	if _, err := unix.FcntlInt(uintptr(d.text), unix.F_SETLEASE, unix.F_RDLCK); err == unix.EAGAIN {
		return false
	}
	d.put(b)
	return true
}

// letIn gives a lease back that somebody waits for.
func (d *draft) letIn() {
	if !d.leased {
		return
	}
	if kind, err := unix.FcntlInt(uintptr(d.place), unix.F_GETLEASE, 0); err != nil || kind != unix.F_WRLCK {
		_, _ = unix.FcntlInt(uintptr(d.place), unix.F_SETLEASE, unix.F_UNLCK)
		d.leased = false
	}
}

// put ends a draft: what was written is in the file then, or was refused.
func (d *draft) put(b *Broker) {
	defer unix.Close(d.place)
	defer unix.Close(d.text)
	err := d.vet()
	if err == nil {
		return
	}
	v := d.verdict
	v.Allowed, v.Vet, v.Rule = false, nil, v.Rule+": "+err.Error()
	if b.config.Refused != nil {
		b.config.Refused(&d.change, v)
	}
}

func (d *draft) vet() error {
	after, err := read(d.text)
	if err != nil {
		return err
	}
	before, err := read(d.place)
	if err != nil {
		return err
	}
	if err := d.verdict.Vet(before, after); err != nil {
		return err
	}
	if !bytes.Equal(before, after) {
		if _, err := unix.Pwrite(d.place, after, 0); err != nil {
			return err
		}
		if err := unix.Ftruncate(d.place, int64(len(after))); err != nil {
			return err
		}
	}
	var st unix.Stat_t
	if err := unix.Fstat(d.text, &st); err != nil {
		return err
	}
	if mode := st.Mode & 0o777; mode != d.was.Mode&0o777 {
		if err := unix.Fchmod(d.place, mode); err != nil {
			return err
		}
	}
	if st.Mtim == d.was.Mtim {
		return nil
	}
	return setModified(d.place, st.Mtim)
}

// setModified sets when an open file was changed.
func setModified(fd int, t unix.Timespec) error {
	return unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), []unix.Timespec{{Nsec: unix.UTIME_OMIT}, t}, 0)
}

// read gives what an open file holds.
func read(fd int) ([]byte, error) {
	data, err := io.ReadAll(io.NewSectionReader(opened(fd), 0, maxVetted+1))
	if err == nil && len(data) > maxVetted {
		err = errTooLong
	}
	return data, err
}

// opened reads a file without moving its offset.
type opened int

// ReadAt implements [io.ReaderAt].
func (fd opened) ReadAt(p []byte, off int64) (int, error) {
	n, err := unix.Pread(int(fd), p, off)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return max(n, 0), err
}
