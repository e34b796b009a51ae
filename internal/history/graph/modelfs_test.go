package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// inode is a file system object of the model.
type inode struct {
	ino     uint64
	kind    Kind
	data    string // tokens of a file, the target of a symlink
	wrote   int    // when data changed last
	meta    map[string]string
	entries map[string]uint64 // of a directory
}

// memory is a file system: the place that the history keeps, one outside of it,
// and the names that the store has.
type memory struct {
	inodes map[uint64]*inode
	next   uint64
	clock  int
	root   uint64
	out    uint64
	store  map[string]uint64
}

func newMemory() *memory {
	m := &memory{inodes: make(map[uint64]*inode), store: make(map[string]uint64)}
	m.root, m.out = m.make(Dir).ino, m.make(Dir).ino
	return m
}

func (m *memory) clone() *memory {
	c := *m
	c.store = maps.Clone(m.store)
	c.inodes = make(map[uint64]*inode, len(m.inodes))
	for k, v := range m.inodes {
		i := *v
		i.meta, i.entries = maps.Clone(v.meta), maps.Clone(v.entries)
		c.inodes[k] = &i
	}
	return &c
}

func (m *memory) tick() int { m.clock++; return m.clock }

func (m *memory) make(k Kind) *inode {
	m.next++
	i := &inode{ino: m.next, kind: k, meta: map[string]string{"mode": "7", "user.a": "-", Mtime: "0"}}
	if k == Dir {
		i.entries = make(map[string]uint64)
	}
	m.inodes[i.ino] = i
	m.touch(i)
	return i
}

func (m *memory) touch(i *inode) { i.meta[Mtime] = fmt.Sprint(m.tick()) }

func (m *memory) at(dir uint64, name string) uint64 { return m.inodes[dir].entries[name] }

// set makes an entry lead to an inode, or to none.
func (m *memory) set(dir uint64, name string, ino uint64) {
	d := m.inodes[dir]
	old := d.entries[name]
	if ino == 0 {
		delete(d.entries, name)
	} else {
		d.entries[name] = ino
	}
	m.touch(d)
	m.reap(old)
}

// reap forgets an inode that has no name at all.
func (m *memory) reap(ino uint64) {
	if ino == 0 || ino == m.root || ino == m.out || m.links(ino) > 0 {
		return
	}
	for _, s := range m.store {
		if s == ino {
			return
		}
	}
	delete(m.inodes, ino)
}

// links is the number of names, without those in the store.
func (m *memory) links(ino uint64) int {
	n := 0
	for _, d := range m.inodes {
		for _, e := range d.entries {
			if e == ino {
				n++
			}
		}
	}
	return n
}

func (m *memory) write(i *inode, data string) {
	i.data, i.wrote = data, m.tick()
	m.touch(i)
}

// parent is the directory that a directory is in, 0 for none.
func (m *memory) parent(ino uint64) uint64 {
	for _, d := range m.inodes {
		for _, e := range d.entries {
			if e == ino {
				return d.ino
			}
		}
	}
	return 0
}

// attached reports whether a directory can be reached from the root by its names.
func (m *memory) attached(ino uint64) bool {
	for ino != 0 {
		if ino == m.root {
			return true
		}
		ino = m.parent(ino)
	}
	return false
}

// spot is an entry of the model.
type spot struct {
	dir  uint64
	name string
	ino  uint64
}

// walk gives all entries below a directory, sorted.
func (m *memory) walk(dir uint64) []spot {
	var all []spot
	queue := []uint64{dir}
	for len(queue) > 0 {
		d := m.inodes[queue[0]]
		queue = queue[1:]
		for _, name := range slices.Sorted(maps.Keys(d.entries)) {
			ino := d.entries[name]
			all = append(all, spot{d.ino, name, ino})
			if m.inodes[ino].kind == Dir {
				queue = append(queue, ino)
			}
		}
	}
	return all
}

// dump is all that can be seen: of the root and of outside, and which names are
// one file. With times also when they were written.
func (m *memory) dump(times bool) string {
	var b strings.Builder
	first := make(map[uint64]string)
	var list func(dir uint64, path string)
	list = func(dir uint64, path string) {
		d := m.inodes[dir]
		for _, name := range slices.Sorted(maps.Keys(d.entries)) {
			i := m.inodes[d.entries[name]]
			p := path + "/" + name
			if f, ok := first[i.ino]; ok {
				fmt.Fprintf(&b, "%s = %s\n", p, f)
				continue
			}
			first[i.ino] = p
			fmt.Fprintf(&b, "%s %d %q %s %s", p, i.kind, i.data, i.meta["mode"], i.meta["user.a"])
			if times {
				fmt.Fprintf(&b, " @%s", i.meta[Mtime])
			}
			b.WriteByte('\n')
			if i.kind == Dir {
				list(i.ino, p)
			}
		}
	}
	for _, r := range []uint64{m.root, m.out} {
		i := m.inodes[r]
		fmt.Fprintf(&b, "%d: %s %s\n", r, i.meta["mode"], i.meta["user.a"])
		list(r, fmt.Sprint(r))
	}
	return b.String()
}
