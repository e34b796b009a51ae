// Package dircache remembers what the directories of a tree held, and lists a directory
// again only where it may have changed since.
//
//   - A [Walk] is one look at a tree: it lists directories by their paths, one by one and
//     on any number of threads. Who walks says which names matter; others are forgotten.
//   - A [Dir] is what a directory held. It is used again where the directory has the same
//     device, inode, times, size and number of links as when it was listed. By then it
//     had not changed for [margin]: a later change cannot have left the same times.
//   - [Walk.Encode] gives the bytes that the next walk begins with.
//
// Whatever leaves a doubt is listed. There are file systems of which it is not known that
// each change of an entry changes the directory's time. There are encrypted directories,
// of which the names change with the key. There are times of the future, a clock that
// went back, another start of the machine, another program, and bytes that are damaged.
// The bytes must come from where no other user can have written them: the checksum shows
// damage and no intent.
//
// The package knows no rule of names, writes nothing and imports nothing of this module.
package dircache

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MaxSize bounds the bytes of a cache.
	MaxSize = 32 << 20
	// margin is how long a directory has to be unchanged to be remembered: more than the
	// tick of a kernel's clock, and than the second that some inodes count in.
	margin = 2 * time.Second
	// minDirs is the size of a tree that is remembered: less is listed at once.
	minDirs = 200
	// minGain is how many listings the next walk has to be spared for new bytes.
	minGain = 32
)

// Entry is a name in a directory that mattered.
type Entry struct {
	Name string
	Dir  bool
	Sub  *Dir // what a directory of that name held; nil where it is not known
}

// Dir is what a directory held that mattered.
type Dir struct {
	Entries []Entry // in the order of the directory
	stamp   stamp
	known   bool // the stamp stands for the entries
}

// stamp is what changes with each change of a directory.
type stamp struct {
	dev, ino, size uint64
	nlink          uint32
	ctime, mtime   moment
}

// moment is a time as the kernel has it.
type moment struct {
	sec  int64
	nsec uint32
}

func (m moment) before(t time.Time) bool {
	return m.sec < t.Unix() || m.sec == t.Unix() && int(m.nsec) < t.Nanosecond()
}

// fileSystem is one that directories lie in.
type fileSystem struct {
	kind, id uint64 // of statfs
}

// Walk is one look at a tree. Its methods may be called by several threads, but for one
// place of the tree at a time.
type Walk struct {
	Root *Dir // of the tree; what it held before, until it is listed

	place   string
	top     int // the open directory
	began   time.Time
	key     [keySize]byte
	usable  bool // what this walk is about is known, so that it can be told from others
	checked sync.Mutex
	before  map[uint64]fileSystem // by device
	now     map[uint64]fileSystem // of those that were met
	gain    atomic.Int64          // directories that were listed, and will be spared
	dirs    atomic.Int64
}

// newWalk begins with the bytes that an earlier walk has left, or none.
func newWalk(place string, about []byte, old []byte, began time.Time) *Walk {
	w := &Walk{place: place, top: -1, began: began, now: make(map[uint64]fileSystem)}
	if w.usable = about != nil; w.usable {
		w.key = digest(about)
		w.Root, w.before = decode(old, w.key, began)
	}
	return w
}

// Encode gives the bytes for the next walk, nil where those of this one are as good. It is
// called once: a walk that is kept keeps nothing of the tree after that.
func (w *Walk) Encode() []byte {
	root := w.Root
	w.Root = nil
	if !w.usable || w.dirs.Load() < minDirs || w.gain.Load() < minGain || root == nil {
		return nil
	}
	if data := encode(root, w.key, w.now, w.began); len(data) <= MaxSize {
		return data
	}
	return nil
}

// old says whether a time was long ago when this walk began, so that whatever changes
// the directory from then on gives it another.
func (w *Walk) old(m moment) bool { return m.before(w.began.Add(-margin)) }

// listed is a directory that has been read. What is known of those below stays: it has
// stamps of its own.
func (w *Walk) listed(was *Dir, entries []Entry, s stamp, sure bool) *Dir {
	d := &Dir{Entries: entries, stamp: s, known: sure && w.usable && w.old(s.ctime)}
	if d.known {
		w.gain.Add(1)
	}
	if was == nil || len(was.Entries) == 0 {
		return d
	}
	below := make(map[string]*Dir, len(was.Entries))
	for i := range was.Entries {
		if e := &was.Entries[i]; e.Sub != nil {
			below[e.Name] = e.Sub
		}
	}
	for i := range d.Entries {
		if e := &d.Entries[i]; e.Dir {
			e.Sub = below[e.Name]
		}
	}
	return d
}
