package broker

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/broker/judged"

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
	made    int // the directory of a file that was made for the draft, -1 for one that was there
	in      Inode
	was     unix.Stat_t // of place when it began
	lease   lease
	waited  time.Time // since when a process has waited for place; zero for none
}

// lease says what the broker holds on the file of a draft.
type lease uint8

const (
	leaseNone  lease = iota // a process has it open: the broker gets one when none has
	leaseHeld               // who opens it waits for the broker
	leaseNever              // the file system has none
)

// drafts are those of a broker. Two goroutines look after them as long as there are any.
type drafts struct {
	mu                sync.Mutex
	open              []*draft
	some              atomic.Bool // len(open) > 0
	looking, watching bool
	pause             time.Duration
}

// maxDrafts bounds those of a broker: each takes two descriptors.
const maxDrafts = 100

// How often drafts are looked at: soon after they began, and then more seldom. Who waits
// for a file is let in after draftPatience, whatever goes on; at the end of the broker it
// waits that long for who reads a file.
const (
	draftSoon     = 100 * time.Microsecond
	draftSeldom   = 10 * time.Millisecond
	draftPatience = 200 * time.Millisecond
)

// letIn gives back the leases of the files of a change.
func (b *Broker) letIn(ch *Change) {
	if !b.drafts.some.Load() {
		return
	}
	files := []Inode{{ch.Was.Dev, ch.Was.Ino}, {ch.WasTo.Dev, ch.WasTo.Ino}}
	var st unix.Stat_t
	if ch.Pinned > 0 && unix.Fstat(ch.Pinned, &st) == nil {
		files = append(files, Inode{st.Dev, st.Ino})
	}
	b.drafts.letIn(files...)
}

// again gives the caller the draft that there is of a file, number -1 where there is none.
func (s *drafts) again(w *pinner, r *request, ch *Change) (handed, error) {
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
// fails, and takes back a file that was made.
func (s *drafts) begin(w *pinner, r *request, d *draft) (handed, error) {
	if err := unix.Fstat(d.place, &d.was); err != nil {
		unix.Close(d.place)
		return handed{number: -1}, err
	}
	made := d.change.Op == OpCreate
	if d.made = -1; made {
		var err error
		if d.made, err = w.withRoom(func() (int, error) { return unix.FcntlInt(uintptr(d.change.Dir), unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
			unix.Close(d.place)
			return handed{number: -1}, err
		}
	}
	got, err := s.started(w, r, d, !made)
	if err != nil {
		d.takeBack()
		d.close()
		return handed{number: -1}, err
	}
	return got, nil
}

func (s *drafts) started(w *pinner, r *request, d *draft, was bool) (got handed, err error) {
	d.in = Inode{d.was.Dev, d.was.Ino}
	memory, err := w.withRoom(func() (int, error) { return unix.MemfdCreate("carrel", unix.MFD_CLOEXEC) })
	if err != nil {
		return got, err
	}
	defer unix.Close(memory)
	if was && r.flags&unix.O_TRUNC == 0 {
		text, err := judged.Read(d.place, d.verdict.Most)
		if err == nil {
			_, err = unix.Pwrite(memory, text, 0)
		}
		if err != nil {
			return got, err
		}
	}
	if err := judged.SetModified(memory, d.was.Mtim); err != nil {
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
	d.hold()
	d.change.Dir, d.change.ToDir, d.change.Pinned, d.change.Memo, d.change.Wait = -1, -1, 0, nil, nil
	s.pause = draftSoon
	s.some.Store(true)
	s.open = append(s.open, d)
	if !s.looking {
		s.looking = true
		go s.look(w.b)
	}
	if !s.watching {
		s.watching = true
		go s.watch()
	}
	return got, nil
}

// give opens the text for the caller, as it asked for the file.
func (d *draft) give(w *pinner, r *request, of int) (handed, error) {
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
	switch {
	case r.flags&unix.O_TRUNC == 0 || r.flags&unix.O_ACCMODE == unix.O_ACCMODE:
	case r.writes():
		got.cut = unix.Ftruncate(fd, 0)
	default:
		got.cut = unix.Truncate("/proc/self/fd/"+strconv.Itoa(fd), 0)
	}
	return got, nil
}

// look settles drafts until there are none.
func (s *drafts) look(b *Broker) {
	for {
		alone := b.still.TryLock() // else the call that is under way settles them, or the next one
		s.mu.Lock()
		held := b.gate.shut()
		if alone && !held {
			s.open = slices.DeleteFunc(s.open, func(d *draft) bool { return d.settled(b) })
		}
		for _, d := range s.open {
			if d.hold(); d.wanted() && (held || d.written()) {
				d.letIn()
			}
		}
		s.pause = min(2*s.pause, draftSeldom)
		pause, some := s.pause, len(s.open) > 0
		s.some.Store(some)
		s.looking = some
		s.mu.Unlock()
		if alone {
			b.still.Unlock()
		}
		if !some {
			return
		}
		time.Sleep(pause)
	}
}

// watch lets in who has waited too long: what moves may be what waits.
func (s *drafts) watch() {
	for {
		time.Sleep(draftSeldom)
		s.mu.Lock()
		for _, d := range s.open {
			if d.wanted() && time.Since(d.waited) > draftPatience {
				d.letIn()
			}
		}
		s.watching = len(s.open) > 0
		some := s.watching
		s.mu.Unlock()
		if !some {
			return
		}
	}
}

// settle settles what no process writes to any more. It is done before each call: a program
// that goes on after it has closed a file finds all of it there, also its size. No other
// call is under way: what one was decided by must not change before it acts, and what a
// draft is vetted by must not change before it is in its file.
func (s *drafts) settle(b *Broker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(d *draft) bool { return d.settled(b) })
}

// letIn gives back the leases of files that are about to be looked at by the broker
// itself, of all with no file named.
func (s *drafts) letIn(files ...Inode) {
	if !s.some.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.open {
		if len(files) == 0 || slices.Contains(files, d.in) {
			d.letIn()
		}
	}
}

// end settles all drafts: no process is left to write.
func (s *drafts) end(b *Broker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for began := time.Now(); len(s.open) > 0; time.Sleep(time.Millisecond) {
		over := time.Since(began) > draftPatience
		s.open = slices.DeleteFunc(s.open, func(d *draft) bool {
			if d.hold(); d.lease == leaseNone && !over {
				return false
			}
			d.put(b)
			return true
		})
	}
	s.some.Store(false)
}

// written says whether a process can still write to a draft.
func (d *draft) written() bool {
	_, err := unix.FcntlInt(uintptr(d.text), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(uintptr(d.text), unix.F_SETLEASE, unix.F_UNLCK) // it may be opened again
	}
	return err == unix.EAGAIN
}

// settled puts the text of a draft into its file, unless a process can still write to it,
// or has the file open: a reader would get some of what was there and some of the new.
func (d *draft) settled(b *Broker) bool {
	if d.written() {
		return false
	}
	if d.hold(); d.lease == leaseNone {
		return false
	}
	d.put(b)
	return true
}

// hold gets a lease where there is none, if no other process has the file open.
func (d *draft) hold() {
	if d.lease != leaseNone {
		return
	}
	switch _, err := unix.FcntlInt(uintptr(d.place), unix.F_SETLEASE, unix.F_WRLCK); err {
	case nil:
		d.lease = leaseHeld
	case unix.EAGAIN:
	default:
		d.lease = leaseNever
	}
}

// wanted says whether a process waits for the file.
func (d *draft) wanted() bool {
	if d.lease != leaseHeld {
		return false
	}
	if kind, err := unix.FcntlInt(uintptr(d.place), unix.F_GETLEASE, 0); err == nil && kind == unix.F_WRLCK {
		d.waited = time.Time{}
		return false
	}
	if d.waited.IsZero() {
		d.waited = time.Now()
	}
	return true
}

// letIn gives the lease back.
func (d *draft) letIn() {
	if d.lease == leaseHeld {
		_, _ = unix.FcntlInt(uintptr(d.place), unix.F_SETLEASE, unix.F_UNLCK)
		d.lease, d.waited = leaseNone, time.Time{}
	}
}

// put ends a draft: what was written is in the file then, or was refused. Of one that was
// made for it nothing is left: an empty file can say something, too.
func (d *draft) put(b *Broker) {
	defer d.close()
	defer unix.Close(d.text)
	err := d.vet()
	if err == nil {
		return
	}
	d.takeBack()
	v := d.verdict
	v.Allowed, v.Vet, v.Rule = false, nil, v.Rule+": "+err.Error()
	if b.config.Refused != nil {
		b.config.Refused(&d.change, v)
	}
}

// takeBack removes the file that was made for a draft, if it still has its name.
func (d *draft) takeBack() {
	if d.made >= 0 {
		takeBack(d.made, d.change.Name, d.place)
	}
}

func (d *draft) close() {
	unix.Close(d.place)
	if d.made >= 0 {
		unix.Close(d.made)
	}
}

var errRead = errors.New("another program has it open all the time")

func (d *draft) vet() error {
	if d.lease == leaseNone {
		return errRead
	}
	after, err := judged.Read(d.text, d.verdict.Most)
	if err != nil {
		return err
	}
	before, err := judged.Read(d.place, d.verdict.Most)
	if err != nil {
		return err
	}
	if err := d.verdict.Vet(before, after); err != nil {
		return err
	}
	if !bytes.Equal(before, after) {
		// Whatever stops us on the way, there is no more than a beginning of what was vetted.
		if err := unix.Ftruncate(d.place, 0); err != nil {
			return err
		}
		if n, err := unix.Pwrite(d.place, after, 0); err != nil || n < len(after) {
			_ = unix.Ftruncate(d.place, 0)
			return cmp.Or(err, error(unix.ENOSPC))
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
	return judged.SetModified(d.place, st.Mtim)
}
