package interceptor

import (
	"strconv"

	"carrel/internal/broker"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Lookup implements [fuse.RawFileSystem].
func (s nameCalls) Lookup(_ <-chan struct{}, in *fuse.InHeader, called string, out *fuse.EntryOut) fuse.Status {
	if in.NodeId == topNode {
		i, err := strconv.Atoi(called)
		if err != nil || i < 0 || i >= len(s.roots) || strconv.Itoa(i) != called {
			return fuse.ENOENT
		}
		p, err := s.placeOf(s.roots[i])
		if err != nil {
			return status(err)
		}
		defer p.done()
		s.entry(s.roots[i], p, out)
		return fuse.OK
	}
	p, err := s.at(in.NodeId, called)
	if err != nil {
		return status(err)
	}
	defer p.done()
	if !p.exists() && p.directory.told() {
		*out = fuse.EntryOut{} // there is none
		out.SetEntryTimeout(p.valid(attrValid))
		return fuse.OK
	}
	return status(s.enter(p, out))
}

// enter gives the node of what is at a place to the other side.
func (s *Server) enter(p *place, out *fuse.EntryOut) error {
	if !p.exists() {
		return unix.ENOENT
	}
	n, err := s.nodes.found(p.node, p.name, &p.st)
	if err != nil {
		return err
	}
	s.entry(n, p, out)
	return nil
}

// entry says what a node is, and whether that may be remembered.
func (s *Server) entry(n *node, p *place, out *fuse.EntryOut) {
	*out = fuse.EntryOut{NodeId: n.id, Generation: 1}
	s.attributes(p.path, &p.st, &out.Attr)
	if p.name != "" && p.directory.told() {
		out.SetEntryTimeout(p.valid(nameValid))
	}
	if s.remembered(n, p) {
		out.SetAttrTimeout(p.valid(attrValid))
	}
}

// made gives the node of what was just made at a place.
func (s *Server) made(p *place, out *fuse.EntryOut) error {
	var err error
	p.looked = s.watch.looks.Load()
	if p.st, err = lookAt(p.fd, p.name); err != nil {
		return err
	}
	return s.enter(p, out)
}

// Forget implements [fuse.RawFileSystem].
func (s nameCalls) Forget(id, lookups uint64) { s.watch.forgotten(s.nodes.forget(id, lookups)) }

// make makes a new name. Where there is something, nothing is decided or tried.
func (s nameCalls) make(
	in *fuse.InHeader, called string, ch broker.Change, mode uint32, out *fuse.EntryOut, do func(p *place) error,
) fuse.Status {
	return s.acting(in.Pid, false, func(a *act) error {
		p, err := s.at(in.NodeId, called)
		if err != nil {
			return err
		}
		defer p.done()
		if p.exists() {
			return unix.EEXIST
		}
		c := p.changeOf(ch.Op)
		c.Text = ch.Text
		err = a.change(&c, func() error {
			if err := do(p); err != nil {
				return err
			}
			return exact(p, mode)
		})
		if err != nil {
			return err
		}
		return s.made(p, out)
	})
}

// exact gives what was just made the bits of its mode that this process's own umask took:
// the other kernel has applied its caller's already.
func exact(p *place, mode uint32) error {
	st, err := lookAt(p.fd, p.name)
	if err != nil {
		return err
	}
	missing := mode & 0o777 &^ uint32(st.Mode)
	if missing == 0 || st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return nil
	}
	fd, err := openIn(p.fd, p.name, unix.O_PATH, inodeOf(&st))
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return chmod(fd, uint32(st.Mode)&0o7777|missing)
}

// chmod changes what is pinned.
func chmod(fd int, mode uint32) error {
	err := unix.Fchmodat(fd, "", mode, unix.AT_EMPTY_PATH) // fchmodat2, Linux 6.6
	if err == unix.ENOSYS || err == unix.EOPNOTSUPP || err == unix.EINVAL {
		err = unix.Fchmodat(unix.AT_FDCWD, byFD(fd), mode, 0)
	}
	return err
}

// Mkdir implements [fuse.RawFileSystem].
func (s nameCalls) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, called string, out *fuse.EntryOut) fuse.Status {
	mode := in.Mode & 0o1777
	return s.make(&in.InHeader, called, broker.Change{Op: broker.OpMkdir}, mode, out, func(p *place) error {
		return unix.Mkdirat(p.fd, p.name, mode)
	})
}

// Mknod implements [fuse.RawFileSystem].
func (s nameCalls) Mknod(_ <-chan struct{}, in *fuse.MknodIn, called string, out *fuse.EntryOut) fuse.Status {
	switch in.Mode & unix.S_IFMT {
	case unix.S_IFREG, 0, unix.S_IFIFO, unix.S_IFSOCK:
	default:
		return fuse.EPERM // no devices are made here
	}
	mode := in.Mode & (unix.S_IFMT | 0o777)
	return s.make(&in.InHeader, called, broker.Change{Op: broker.OpMknod}, mode&0o777, out, func(p *place) error {
		return unix.Mknodat(p.fd, p.name, mode, 0)
	})
}

// Symlink implements [fuse.RawFileSystem].
func (s nameCalls) Symlink(_ <-chan struct{}, in *fuse.InHeader, leads, called string, out *fuse.EntryOut) fuse.Status {
	if leads == "" {
		return fuse.ENOENT
	}
	return s.make(in, called, broker.Change{Op: broker.OpSymlink, Text: leads}, 0, out, func(p *place) error {
		return unix.Symlinkat(leads, p.fd, p.name)
	})
}

// Readlink implements [fuse.RawFileSystem].
func (s nameCalls) Readlink(_ <-chan struct{}, in *fuse.InHeader) ([]byte, fuse.Status) {
	p, err := s.placeOf(s.nodes.get(in.NodeId))
	if err != nil {
		return nil, status(err)
	}
	defer p.done()
	if s.masked(p.path) {
		return nil, fuse.EACCES
	}
	fd, err := p.open(unix.O_PATH)
	if err != nil {
		return nil, status(err)
	}
	defer unix.Close(fd)
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	if err == unix.ENOENT {
		err = unix.EINVAL // it is no link
	}
	return buf[:max(n, 0)], status(err)
}

// Unlink implements [fuse.RawFileSystem].
func (s nameCalls) Unlink(_ <-chan struct{}, in *fuse.InHeader, called string) fuse.Status {
	return s.remove(in, called, broker.OpUnlink, 0)
}

// Rmdir implements [fuse.RawFileSystem].
func (s nameCalls) Rmdir(_ <-chan struct{}, in *fuse.InHeader, called string) fuse.Status {
	return s.remove(in, called, broker.OpRmdir, unix.AT_REMOVEDIR)
}

func (s nameCalls) remove(in *fuse.InHeader, called, op string, flags int) fuse.Status {
	return s.acting(in.Pid, false, func(a *act) error {
		p, err := s.at(in.NodeId, called)
		if err != nil {
			return err
		}
		defer p.done()
		if !p.exists() {
			return unix.ENOENT
		}
		ch := p.changeOf(op)
		v, err := a.decide(&ch)
		if err != nil {
			return err
		}
		if !v.Allowed || v.Vet != nil {
			return a.refuse(&ch, v)
		}
		for _, name := range v.Empties {
			if err := a.empty(p, name); err != nil {
				return err
			}
		}
		if err := a.carryOut(&ch, func() error { return unix.Unlinkat(p.fd, p.name, flags) }); err != nil {
			return err
		}
		s.nodes.lost(&p.st, p.node, p.name, flags != 0 || p.st.Nlink <= 1)
		return nil
	})
}

// empty empties a file that lies beside a place, as a change of its own.
func (a *act) empty(p *place, name string) error {
	q := place{directory: p.directory, name: name, path: p.directory.path + "/" + name}
	var err error
	if q.st, err = lookAt(q.fd, name); err != nil {
		return err
	}
	if q.st.Mode&unix.S_IFMT != unix.S_IFREG || q.st.Nlink != 1 {
		return unix.EACCES
	}
	ch := q.changeOf(broker.OpTruncate)
	defer a.s.forgotten(inodeOf(&q.st))
	return a.carryOut(&ch, func() error { return q.cut(&ch, 0) })
}

// Rename implements [fuse.RawFileSystem].
func (s nameCalls) Rename(_ <-chan struct{}, in *fuse.RenameIn, was, now string) fuse.Status {
	if in.Flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 || in.Flags == unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE {
		return fuse.EINVAL // a whiteout is a device
	}
	return s.acting(in.Pid, true, func(a *act) error {
		p, err := s.at(in.NodeId, was)
		if err != nil {
			return err
		}
		defer p.done()
		q, err := s.at(in.Newdir, now)
		if err != nil {
			return err
		}
		defer q.done()
		if !p.exists() {
			return unix.ENOENT
		}
		return a.rename(p, q, in.Flags)
	})
}

func (a *act) rename(p, q *place, flags uint32) error {
	ch := p.changeOf(broker.OpRename)
	to := q.changeOf("")
	ch.To, ch.Over, ch.ToDir, ch.ToName, ch.ToIn, ch.WasTo = q.path, to.Kind, q.fd, q.name, to.In, to.Was
	ch.New = flags&unix.RENAME_NOREPLACE != 0
	if flags&unix.RENAME_EXCHANGE != 0 {
		ch.Op = broker.OpExchange
	}
	v, err := a.decide(&ch)
	switch {
	case err != nil:
		return err
	case ch.Op == broker.OpRename && ch.Kind == broker.KindFile && v.Allowed && v.Vet != nil:
		err = a.replaceVetted(&ch, v)
	case !v.Allowed || v.Vet != nil:
		return a.refuse(&ch, v)
	default:
		err = a.carryOut(&ch, func() error { return unix.Renameat2(p.fd, p.name, q.fd, q.name, uint(flags)) })
	}
	if err != nil {
		return err
	}
	nodes := &a.s.nodes
	is, over := inodeOf(&p.st), inodeOf(&q.st)
	if is == over && q.exists() {
		return nil // two names of one file stay
	}
	switch {
	case ch.Op == broker.OpExchange:
		nodes.moved(over, q.node, q.name, p.node, p.name)
	case q.exists():
		nodes.lost(&q.st, q.node, q.name, q.st.Mode&unix.S_IFMT == unix.S_IFDIR || q.st.Nlink <= 1)
	}
	if ch.Copied {
		nodes.lost(&p.st, p.node, p.name, p.st.Nlink <= 1)
		a.s.watch.tell(forgetName(name{p.node, p.name}), forgetName(name{q.node, q.name}))
		return nil
	}
	nodes.moved(is, p.node, p.name, q.node, q.name)
	return nil
}

// Link implements [fuse.RawFileSystem].
func (s nameCalls) Link(_ <-chan struct{}, in *fuse.LinkIn, called string, out *fuse.EntryOut) fuse.Status {
	return s.acting(in.Pid, true, func(a *act) error {
		p, err := s.placeOf(s.nodes.get(in.Oldnodeid))
		if err != nil {
			return err
		}
		defer p.done()
		q, err := s.at(in.NodeId, called)
		if err != nil {
			return err
		}
		defer q.done()
		switch {
		case q.exists():
			return unix.EEXIST
		case p.st.Mode&unix.S_IFMT == unix.S_IFDIR:
			return unix.EPERM
		}
		pinned, err := p.open(unix.O_PATH)
		if err != nil {
			return err
		}
		defer unix.Close(pinned)
		ch := p.changeOf(broker.OpLink)
		to := q.changeOf("")
		ch.Dir, ch.Name, ch.In = -1, "", broker.Inode{}
		ch.To, ch.ToDir, ch.ToName, ch.ToIn, ch.Pinned = q.path, q.fd, q.name, to.In, pinned
		err = a.change(&ch, func() error {
			if p.st.Mode&unix.S_IFMT == unix.S_IFLNK { // a name of procfs would be followed to its end
				return unix.Linkat(p.fd, p.name, q.fd, q.name, 0)
			}
			return unix.Linkat(unix.AT_FDCWD, byFD(pinned), q.fd, q.name, unix.AT_SYMLINK_FOLLOW)
		})
		if err != nil {
			return err
		}
		return s.made(q, out)
	})
}
