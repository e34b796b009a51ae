package interceptor

import (
	"errors"
	"sync"
	"time"

	"carrel/internal/broker"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// handle is an open file or directory.
type handle struct {
	fd     int
	node   *node
	writes bool
	dir    bool
	draft  *draft     // that it writes to, nil for a file itself
	mu     sync.Mutex // of the position in a directory
	users  sync.RWMutex
	closed bool
}

// handles are those that are open.
type handles struct {
	mu   sync.Mutex
	open map[uint64]*handle
	next uint64
}

func (t *handles) add(h *handle) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = make(map[uint64]*handle)
	}
	if len(t.open) >= maxHandles {
		return 0, unix.ENFILE
	}
	t.next++
	t.open[t.next] = h
	return t.next, nil
}

// use gives a handle for one request, which has to call done.
func (t *handles) use(number uint64, dir bool) (h *handle, done func(), err error) {
	t.mu.Lock()
	h = t.open[number]
	t.mu.Unlock()
	if h == nil || h.dir != dir {
		return nil, nil, unix.EBADF
	}
	h.users.RLock()
	if h.closed {
		h.users.RUnlock()
		return nil, nil, unix.EBADF
	}
	return h, h.users.RUnlock, nil
}

func (t *handles) take(number uint64, dir bool) *handle {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.open[number]
	if h == nil || h.dir != dir {
		return nil
	}
	delete(t.open, number)
	return h
}

func (t *handles) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.open {
		h.close()
	}
	t.open = nil
}

// close closes the descriptor when no request uses it.
func (h *handle) close() {
	h.users.Lock()
	defer h.users.Unlock()
	if !h.closed {
		h.closed = true
		unix.Close(h.fd)
	}
}

// openFlags are those of an open that the host's kernel is to see.
func openFlags(flags uint32) int {
	return int(flags) & (unix.O_ACCMODE | unix.O_APPEND | unix.O_SYNC | unix.O_DSYNC)
}

func writes(flags uint32) bool { return flags&unix.O_ACCMODE != unix.O_RDONLY }

// Leases of the history last as long as a look at a file; another program's until the
// kernel breaks it (fs.lease-break-time, 45 s by default).
const (
	leasePause = time.Millisecond
	leaseLimit = time.Minute
)

// leased tries to open a file until no process has a lease on it.
func leased(open func() (int, error)) (int, error) {
	for began, pause := time.Now(), leasePause; ; pause = min(2*pause, 20*leasePause) {
		fd, err := open()
		if err != unix.EAGAIN || time.Since(began) > leaseLimit {
			return fd, err
		}
		time.Sleep(pause)
	}
}

// Open implements [fuse.RawFileSystem].
func (s fileCalls) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n := s.nodes.get(in.NodeId)
	if n == nil {
		return fuse.Status(unix.ESTALE)
	}
	if n.kind != unix.S_IFREG {
		return fuse.EACCES
	}
	if in.Flags&unix.O_ACCMODE == unix.O_ACCMODE {
		return fuse.EINVAL
	}
	if !writes(in.Flags) {
		return status(s.openForReading(n, in.Flags, out))
	}
	return s.acting(in.Pid, false, func(a *act) error {
		p, err := s.placeOf(n)
		if err != nil {
			return err
		}
		defer p.done()
		return a.openForWriting(n, p, in.Flags, out)
	})
}

func (s fileCalls) openForReading(n *node, flags uint32, out *fuse.OpenOut) error {
	p, err := s.placeOf(n)
	if err != nil {
		return err
	}
	defer p.done()
	if s.masked(p.path) {
		return unix.EACCES
	}
	if err := s.mayRead(p); err != nil {
		return err
	}
	if p.kept {
		out.OpenFlags |= fuse.FOPEN_KEEP_CACHE
	}
	if text := s.standIn(p.path); text != nil {
		fd, err := inMemory(text)
		if err != nil {
			return err
		}
		return s.hand(&handle{fd: fd, node: n}, out)
	}
	h, err := s.drafts.handle(n, n.is, false)
	if err == nil && h == nil {
		h = &handle{node: n}
		h.fd, err = leased(func() (int, error) { return p.open(openFlags(flags)) })
	}
	if err != nil {
		return err
	}
	return s.hand(h, out)
}

func (a *act) openForWriting(n *node, p *place, flags uint32, out *fuse.OpenOut) error {
	ch := p.changeOf(broker.OpOpen)
	if a.s.standIn(p.path) != nil { // a draft of it would have its content
		return a.refuse(&ch, broker.Verdict{Rule: "a part of its content is hidden: it cannot be written in place", Source: "built in"})
	}
	v, err := a.decide(&ch)
	if err != nil {
		return err
	}
	if !v.Allowed {
		return a.refuse(&ch, v)
	}
	if v.Vet != nil {
		h, err := a.draft(n, &ch, v, false, func() (int, error) { return leased(func() (int, error) { return p.open(unix.O_RDWR) }) })
		if err != nil {
			return err
		}
		return a.s.hand(h, out)
	}
	h := &handle{node: n, writes: true}
	err = a.carryOut(&ch, func() (err error) {
		h.fd, err = leased(func() (int, error) { return p.open(openFlags(flags)) })
		ch.Unopened = err != nil
		return err
	})
	if err != nil {
		return err
	}
	return a.s.hand(h, out)
}

// hand gives an open file to the other side.
func (s *Server) hand(h *handle, out *fuse.OpenOut) error {
	var err error
	if out.Fh, err = s.opened.add(h); err != nil {
		h.close()
		if h.draft != nil {
			s.drafts.mu.Lock()
			h.draft.writers-- // it ends with the others, or with the server
			s.drafts.mu.Unlock()
		}
	}
	if h.draft == nil {
		out.OpenFlags |= fuse.FOPEN_NOFLUSH // a close says nothing that the end does not
	}
	return err
}

// Create implements [fuse.RawFileSystem].
func (s fileCalls) Create(_ <-chan struct{}, in *fuse.CreateIn, called string, out *fuse.CreateOut) fuse.Status {
	if in.Flags&unix.O_ACCMODE == unix.O_ACCMODE {
		return fuse.EINVAL
	}
	return s.acting(in.Pid, false, func(a *act) error {
		p, err := s.at(in.NodeId, called)
		if err != nil {
			return err
		}
		defer p.done()
		if p.exists() {
			return a.openMade(p, in, out)
		}
		ch := p.changeOf(broker.OpCreate)
		v, err := a.decide(&ch)
		if err != nil {
			return err
		}
		if !v.Allowed {
			return a.refuse(&ch, v)
		}
		made := func(flags int) (int, error) { return p.make(flags, in.Mode&0o777) }
		if v.Vet != nil && writes(in.Flags) {
			return a.draftMade(p, &ch, v, made, out)
		}
		fd := -1
		err = a.carryOut(&ch, func() (err error) {
			fd, err = made(openFlags(in.Flags))
			return err
		})
		if err != nil {
			return err
		}
		return a.handMade(p, fd, writes(in.Flags), out)
	})
}

// make makes a file at a place and opens it.
func (p *place) make(flags int, mode uint32) (int, error) {
	fd, err := unix.Openat(p.fd, p.name, flags|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err == unix.EEXIST {
		return -1, unix.ESTALE // the host was faster
	}
	if err != nil {
		return -1, err
	}
	return fd, exactFile(fd, mode)
}

// draftMade makes a file that is judged by its content.
func (a *act) draftMade(p *place, ch *broker.Change, v broker.Verdict, made func(flags int) (int, error), out *fuse.CreateOut) error {
	h, err := a.draft(nil, ch, v, true, func() (int, error) { return made(unix.O_RDWR) })
	if err != nil {
		return err
	}
	if err = a.s.made(p, &out.EntryOut); err == nil {
		h.node = a.s.nodes.get(out.NodeId)
		return a.s.hand(h, &out.OpenOut)
	}
	h.close()
	return err
}

func exactFile(fd int, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if missing := mode &^ st.Mode; missing != 0 {
		return unix.Fchmod(fd, st.Mode&0o7777|missing)
	}
	return nil
}

// openMade is a creation of what is there already.
func (a *act) openMade(p *place, in *fuse.CreateIn, out *fuse.CreateOut) error {
	switch {
	case in.Flags&unix.O_EXCL != 0:
		return unix.EEXIST
	case p.st.Mode&unix.S_IFMT != unix.S_IFREG:
		return unix.ESTALE // it has to be looked up
	}
	if err := a.s.enter(p, &out.EntryOut); err != nil {
		return err
	}
	n := a.s.nodes.get(out.NodeId)
	err := unix.ESTALE
	if n == nil {
		return err
	}
	var e error
	if writes(in.Flags) {
		e = a.openForWriting(n, p, in.Flags, &out.OpenOut)
	} else {
		e = fileCalls{a.s}.openForReading(n, in.Flags, &out.OpenOut)
	}
	if e != nil {
		a.s.nodes.forget(n.id, 1)
	}
	return e
}

// handMade gives a file that was just made to the other side. It is the one that is open:
// the name may be another's by now.
func (a *act) handMade(p *place, fd int, writes bool, out *fuse.CreateOut) error {
	p.looked = a.s.watch.looks.Load()
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, seen, &p.st)
	if err == nil {
		err = a.s.enter(p, &out.EntryOut)
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	n := a.s.nodes.get(out.NodeId)
	err = a.s.hand(&handle{fd: fd, node: n, writes: writes}, &out.OpenOut)
	if err != nil {
		a.s.nodes.forget(out.NodeId, 1)
	}
	return err
}

// Read implements [fuse.RawFileSystem].
func (s fileCalls) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	h, done, err := s.opened.use(in.Fh, false)
	if err != nil {
		return nil, status(err)
	}
	defer done()
	buf = buf[:min(len(buf), int(in.Size))]
	n, err := unix.Pread(h.fd, buf, int64(in.Offset))
	if err != nil {
		return nil, status(err)
	}
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

// writing runs what writes to an open file up to a place, unless the workspace is held.
func (s fileCalls) writing(number, end uint64, do func(h *handle) error) fuse.Status {
	return s.acting(0, false, func(*act) error {
		h, done, err := s.opened.use(number, false)
		if err != nil {
			return err
		}
		defer done()
		switch {
		case !h.writes:
			return unix.EBADF
		case h.draft != nil && end > uint64(h.draft.most()):
			return unix.EFBIG
		}
		return do(h)
	})
}

// Write implements [fuse.RawFileSystem].
func (s fileCalls) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (written uint32, code fuse.Status) {
	code = s.writing(in.Fh, in.Offset+uint64(len(data)), func(h *handle) error {
		n, err := unix.Pwrite(h.fd, data, int64(in.Offset))
		if err == nil {
			written = uint32(n)
		}
		return err
	})
	return written, code
}

// CopyFileRange implements [fuse.RawFileSystem].
func (s fileCalls) CopyFileRange(_ <-chan struct{}, in *fuse.CopyFileRangeIn) (written uint32, code fuse.Status) {
	const most = 64 << 20 // in one request; less may be copied than was asked for
	from, done, err := s.opened.use(in.FhIn, false)
	if err != nil {
		return 0, status(err)
	}
	defer done()
	code = s.writing(in.FhOut, in.OffOut+min(in.Len, most), func(h *handle) error {
		begin, to := int64(in.OffIn), int64(in.OffOut)
		n, err := unix.CopyFileRange(from.fd, &begin, h.fd, &to, int(min(in.Len, most)), 0)
		if err == nil {
			written = uint32(n)
		}
		return err
	})
	return written, code
}

// Fallocate implements [fuse.RawFileSystem].
func (s fileCalls) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	if in.Mode&^(unix.FALLOC_FL_KEEP_SIZE|unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) != 0 {
		return fuse.Status(unix.EOPNOTSUPP)
	}
	return s.writing(in.Fh, in.Offset+in.Length, func(h *handle) error {
		return unix.Fallocate(h.fd, in.Mode, int64(in.Offset), int64(in.Length))
	})
}

// Lseek implements [fuse.RawFileSystem]: the other kernel asks for data and holes.
func (s fileCalls) Lseek(_ <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	if in.Whence != unix.SEEK_DATA && in.Whence != unix.SEEK_HOLE {
		return fuse.EINVAL
	}
	h, done, err := s.opened.use(in.Fh, false)
	if err != nil {
		return status(err)
	}
	defer done()
	at, err := unix.Seek(h.fd, int64(in.Offset), int(in.Whence))
	if err == nil {
		out.Offset = uint64(at)
	}
	return status(err)
}

// Fsync implements [fuse.RawFileSystem].
func (s fileCalls) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status { return s.sync(in, false) }

// FsyncDir implements [fuse.RawFileSystem].
func (s fileCalls) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status { return s.sync(in, true) }

func (s fileCalls) sync(in *fuse.FsyncIn, dir bool) fuse.Status {
	h, done, err := s.opened.use(in.Fh, dir)
	if err != nil {
		return status(err)
	}
	defer done()
	if in.FsyncFlags&1 != 0 { // FUSE_FSYNC_FDATASYNC
		return status(unix.Fdatasync(h.fd))
	}
	return status(unix.Fsync(h.fd))
}

// Flush implements [fuse.RawFileSystem]: the file is closed somewhere.
func (s fileCalls) Flush(_ <-chan struct{}, in *fuse.FlushIn) fuse.Status { return s.flushed(in.Fh) }

// Release implements [fuse.RawFileSystem]: the file is open nowhere.
func (s fileCalls) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	if h := s.opened.take(in.Fh, false); h != nil {
		h.close()
		if h.draft != nil {
			s.released(h.draft)
		}
	}
}

// cut truncates the file at a place.
func (p *place) cut(ch *broker.Change, size int64) error {
	fd, err := leased(func() (int, error) { return p.open(unix.O_WRONLY) })
	if err != nil {
		ch.Unopened = true
		return err
	}
	return errors.Join(unix.Ftruncate(fd, size), unix.Close(fd))
}
