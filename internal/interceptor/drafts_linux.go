package interceptor

import (
	"bytes"
	"cmp"
	"sync"

	"carrel/internal/broker"
	"carrel/internal/broker/judged"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// maxDrafts bounds those of a server, and maxDraft one where the verdict says nothing, in bytes.
const (
	maxDrafts = 100
	maxDraft  = 1 << 20
)

// draft is what the other side writes of a file that is judged by its content. It is in memory, and
// is what everybody there sees. With each close it is vetted and put into the file, if it
// may be there; what is refused when no descriptor can write to it any more is gone.
type draft struct {
	is      inode
	change  broker.Change
	verdict broker.Verdict
	place   int // the file, open for reading and writing
	text    int // what was written
	dir     int // of a file that was made for the draft, -1 for one that was there or that may stay
	was     unix.Timespec
	writers int
}

// drafts are those of a server.
type drafts struct {
	mu sync.Mutex
	of map[inode]*draft
}

func (t *drafts) get(is inode) *draft {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[is]
}

// most bounds what a draft may hold.
func (d *draft) most() int64 { return cmp.Or(d.verdict.Most, maxDraft) }

// show puts what a draft holds over what is told of its file.
func (t *drafts) show(is inode, out *fuse.Attr) {
	d := t.get(is)
	var st unix.Stat_t
	if d == nil || unix.Fstat(d.text, &st) != nil {
		return
	}
	out.Size, out.Blocks = uint64(st.Size), uint64(st.Blocks)
	out.Mtime, out.Mtimensec = uint64(st.Mtim.Sec), uint32(st.Mtim.Nsec)
}

// handle gives a handle of the draft that there is of a file, nil where there is none.
func (t *drafts) handle(n *node, is inode, writes bool) (*handle, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.of[is]
	if d == nil {
		return nil, nil
	}
	fd, err := unix.FcntlInt(uintptr(d.text), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	h := &handle{fd: fd, node: n, writes: writes}
	if writes {
		h.draft = d
		d.writers++
	}
	return h, nil
}

// begin makes a draft of an open file, which it closes where it fails.
func (t *drafts) begin(d *draft) (err error) {
	var st unix.Statx_t
	d.text = -1
	defer func() {
		if err != nil {
			d.takeBack()
			d.close()
		}
	}()
	if err = unix.Statx(d.place, "", unix.AT_EMPTY_PATH, seen, &st); err != nil {
		return err
	}
	d.is, d.was = inodeOf(&st), unix.Timespec{Sec: st.Mtime.Sec, Nsec: int64(st.Mtime.Nsec)}
	text, err := judged.Read(d.place, d.verdict.Most)
	if err != nil {
		return unix.EFBIG
	}
	if d.text, err = inMemory(text); err != nil {
		return err
	}
	if err = judged.SetModified(d.text, d.was); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.of) >= maxDrafts {
		return unix.ENFILE
	}
	if t.of == nil {
		t.of = make(map[inode]*draft)
	}
	t.of[d.is] = d
	return nil
}

// inMemory makes a file that is nowhere but in memory.
func inMemory(text []byte) (int, error) {
	fd, err := unix.MemfdCreate("carrel", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if _, err := unix.Pwrite(fd, text, 0); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// draft opens what is judged for writing. made says that the change makes the file.
func (a *act) draft(n *node, ch *broker.Change, v broker.Verdict, made bool, open func() (int, error)) (*handle, error) {
	if !made {
		if h, err := a.s.drafts.handle(n, n.is, true); h != nil || err != nil {
			return h, err
		}
	}
	var d *draft
	err := a.carryOut(ch, func() error {
		place, err := open()
		if err != nil {
			ch.Unopened = true
			return err
		}
		d = &draft{verdict: v, place: place, dir: -1}
		if made {
			if d.dir, err = unix.FcntlInt(uintptr(ch.Dir), unix.F_DUPFD_CLOEXEC, 0); err != nil {
				unix.Close(place)
				return err
			}
		}
		d.change = *ch
		return a.s.drafts.begin(d)
	})
	if err != nil {
		return nil, err
	}
	d.change.Dir, d.change.ToDir, d.change.Pinned, d.change.Memo, d.change.Wait = -1, -1, 0, nil, nil
	return a.s.drafts.handle(n, d.is, true)
}

// settle vets what a draft holds, and puts it into its file. Nothing else changes meanwhile.
// Before the last time nothing is done where nothing was written: a shell closes what it opens
// before a program writes to it, and an empty file can say something, too.
func (d *draft) settle(last bool) error {
	after, err := judged.Read(d.text, d.verdict.Most)
	if err != nil {
		return err
	}
	before, err := judged.Read(d.place, d.verdict.Most)
	if err != nil {
		return err
	}
	if !last && bytes.Equal(before, after) {
		return nil
	}
	if err := d.verdict.Vet(before, after); err != nil {
		return err
	}
	if d.dir >= 0 { // it stays
		unix.Close(d.dir)
		d.dir = -1
	}
	if bytes.Equal(before, after) {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(d.place, &st); err != nil {
		return err
	}
	// Whatever stops us on the way, there is no more than a beginning of what was vetted.
	if err := unix.Ftruncate(d.place, 0); err != nil {
		return err
	}
	if n, err := unix.Pwrite(d.place, after, 0); err != nil || n < len(after) {
		_ = unix.Ftruncate(d.place, 0)
		return cmp.Or(err, error(unix.ENOSPC))
	}
	if st.Mtim != d.was { // a request has set it
		return judged.SetModified(d.place, st.Mtim)
	}
	if err := unix.Fstat(d.place, &st); err != nil {
		return err
	}
	d.was = st.Mtim
	return nil
}

// flushed settles the draft of a handle that is closed somewhere; it may be open elsewhere.
func (s *Server) flushed(number uint64) fuse.Status {
	h, done, err := s.opened.use(number, false)
	if err != nil {
		return status(err)
	}
	defer done()
	if h.draft == nil {
		return fuse.OK
	}
	return s.acting(0, true, func(*act) error {
		if h.draft.settle(false) != nil {
			return unix.EACCES // told when no writer goes on
		}
		return nil
	})
}

// released ends the draft of a handle if it was the last that could write to it.
func (s *Server) released(d *draft) {
	s.acting(0, true, func(a *act) error {
		s.drafts.mu.Lock()
		d.writers--
		last := d.writers == 0
		if last {
			delete(s.drafts.of, d.is)
		}
		s.drafts.mu.Unlock()
		if last {
			a.end(d)
		}
		return nil
	})
}

// end ends a draft: what was written is in the file then, or was refused.
func (a *act) end(d *draft) {
	defer d.close()
	defer a.s.forgotten(d.is)
	if err := d.settle(true); err != nil {
		d.takeBack()
		v := d.verdict
		v.Allowed, v.Vet, v.Rule = false, nil, v.Rule+": "+err.Error()
		_ = a.refuse(&d.change, v)
	}
}

// endAll ends all drafts: no writer is left.
func (s *Server) endAll() {
	s.drafts.mu.Lock()
	defer s.drafts.mu.Unlock()
	for _, d := range s.drafts.of {
		(&act{s: s}).end(d)
	}
	s.drafts.of = nil
}

// takeBack removes the file that was made for a draft, if it still has its name.
func (d *draft) takeBack() {
	if d.dir < 0 {
		return
	}
	is, err := lookAt(d.dir, d.change.Name)
	if err == nil && inodeOf(&is) == d.is {
		_ = unix.Unlinkat(d.dir, d.change.Name, 0)
	}
}

func (d *draft) close() {
	for _, fd := range []int{d.place, d.text, d.dir} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
