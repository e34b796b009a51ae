package history

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/history/disk"
)

// A disk is recorded while something is done on it: all its inodes at each moment,
// and what was brought to the disk when. From that come the states that a loss of
// power may leave. Two adversaries choose:
//
//   - ordered is a file system like ext4: changes of names and metadata survive up
//     to some moment and not beyond, and fsync(2) of something brings that moment
//     past its last change. What files hold reaches the disk in any order, in parts,
//     or as zeros, up to the last sync of that file.
//   - loose does what POSIX allows: each change of names that was not synced by its
//     directory is there or not, if only those of the same name keep their order and
//     nothing is lost that only moves.

// place of an inode: its device above these bits, its number below.
const deviceBits = 40

func inodeKey(device uint32, ino uint64) uint64 { return uint64(device)<<deviceBits | ino }

// inode is one at one moment.
type inode struct {
	kind, mode    uint32
	key           uint64
	birth, ctime  int64
	mtime         unix.Timespec
	size          int64
	data          []byte // without zeros at its end
	target, xattr string
	names         map[string]uint64
}

// image is all disks at one moment.
type image map[uint64]*inode

// naming is a change of names that is made at once.
type naming struct {
	at    int
	names map[nameIn]uint64
	dirs  map[uint64]bool // that are made or removed by it
}

type nameIn struct {
	dir  uint64
	name string
}

// flush is a sync of one inode, or of its whole disk; at is the last moment that it
// covers.
type flush struct {
	at  int
	key uint64
	all bool
}

func (f *flush) covers(key uint64) bool {
	return f.key == key || f.all && f.key>>deviceBits == key>>deviceBits
}

// recorder is what is recorded of the disks at some directories.
type recorder struct {
	t       testing.TB
	bases   []string
	roots   []uint64
	images  []image
	namings []naming
	flushes []flush
	same    map[uint64]*inode
}

// record begins to record what is below directories, each a file system of its own;
// what is there is on the disk.
func record(t testing.TB, bases ...string) *recorder {
	r := &recorder{t: t, bases: bases, same: make(map[uint64]*inode)}
	for _, base := range bases {
		r.roots = append(r.roots, r.scan(make(image), base))
	}
	r.look()
	r.all()
	disk.Trial = func(call string) error {
		if call != "look" && call != "open" {
			r.look()
		}
		return nil
	}
	disk.Synced = func(fd int, all bool) {
		r.look()
		st, err := statKey(fd, "")
		if err != nil {
			t.Fatal(err)
		}
		r.flushes = append(r.flushes, flush{len(r.images) - 1, inodeKey(st.Dev_minor, st.Ino), all})
	}
	t.Cleanup(stopRecording)
	return r
}

func statKey(fd int, at string) (*unix.Statx_t, error) {
	var st unix.Statx_t
	return &st, unix.Statx(fd, at, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
}

func stopRecording() { disk.Trial, disk.Synced, disk.Seen = nil, nil, nil }

// now is the last moment.
func (r *recorder) now() int {
	r.look()
	return len(r.images) - 1
}

// all is a sync of everything.
func (r *recorder) all() {
	for _, root := range r.roots {
		r.flushes = append(r.flushes, flush{len(r.images) - 1, root, true})
	}
}

// look adds a moment if anything has changed.
func (r *recorder) look() {
	now := make(image)
	for _, base := range r.bases {
		r.scan(now, base)
	}
	if n := len(r.images); n > 0 {
		before := r.images[n-1]
		if maps.Equal(before, now) {
			return
		}
		if c := changed(before, now, n); len(c.names) > 0 {
			r.namings = append(r.namings, c)
		}
	}
	r.images = append(r.images, now)
}

func (r *recorder) scan(to image, at string) uint64 {
	st, err := statKey(unix.AT_FDCWD, at)
	if err != nil {
		r.t.Fatal(err)
	}
	key := inodeKey(st.Dev_minor, st.Ino)
	if to[key] != nil {
		return key
	}
	n := &inode{
		kind: uint32(st.Mode) & unix.S_IFMT, mode: uint32(st.Mode) & 0o7777, key: key,
		birth: disk.Nanoseconds(st.Btime), ctime: disk.Nanoseconds(st.Ctime), mtime: unix.Timespec{Sec: st.Mtime.Sec, Nsec: int64(st.Mtime.Nsec)},
	}
	to[key] = n
	value := make([]byte, 100)
	if l, err := unix.Lgetxattr(at, "user.x", value); err == nil {
		n.xattr = string(value[:l])
	}
	switch n.kind {
	case unix.S_IFREG:
		n.size, n.data = int64(st.Size), content(r.t, at)
	case unix.S_IFLNK:
		n.target, _ = os.Readlink(at)
	case unix.S_IFDIR:
		n.names = make(map[string]uint64)
		entries, err := os.ReadDir(at)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, e := range entries {
			n.names[e.Name()] = r.scan(to, at+"/"+e.Name())
		}
	}
	if was := r.same[key]; was != nil && was.equal(n) {
		to[key] = was
	} else {
		r.same[key] = n
	}
	return key
}

// content reads a file up to its first hole: journals are long, and hold nothing
// yet where they are.
func content(t testing.TB, at string) []byte {
	f, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	end, err := unix.Seek(int(f.Fd()), 0, unix.SEEK_HOLE)
	if err != nil {
		return nil // it is empty
	}
	data := make([]byte, end)
	n, _ := f.ReadAt(data, 0)
	return bytes.TrimRight(data[:n], "\x00")
}

func (n *inode) equal(m *inode) bool {
	return n.kind == m.kind && n.mode == m.mode && n.birth == m.birth && n.ctime == m.ctime &&
		n.mtime == m.mtime && n.size == m.size && n.target == m.target && n.xattr == m.xattr && bytes.Equal(n.data, m.data) && maps.Equal(n.names, m.names)
}

// changed gives what became of names.
func changed(before, now image, at int) naming {
	c := naming{at, make(map[nameIn]uint64), make(map[uint64]bool)}
	for _, pair := range [][2]image{{before, now}, {now, before}} {
		for ino, n := range pair[0] {
			m := pair[1][ino]
			if m == n || n.kind != unix.S_IFDIR {
				continue
			}
			if m == nil {
				c.dirs[ino] = true
				m = &inode{}
			}
			for name, to := range n.names {
				if m.names[name] == to {
					continue
				}
				var becomes uint64
				if dir := now[ino]; dir != nil {
					becomes = dir.names[name]
				}
				c.names[nameIn{ino, name}] = becomes
			}
		}
	}
	return c
}

// loss is what a loss of power leaves.
type loss struct {
	names image // the directories count, and what metadata there is
	data  map[uint64]*inode
	upTo  []int // of each disk: the last moment whose metadata are there, where they are in order
}

// ordered is a loss at a moment.
func (r *recorder) ordered(at int, rng *rand.Rand) *loss {
	out := &loss{names: make(image), data: make(map[uint64]*inode)}
	for _, root := range r.roots {
		safe := 0
		for i := range r.flushes {
			if f := &r.flushes[i]; f.at <= at && f.key>>deviceBits == root>>deviceBits {
				safe = max(safe, r.lastChange(f))
			}
		}
		upTo := safe + pick(rng, at-safe)
		out.upTo = append(out.upTo, upTo)
		for key, n := range r.images[upTo] {
			if key>>deviceBits == root>>deviceBits {
				out.names[key] = n
			}
		}
	}
	for key, n := range out.names {
		if n.kind == unix.S_IFREG {
			upTo := out.upTo[slices.IndexFunc(r.roots, func(root uint64) bool { return root>>deviceBits == key>>deviceBits })]
			from := max(r.syncedAt(key, at), 0)
			out.data[key] = r.mixed(key, at, n, rng).cut(r.sizeAt(key, from+rng.IntN(max(1, upTo-from+1))))
		}
	}
	return out
}

// sizeAt is how long a file was at some moment.
func (r *recorder) sizeAt(key uint64, at int) int64 {
	if n := r.images[at][key]; n != nil {
		return n.size
	}
	return 0
}

// cut gives a file a length, which is of its metadata.
func (n *inode) cut(size int64) *inode {
	if n.size == size {
		return n
	}
	out := *n
	out.size, out.data = size, n.data[:min(int64(len(n.data)), size)]
	return &out
}

// pick chooses from 0 to n, the ends more often.
func pick(rng *rand.Rand, n int) int {
	switch rng.IntN(4) {
	case 0:
		return 0
	case 1:
		return n
	}
	return rng.IntN(n + 1)
}

// lastChange is when something changed last that is synced.
func (r *recorder) lastChange(f *flush) int {
	at := f.at
	for !f.all && at > 0 && r.images[at][f.key] == r.images[at-1][f.key] {
		at--
	}
	return at
}

// mixed is a file of which what was not synced has partly reached the disk.
func (r *recorder) mixed(ino uint64, at int, n *inode, rng *rand.Rand) *inode {
	from := r.syncedAt(ino, at)
	old, later := &inode{}, r.images[at][ino]
	if from >= 0 && r.images[from][ino] != nil {
		old = r.images[from][ino]
	}
	if later == nil {
		later = n
	}
	if v := r.images[max(from, 0)+rng.IntN(at-max(from, 0)+1)][ino]; v != nil && rng.IntN(2) == 0 {
		later = v // of some moment in between
	}
	if old.size == later.size && bytes.Equal(old.data, later.data) {
		return old
	}
	out := *later
	switch rng.IntN(6) {
	case 0:
		out.size, out.data = old.size, old.data
	case 1: // room was made, and nothing written
		out.data = old.data
	case 2, 3: // blocks in any order
		size := []int{512, 4096}[rng.IntN(2)]
		out.data = make([]byte, max(len(old.data), len(later.data)))
		copy(out.data, old.data)
		for b := 0; b < len(later.data); b += size {
			if rng.IntN(2) == 0 {
				copy(out.data[b:], later.data[b:min(b+size, len(later.data))])
			}
		}
	case 4: // torn
		k := rng.IntN(len(later.data) + 1)
		out.data = append(slices.Clone(later.data[:k]), old.data[min(k, len(old.data)):]...)
		if rng.IntN(2) == 0 {
			out.size = int64(len(out.data))
		}
	}
	out.data = out.data[:min(int64(len(out.data)), out.size)]
	return &out
}

// syncedAt is when a file was synced last, -1 for never.
func (r *recorder) syncedAt(ino uint64, at int) int {
	last := -1
	for i := range r.flushes {
		if f := &r.flushes[i]; f.at <= at && f.covers(ino) {
			last = max(last, f.at)
		}
	}
	return last
}

// loose is a loss at a moment, in the worst order.
func (r *recorder) loose(at int, rng *rand.Rand) *loss {
	in := r.survivors(at, rng)
	out := &loss{names: make(image), data: make(map[uint64]*inode)}
	for i := 0; i <= at; i++ { // of each inode the last metadata that are there
		for ino, n := range r.images[i] {
			if out.names[ino] == nil || i <= r.syncedAt(ino, at) || rng.IntN(2) == 0 {
				copied := *n
				copied.names = nil
				out.names[ino] = &copied
			}
		}
	}
	for ino, n := range out.names {
		switch n.kind {
		case unix.S_IFDIR:
			n.names = make(map[string]uint64)
			if first := r.images[0][ino]; first != nil {
				maps.Copy(n.names, first.names)
			}
		case unix.S_IFREG:
			out.data[ino] = r.mixed(ino, at, n, rng)
		}
	}
	for i, c := range r.namings {
		if !in[i] {
			continue
		}
		for e, to := range c.names {
			if dir := out.names[e.dir]; dir != nil {
				if delete(dir.names, e.name); to != 0 {
					dir.names[e.name] = to
				}
			}
		}
	}
	return out
}

// survivors says which changes of names are there: those that were synced, some
// others, and what either cannot be there without.
func (r *recorder) survivors(at int, rng *rand.Rand) []bool {
	in := make([]bool, len(r.namings))
	odds := 1 + rng.IntN(4)
	for i := len(in) - 1; i >= 0; i-- {
		c := &r.namings[i]
		if c.at > at {
			continue
		}
		in[i] = in[i] || rng.IntN(4) < odds
		for j := range r.flushes {
			f := &r.flushes[j]
			in[i] = in[i] || f.at >= c.at && f.at <= at && c.synced(f)
		}
		for j := 0; in[i] && j < i; j++ {
			in[j] = in[j] || c.needs(&r.namings[j])
		}
	}
	return in
}

func (c *naming) synced(f *flush) bool {
	for e := range c.names {
		if f.covers(e.dir) {
			return true
		}
	}
	return false
}

func (c *naming) in(dir uint64) bool {
	for e := range c.names {
		if e.dir == dir {
			return true
		}
	}
	return false
}

// needs says whether a change cannot have been made without an earlier one.
func (c *naming) needs(before *naming) bool {
	for e := range before.names {
		if _, ok := c.names[e]; ok || c.dirs[e.dir] {
			return true
		}
	}
	for dir := range before.dirs {
		if c.in(dir) {
			return true
		}
	}
	return false
}
