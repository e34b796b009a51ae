package interceptor

import (
	"strconv"
	"strings"
	"time"

	"carrel/internal/broker"

	"golang.org/x/sys/unix"
)

// beneath is how a name is opened in a pinned directory: no link is followed, and nothing
// that is mounted below a root is entered.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// seen is what is asked of an object.
const seen = unix.STATX_BASIC_STATS | unix.STATX_BTIME

// directory is a pinned directory as one request uses it.
type directory struct {
	*pin
	s    *Server
	node *node
	path string // what it is called, by the kernel's word
	kept bool   // its root is
	// looked is how many directories were watched before it was looked at.
	looked uint64
}

// told says whether all changes of what has a name in a directory are told since it was looked at.
func (d *directory) told() bool { return d.kept || d.s.watch.since(d.node, d.looked) }

// valid is how long what was seen in a directory may be remembered, which is told of otherwise.
func (d *directory) valid(otherwise time.Duration) time.Duration {
	if d.kept {
		return keptValid
	}
	return otherwise
}

func (d *directory) done() { d.s.nodes.done(d.pin) }

// place is a name in a pinned directory, and what was seen there. Of a root it is the
// directory itself, without a name.
type place struct {
	*directory
	name string
	path string
	st   unix.Statx_t // its mode is 0 where there was nothing
}

func (p *place) exists() bool { return p.st.Mode != 0 }

// changeOf is a change of what is at a place.
func (p *place) changeOf(op string) broker.Change {
	ch := broker.Change{Op: op, Path: p.path, Dir: p.fd, Name: p.name, ToDir: -1, In: broker.Inode{Dev: p.node.is.dev, Ino: p.node.is.ino}}
	if p.name == "" {
		ch.Dir, ch.In = -1, broker.Inode{}
	}
	if p.exists() {
		ch.Was = wasOf(&p.st)
		ch.Kind = ch.Was.Kind
	}
	return ch
}

func wasOf(st *unix.Statx_t) broker.Seen {
	nanos := func(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }
	w := broker.Seen{
		Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino, Links: st.Nlink, Size: st.Size,
		Mtime: nanos(st.Mtime), Ctime: nanos(st.Ctime), Mode: uint32(st.Mode),
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		w.Birth = nanos(st.Btime)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		w.Kind = broker.KindFile
	case unix.S_IFDIR:
		w.Kind = broker.KindDir
	case unix.S_IFLNK:
		w.Kind = broker.KindSymlink
	default:
		w.Kind = broker.KindOther
	}
	return w
}

// pinRoot makes the node of a root.
func (s *Server) pinRoot(r Root) (*node, error) {
	fd, err := unix.Openat2(r.FD, ".", &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH})
	if err != nil {
		return nil, err
	}
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, seen, &st); err != nil {
		unix.Close(fd)
		return nil, err
	}
	n, err := s.nodes.found(nil, "", &st)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	n.root, n.rootFD, n.number = &r, fd, len(s.roots)
	n.lookups, n.names = 1, nil
	return n, nil
}

// lookAt looks at a name in a directory without following it.
func lookAt(dir int, name string) (st unix.Statx_t, err error) {
	err = unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, seen, &st)
	if err == nil && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		err = unix.EACCES // another file system, of the host's
	}
	return st, err
}

// directory pins the directory that a node is.
func (s *Server) directory(n *node) (*directory, error) {
	if n == nil {
		return nil, unix.ESTALE
	}
	if n.kind != unix.S_IFDIR {
		return nil, unix.ENOTDIR
	}
	for range 2 {
		p, err := s.pinned(n)
		if err != nil {
			return nil, err
		}
		path, root, err := s.pathOf(p.fd)
		if err == nil {
			if !root.Kept {
				s.watch.begin(n, p.fd)
			}
			d := &directory{pin: p, s: s, node: n, path: path, kept: root.Kept, looked: s.watch.looks.Load()}
			if n.root.whole() && s.masked(path) {
				d.done()
				return nil, unix.EACCES
			}
			return d, nil
		}
		s.nodes.unpin(n)
		s.nodes.done(p)
		if n.root != nil {
			return nil, err
		}
	}
	return nil, unix.ESTALE
}

// pinned opens the directory of a node by its name, unless it is open.
func (s *Server) pinned(n *node) (*pin, error) {
	if p := s.nodes.use(n); p != nil {
		return p, nil
	}
	if n.root != nil {
		fd, err := unix.FcntlInt(uintptr(n.rootFD), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		return s.nodes.keep(n, fd), nil
	}
	names := s.nodes.namesOf(n)
	if len(names) == 0 {
		return nil, unix.ESTALE
	}
	above, err := s.pinned(names[0].in)
	if err != nil {
		return nil, err
	}
	defer s.nodes.done(above)
	fd, err := openIn(above.fd, names[0].name, unix.O_PATH|unix.O_DIRECTORY, n.is)
	if err != nil {
		return nil, err
	}
	return s.nodes.keep(n, fd), nil
}

// openIn opens what has a name in a directory if it is the object that was looked at.
func openIn(dir int, name string, flags int, is inode) (int, error) {
	if flags&unix.O_PATH == 0 {
		flags |= unix.O_NONBLOCK
	}
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{Flags: uint64(flags | unix.O_NOFOLLOW | unix.O_CLOEXEC), Resolve: beneath})
	if err == unix.ENOENT || err == unix.ELOOP || err == unix.ENOTDIR || err == unix.EXDEV {
		err = unix.ESTALE
	}
	if err != nil {
		return -1, err
	}
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, seen, &st); err != nil || inodeOf(&st) != is {
		unix.Close(fd)
		return -1, unix.ESTALE
	}
	return fd, nil
}

// pathOf is what a directory is called inside, and the root that it is in. It fails for one that is in
// no root any more.
func (s *Server) pathOf(fd int) (string, *Root, error) {
	at, err := linkOf(fd)
	if err != nil {
		return "", nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", nil, err
	}
	if st.Nlink == 0 {
		return "", nil, unix.ENOENT
	}
	for _, r := range s.roots {
		top, err := linkOf(r.rootFD)
		if err != nil {
			return "", nil, err
		}
		if rest, ok := strings.CutPrefix(at, top); ok && (rest == "" || rest[0] == '/') {
			return r.root.Path + rest, r.root, nil
		}
	}
	return "", nil, unix.ESTALE
}

func linkOf(fd int) (string, error) {
	var buf [unix.PathMax]byte
	n, err := unix.Readlink(byFD(fd), buf[:])
	if err == nil && n == len(buf) {
		err = unix.ENAMETOOLONG
	}
	return string(buf[:max(n, 0)]), err
}

// byFD is a name for what a descriptor pins, for calls that take no such descriptor.
func byFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// at gives the place that a name has in the directory of a node. What is there, if anything
// is, stays what it was only as long as nothing else changes.
func (s *Server) at(id uint64, called string) (*place, error) {
	if id == topNode {
		return nil, unix.EACCES
	}
	if err := validName(called); err != nil {
		return nil, err
	}
	d, err := s.directory(s.nodes.get(id))
	if err != nil {
		return nil, err
	}
	if !d.node.root.serves(called) {
		d.done()
		return nil, unix.EACCES
	}
	p := &place{directory: d, name: called, path: d.path + "/" + called}
	if p.st, err = lookAt(d.fd, called); err == unix.ENOENT {
		p.st, err = unix.Statx_t{}, nil
	}
	if err != nil {
		d.done()
		return nil, err
	}
	return p, nil
}

func validName(called string) error {
	switch {
	case called == "" || called == "." || called == "..", strings.ContainsAny(called, "/\x00"):
		return unix.EINVAL
	case len(called) > 255:
		return unix.ENAMETOOLONG
	}
	return nil
}

// placeOf gives a place at which a node is now.
func (s *Server) placeOf(n *node) (*place, error) {
	switch {
	case n == nil:
		return nil, unix.ESTALE
	case n.root != nil:
		d, err := s.directory(n)
		if err != nil {
			return nil, err
		}
		p := &place{directory: d, path: d.path}
		if err := unix.Statx(d.fd, "", unix.AT_EMPTY_PATH, seen, &p.st); err != nil {
			d.done()
			return nil, err
		}
		return p, nil
	}
	last := error(unix.ESTALE)
	for _, k := range s.nodes.namesOf(n) {
		p, err := s.at(k.in.id, k.name)
		if err != nil {
			last = err
			continue
		}
		if p.exists() && inodeOf(&p.st) == n.is {
			return p, nil
		}
		p.done()
	}
	if last == unix.ENOENT {
		last = unix.ESTALE
	}
	return nil, last
}

// open opens what was seen at a place, and nothing else.
func (p *place) open(flags int) (int, error) {
	if p.name == "" {
		return openIn(p.fd, ".", flags, inodeOf(&p.st))
	}
	return openIn(p.fd, p.name, flags, inodeOf(&p.st))
}

// remembered says whether the other kernel may remember what was seen at a place: it is told
// of all changes of it. Of a file with other names it may not be.
func (s *Server) remembered(n *node, p *place) bool {
	switch {
	case p.kept:
		return !s.masked(p.path)
	case n.kind == unix.S_IFDIR:
		return s.watch.since(n, p.looked) && !s.masked(p.path)
	case p.st.Nlink != 1 || s.drafts.get(n.is) != nil || s.masked(p.path):
		return false
	}
	return p.directory.told()
}

// forgotten has the other kernel ask anew for an object that this process has changed or
// removed without a request.
func (s *Server) forgotten(is inode) {
	n, names := s.nodes.known(is)
	if n == nil {
		return
	}
	out := [][]byte{forgetNode(n, true)}
	for _, k := range names {
		out = append(out, forgetName(k))
	}
	s.watch.tell(out...)
}
