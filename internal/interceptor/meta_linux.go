package interceptor

import (
	"bytes"
	"os"
	"slices"
	"strings"

	"carrel/internal/broker"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

const (
	maxXattrName  = 255      // XATTR_NAME_MAX of linux/limits.h
	maxXattrValue = 64 << 10 // XATTR_SIZE_MAX
)

// attributes are what the other side is told of an object. What is masked has a type alone.
func (s *Server) attributes(path string, st *unix.Statx_t, out *fuse.Attr) {
	*out = fuse.Attr{
		Ino: st.Ino, Size: st.Size, Blocks: st.Blocks, Mode: s.mode(st), Nlink: st.Nlink, Blksize: st.Blksize,
		Atime: uint64(st.Atime.Sec), Mtime: uint64(st.Mtime.Sec), Ctime: uint64(st.Ctime.Sec),
		Atimensec: st.Atime.Nsec, Mtimensec: st.Mtime.Nsec, Ctimensec: st.Ctime.Nsec,
		Owner: s.shown(st.Uid, st.Gid), Rdev: uint32(unix.Mkdev(st.Rdev_major, st.Rdev_minor)),
	}
	s.drafts.show(inodeOf(st), out)
	if text := s.standIn(path); text != nil {
		out.Size = uint64(len(text))
	}
	if s.masked(path) {
		*out = fuse.Attr{Ino: st.Ino, Mode: uint32(st.Mode) & unix.S_IFMT, Nlink: 1, Owner: out.Owner}
	}
}

// GetAttr implements [fuse.RawFileSystem].
func (s metaCalls) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	if in.NodeId == topNode {
		own := s.shown(uint32(os.Getuid()), uint32(os.Getgid()))
		out.Attr = fuse.Attr{Ino: topNode, Mode: unix.S_IFDIR | 0o555, Nlink: 2, Owner: own}
		return fuse.OK
	}
	return status(s.look(s.nodes.get(in.NodeId), out))
}

func (s metaCalls) look(n *node, out *fuse.AttrOut) error {
	p, err := s.placeOf(n)
	if err == unix.ESTALE && n != nil { // it has no name any more, and may be open
		return s.lookOpen(n, out)
	}
	if err != nil {
		return err
	}
	defer p.done()
	s.attributes(p.path, &p.st, &out.Attr)
	if s.remembered(n, p) {
		out.SetTimeout(p.valid(attrValid))
	}
	return nil
}

func (s metaCalls) lookOpen(n *node, out *fuse.AttrOut) error {
	h, done := s.opened.of(n, false)
	if h == nil {
		last := s.nodes.last(n)
		if last == nil {
			return unix.ESTALE
		}
		s.attributes("", last, &out.Attr)
		return nil
	}
	defer done()
	var st unix.Statx_t
	if err := unix.Statx(h.fd, "", unix.AT_EMPTY_PATH, seen, &st); err != nil {
		return err
	}
	s.attributes("", &st, &out.Attr)
	return nil
}

// of gives an open handle of a node; one that can be written to where that is asked for.
func (t *handles) of(n *node, writes bool) (*handle, func()) {
	t.mu.Lock()
	var all []uint64
	for number, h := range t.open {
		if h.node == n && (h.writes || !writes) && !h.dir {
			all = append(all, number)
		}
	}
	t.mu.Unlock()
	for _, number := range all {
		if h, done, err := t.use(number, false); err == nil {
			return h, done
		}
	}
	return nil, nil
}

// SetAttr implements [fuse.RawFileSystem]. Each part is a change of its own.
func (s metaCalls) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	n := s.nodes.get(in.NodeId)
	if n == nil {
		return fuse.Status(unix.ESTALE)
	}
	if in.Valid&fuse.FATTR_SIZE != 0 {
		if code := s.truncate(n, in); code != fuse.OK {
			return code
		}
	}
	if in.Valid&fuse.FATTR_MODE != 0 {
		ch := broker.Change{Op: broker.OpChmod, Hides: in.Mode&unix.S_IRUSR == 0, Mode: in.Mode & 0o7777}
		code := s.alter(in.Pid, n, ch, func(fd int, st *unix.Statx_t) error { return alterMode(fd, st, in.Mode&0o7777) })
		if code != fuse.OK {
			return code
		}
	}
	if in.Valid&(fuse.FATTR_UID|fuse.FATTR_GID) != 0 {
		if code := s.chown(n, in); code != fuse.OK {
			return code
		}
	}
	if in.Valid&(fuse.FATTR_ATIME|fuse.FATTR_MTIME|fuse.FATTR_ATIME_NOW|fuse.FATTR_MTIME_NOW) != 0 {
		ch, times := broker.Change{Op: broker.OpUtimes}, timesOf(in)
		code := s.alter(in.Pid, n, ch, func(fd int, _ *unix.Statx_t) error { return unix.UtimesNanoAt(fd, "", times, unix.AT_EMPTY_PATH) })
		if code != fuse.OK {
			return code
		}
	}
	return status(s.look(n, out))
}

func (s metaCalls) truncate(n *node, in *fuse.SetAttrIn) fuse.Status {
	if int64(in.Size) < 0 {
		return fuse.EINVAL
	}
	if in.Valid&fuse.FATTR_FH != 0 { // it was decided when it was opened
		return fileCalls(s).writing(in.Fh, in.Size, func(h *handle) error { return unix.Ftruncate(h.fd, int64(in.Size)) })
	}
	return s.acting(in.Pid, false, func(a *act) error {
		p, err := s.placeOf(n)
		if err == unix.ESTALE {
			if h, done := s.opened.of(n, true); h != nil {
				defer done()
				return unix.Ftruncate(h.fd, int64(in.Size))
			}
		}
		if err != nil {
			return err
		}
		defer p.done()
		if p.st.Mode&unix.S_IFMT != unix.S_IFREG {
			return unix.EINVAL
		}
		if d := s.drafts.get(n.is); d != nil { // it was decided when it was opened
			if in.Size > uint64(d.most()) {
				return unix.EFBIG
			}
			return unix.Ftruncate(d.text, int64(in.Size))
		}
		ch := p.changeOf(broker.OpTruncate)
		return a.change(&ch, func() error { return p.cut(&ch, int64(in.Size)) })
	})
}

// alter changes metadata of a node.
func (s metaCalls) alter(by uint32, n *node, ch broker.Change, do func(fd int, st *unix.Statx_t) error) fuse.Status {
	return s.acting(by, false, func(a *act) error {
		p, err := s.placeOf(n)
		if err == unix.ESTALE {
			return s.alterOpen(n, do)
		}
		if err != nil {
			return err
		}
		defer p.done()
		pinned, err := p.open(unix.O_PATH)
		if err != nil {
			return err
		}
		defer unix.Close(pinned)
		c := p.changeOf(ch.Op)
		c.Hides, c.Mode, c.Pinned = ch.Hides, ch.Mode, pinned
		return a.change(&c, func() error { return do(pinned, &p.st) })
	})
}

// alterOpen changes what is open and has no name. What still has one somewhere, as in the
// history, may not be changed.
func (s metaCalls) alterOpen(n *node, do func(fd int, st *unix.Statx_t) error) error {
	h, done := s.opened.of(n, false)
	if h == nil {
		return unix.ESTALE
	}
	defer done()
	var st unix.Statx_t
	if err := unix.Statx(h.fd, "", unix.AT_EMPTY_PATH, seen, &st); err != nil {
		return err
	}
	if st.Nlink != 0 {
		return unix.EPERM
	}
	return do(h.fd, &st)
}

// alterMode is chmod(2) where nothing runs with another's identity.
func alterMode(fd int, st *unix.Statx_t, mode uint32) error {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return unix.EOPNOTSUPP
	case unix.S_IFDIR:
		mode &^= unix.S_ISUID
	default:
		if mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
			return unix.EPERM
		}
	}
	return chmod(fd, mode)
}

// chown changes a group to one of this process's own. No file is given away. Ids that the
// other side calls otherwise are only ever those that are there.
func (s metaCalls) chown(n *node, in *fuse.SetAttrIn) fuse.Status {
	return s.alter(in.Pid, n, broker.Change{Op: broker.OpChown}, func(fd int, st *unix.Statx_t) error {
		is := s.shown(st.Uid, st.Gid)
		if in.Valid&fuse.FATTR_UID != 0 && in.Uid != is.Uid {
			return unix.EPERM
		}
		gid := -1
		if in.Valid&fuse.FATTR_GID != 0 && in.Gid != is.Gid {
			groups, err := os.Getgroups()
			if err != nil {
				return err
			}
			if gid = int(in.Gid); s.config.GID != 0 || gid != os.Getgid() && !slices.Contains(groups, gid) {
				return unix.EPERM
			}
		}
		return unix.Fchownat(fd, "", -1, gid, unix.AT_EMPTY_PATH)
	})
}

func timesOf(in *fuse.SetAttrIn) []unix.Timespec {
	one := func(set, now bool, sec uint64, nsec uint32) unix.Timespec {
		switch {
		case now:
			return unix.Timespec{Nsec: unix.UTIME_NOW}
		case set:
			return unix.Timespec{Sec: int64(sec), Nsec: int64(nsec)}
		}
		return unix.Timespec{Nsec: unix.UTIME_OMIT}
	}
	return []unix.Timespec{
		one(in.Valid&fuse.FATTR_ATIME != 0, in.Valid&fuse.FATTR_ATIME_NOW != 0, in.Atime, in.Atimensec),
		one(in.Valid&fuse.FATTR_MTIME != 0, in.Valid&fuse.FATTR_MTIME_NOW != 0, in.Mtime, in.Mtimensec),
	}
}

// openXattr says whether an attribute is one that programs inside may see: not labels,
// capabilities and the like.
func openXattr(key string) bool {
	acl := key == "system.posix_acl_access" || key == "system.posix_acl_default"
	return len(key) <= maxXattrName && (acl || strings.HasPrefix(key, "user."))
}

// attributed runs what reads attributes of a node.
func (s metaCalls) attributed(id uint64, do func(file string) error) error {
	p, err := s.placeOf(s.nodes.get(id))
	if err != nil {
		return err
	}
	defer p.done()
	if s.masked(p.path) {
		return unix.EACCES
	}
	fd, err := p.open(unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(byFD(fd))
}

// GetXAttr implements [fuse.RawFileSystem].
func (s metaCalls) GetXAttr(_ <-chan struct{}, in *fuse.InHeader, key string, dest []byte) (size uint32, code fuse.Status) {
	if in.NodeId == topNode || !openXattr(key) {
		return 0, fuse.ENODATA
	}
	err := s.attributed(in.NodeId, func(file string) error {
		n, err := unix.Getxattr(file, key, dest)
		size = uint32(max(n, 0))
		return err
	})
	return size, status(err)
}

// ListXAttr implements [fuse.RawFileSystem].
func (s metaCalls) ListXAttr(_ <-chan struct{}, in *fuse.InHeader, dest []byte) (size uint32, code fuse.Status) {
	if in.NodeId == topNode {
		return 0, fuse.OK
	}
	buf := make([]byte, maxXattrValue)
	err := s.attributed(in.NodeId, func(file string) error {
		n, err := unix.Listxattr(file, buf)
		buf = buf[:max(n, 0)]
		return err
	})
	if err != nil {
		return 0, status(err)
	}
	var open []byte
	for key := range bytes.SplitSeq(buf, []byte{0}) {
		if openXattr(string(key)) {
			open = append(append(open, key...), 0)
		}
	}
	if len(dest) > 0 && len(open) > len(dest) {
		return 0, fuse.ERANGE
	}
	copy(dest, open)
	return uint32(len(open)), fuse.OK
}

// SetXAttr implements [fuse.RawFileSystem].
func (s metaCalls) SetXAttr(_ <-chan struct{}, in *fuse.SetXAttrIn, key string, data []byte) fuse.Status {
	set := func(file string) error { return unix.Setxattr(file, key, data, int(in.Flags)) }
	return s.alterXattr(&in.InHeader, key, set)
}

// RemoveXAttr implements [fuse.RawFileSystem].
func (s metaCalls) RemoveXAttr(_ <-chan struct{}, in *fuse.InHeader, key string) fuse.Status {
	return s.alterXattr(in, key, func(file string) error { return unix.Removexattr(file, key) })
}

func (s metaCalls) alterXattr(in *fuse.InHeader, key string, do func(file string) error) fuse.Status {
	if !openXattr(key) {
		return fuse.EPERM
	}
	n := s.nodes.get(in.NodeId)
	if n == nil {
		return fuse.Status(unix.ESTALE)
	}
	return s.alter(in.Pid, n, broker.Change{Op: broker.OpSetxattr}, func(fd int, _ *unix.Statx_t) error { return do(byFD(fd)) })
}

// StatFs implements [fuse.RawFileSystem].
func (s metaCalls) StatFs(_ <-chan struct{}, in *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	var fs unix.Statfs_t
	if len(s.roots) == 0 {
		return fuse.OK
	}
	fd := s.roots[0].rootFD
	if p, err := s.placeOf(s.nodes.get(in.NodeId)); err == nil {
		defer p.done()
		fd = p.fd
	}
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return status(err)
	}
	*out = fuse.StatfsOut{
		Blocks: fs.Blocks, Bfree: fs.Bfree, Bavail: fs.Bavail, Files: fs.Files, Ffree: fs.Ffree,
		Bsize: uint32(fs.Bsize), NameLen: uint32(fs.Namelen), Frsize: uint32(fs.Frsize),
	}
	return fuse.OK
}
