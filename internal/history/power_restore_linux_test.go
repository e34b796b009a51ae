package history

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
)

// restore puts what a loss left where it was recorded.
func (r *recorder) restore(l *loss) {
	stopRecording()
	b := &builder{recorder: r, loss: l, first: make(map[uint64]string)}
	for i, base := range r.bases {
		entries, err := os.ReadDir(base)
		for _, e := range entries {
			if err == nil {
				err = os.RemoveAll(filepath.Join(base, e.Name()))
			}
		}
		if err != nil {
			r.t.Fatal(err)
		}
		b.fill(base, l.names[r.roots[i]])
	}
	now, ctimes := make(map[uint64]*inode), make(map[uint64]int64)
	for was, at := range b.first {
		st, err := statKey(unix.AT_FDCWD, at)
		if err != nil {
			r.t.Fatal(err)
		}
		key := inodeKey(st.Dev_minor, st.Ino)
		now[key], ctimes[key] = l.names[was], disk.Nanoseconds(st.Ctime)
	}
	disk.Seen = func(s *journal.State) {
		key := inodeKey(unix.Minor(s.ID.Dev), s.ID.Ino)
		n := now[key]
		if n == nil {
			return
		}
		if s.Ctime == ctimes[key] {
			s.Ctime = n.ctime
		}
		s.ID.Ino, s.ID.Birth = n.key&(1<<deviceBits-1), n.birth
	}
}

// builder makes files of a loss.
type builder struct {
	*recorder
	*loss
	first map[uint64]string // where an inode is
}

func (b *builder) fill(dir string, n *inode) {
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		ino, at := n.names[name], dir+"/"+name
		if first := b.first[ino]; first != "" {
			if err := os.Link(first, at); err != nil {
				b.t.Fatal(err)
			}
			continue
		}
		if is := b.names[ino]; is != nil {
			b.first[ino] = at
			b.make(at, is)
		}
	}
}

func (b *builder) make(at string, n *inode) {
	var err error
	switch n.kind {
	case unix.S_IFDIR:
		err = os.Mkdir(at, 0o700)
		b.fill(at, n)
	case unix.S_IFREG:
		is := b.data[n.key]
		if err = os.WriteFile(at, is.data, 0o600); err == nil {
			err = os.Truncate(at, is.size)
		}
	case unix.S_IFLNK:
		err = os.Symlink(n.target, at)
	case unix.S_IFIFO:
		err = unix.Mkfifo(at, 0o600)
	}
	if err == nil && n.kind != unix.S_IFLNK {
		err = unix.Fchmodat(unix.AT_FDCWD, at, n.mode, 0)
	}
	if err == nil && n.xattr != "" {
		err = unix.Lsetxattr(at, "user.x", []byte(n.xattr), 0)
	}
	if err == nil {
		err = unix.UtimesNanoAt(unix.AT_FDCWD, at, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, n.mtime}, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
