package graph

import (
	"fmt"
	"slices"
	"strings"
)

var names = []string{"a", "b", "c", "d", "o"}

func (g *game) token(theirs bool) string {
	g.tokens++
	s := fmt.Sprintf("s%d.", g.tokens)
	if theirs {
		s = fmt.Sprintf("X%d.", g.tokens)
		g.theirs[s] = true
	}
	return s
}

// pick gives an existing entry below a directory, of one of the kinds.
func (g *game) pick(below uint64, kinds ...Kind) (spot, bool) {
	var all []spot
	for _, s := range g.walk(below) {
		if len(kinds) == 0 || slices.Contains(kinds, g.inodes[s.ino].kind) {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return spot{}, false
	}
	return all[g.r.IntN(len(all))], true
}

// directory gives one below another, or that.
func (g *game) directory(below uint64) uint64 {
	if s, ok := g.pick(below, Dir); ok && g.r.IntN(3) > 0 {
		return s.ino
	}
	return below
}

// place gives an entry of a directory that may or may not be there.
func (g *game) place(below uint64) (uint64, string) {
	return g.directory(below), names[g.r.IntN(len(names))]
}

func (g *game) within(dir, ino uint64) bool {
	for ; dir != 0; dir = g.parent(dir) {
		if dir == ino {
			return true
		}
	}
	return false
}

// call is one call of an agent.
func (g *game) call() {
	dir, name := g.place(g.root)
	there := g.at(dir, name)
	switch g.r.IntN(11) {
	case 0, 1:
		if there == 0 {
			data := g.token(false)
			if g.r.IntN(3) == 0 {
				data = ""
			}
			g.tell("create %d/%s %q", dir, name, data)
			g.create(dir, name, data)
		}
	case 2:
		if s, ok := g.pick(g.root, File); ok {
			data := g.inodes[s.ino].data + g.token(false)
			if g.r.IntN(2) == 0 {
				data = ""
			}
			g.tell("write %d/%s = %d %q", s.dir, s.name, s.ino, data)
			g.modify(s, data)
		}
	case 3:
		if there == 0 {
			g.tell("mkdir %d/%s", dir, name)
			g.mkdir(dir, name)
		}
	case 4, 5:
		if s, ok := g.pick(g.root); ok {
			g.move(s, dir, name)
		}
	case 6:
		if s, ok := g.pick(g.root, File, Symlink); ok && there == 0 {
			g.tell("link %d/%s = %d as %d/%s", s.dir, s.name, s.ino, dir, name)
			g.link(s, dir, name)
		}
	case 7:
		if s, ok := g.pick(g.root, File, Symlink); ok {
			g.tell("unlink %d/%s = %d", s.dir, s.name, s.ino)
			g.unlink(s.dir, s.name)
		}
	case 8:
		if s, ok := g.pick(g.root, Dir); ok {
			g.tell("rm -r %d/%s = %d", s.dir, s.name, s.ino)
			g.removeAll(s.dir, s.name)
		}
	case 9:
		g.meta()
	case 10:
		if there == 0 {
			g.tell("symlink %d/%s", dir, name)
			g.symlink(dir, name, g.token(false))
		}
	}
}

// move renames, or exchanges.
func (g *game) move(s spot, dir uint64, name string) {
	over := g.at(dir, name)
	if g.within(dir, s.ino) && g.inodes[s.ino].kind == Dir || over == s.ino {
		return // it fails, or does nothing
	}
	if over != 0 && g.r.IntN(2) == 0 {
		if g.inodes[over].kind == Dir && g.within(s.dir, over) {
			return
		}
		g.tell("exchange %d/%s = %d with %d/%s = %d", s.dir, s.name, s.ino, dir, name, over)
		g.exchange(s.dir, s.name, dir, name)
		return
	}
	if over != 0 && ((g.inodes[over].kind == Dir) != (g.inodes[s.ino].kind == Dir) || len(g.inodes[over].entries) > 0) {
		return
	}
	g.tell("rename %d/%s = %d to %d/%s = %d", s.dir, s.name, s.ino, dir, name, over)
	g.rename(s.dir, s.name, dir, name)
}

func (g *game) meta() {
	s, ok := g.pick(g.root)
	if !ok || g.r.IntN(8) == 0 {
		s = spot{ino: g.root}
	}
	if g.r.IntN(2) == 0 {
		g.tell("chmod %d", s.ino)
		g.setMeta(s, "mode", fmt.Sprint(g.r.IntN(8)))
		return
	}
	g.tell("setxattr %d", s.ino)
	g.setMeta(s, "user.a", []string{"-", "=1", "=2"}[g.r.IntN(3)])
}

// outside is one change by another program, in the root or out of it.
func (g *game) outside() {
	base := g.root
	if g.r.IntN(4) == 0 {
		base = g.out
	}
	dir, name := g.place(base)
	there := g.at(dir, name)
	switch g.r.IntN(10) {
	case 0, 1:
		g.writeOutside(base)
	case 2, 3:
		if there == 0 {
			i := g.make(File)
			g.memory.set(dir, name, i.ino)
			if g.r.IntN(3) > 0 {
				g.memory.write(i, g.token(true))
			}
			g.tell("outside: new %d/%s = %d %q", dir, name, i.ino, i.data)
		}
	case 4:
		if there == 0 {
			g.tell("outside: mkdir %d/%s", dir, name)
			g.memory.set(dir, name, g.make(Dir).ino)
		}
	case 5:
		g.linkOutside(dir, name)
	case 6:
		if s, ok := g.pick(base); ok {
			g.tell("outside: rm -r %d/%s = %d", s.dir, s.name, s.ino)
			g.removeOutside(s)
		}
	case 7:
		g.saveOutside(base)
	case 8:
		g.moveOutside(dir, name)
	case 9:
		if s, ok := g.pick(base); ok {
			g.tell("outside: chmod %d/%s = %d", s.dir, s.name, s.ino)
			g.inodes[s.ino].meta["mode"] = fmt.Sprint(g.r.IntN(8))
		}
	}
}

func (g *game) writeOutside(base uint64) {
	s, ok := g.pick(base, File)
	if !ok {
		return
	}
	i := g.inodes[s.ino]
	data := i.data
	if g.r.IntN(3) == 0 {
		g.forget(i.data)
		data = ""
	}
	data += g.token(true)
	g.tell("outside: write %d/%s = %d %q", s.dir, s.name, s.ino, data)
	g.memory.write(i, data)
}

// forget: others have removed their tokens themselves.
func (g *game) forget(data string) {
	for _, s := range strings.SplitAfter(data, ".") {
		delete(g.theirs, s)
	}
}

func (g *game) linkOutside(dir uint64, name string) {
	from := g.root
	if g.r.IntN(2) == 0 {
		from = g.out
	}
	if s, ok := g.pick(from, File); ok && g.at(dir, name) == 0 {
		g.tell("outside: link %d/%s = %d as %d/%s", s.dir, s.name, s.ino, dir, name)
		g.memory.set(dir, name, s.ino)
	}
}

func (g *game) removeOutside(s spot) {
	if g.inodes[s.ino].kind == Dir {
		below := g.walk(s.ino)
		for k := len(below) - 1; k >= 0; k-- {
			g.dropOutside(below[k])
		}
	}
	g.dropOutside(s)
}

func (g *game) dropOutside(s spot) {
	if i := g.inodes[s.ino]; i.kind == File && g.links(s.ino) == 1 {
		g.forget(i.data)
	}
	g.memory.set(s.dir, s.name, 0)
}

// saveOutside replaces a file by another, as editors save.
func (g *game) saveOutside(base uint64) {
	s, ok := g.pick(base, File)
	if !ok {
		return
	}
	data := g.inodes[s.ino].data + g.token(true)
	g.tell("outside: save %d/%s = %d %q", s.dir, s.name, s.ino, data)
	i := g.make(File)
	i.meta["mode"] = g.inodes[s.ino].meta["mode"]
	g.memory.write(i, data)
	g.memory.set(s.dir, s.name, i.ino)
}

func (g *game) moveOutside(dir uint64, name string) {
	from := g.root
	if g.r.IntN(4) == 0 {
		from = g.out
	}
	s, ok := g.pick(from)
	if !ok || g.at(dir, name) != 0 || g.inodes[s.ino].kind == Dir && g.within(dir, s.ino) {
		return
	}
	g.tell("outside: mv %d/%s = %d to %d/%s", s.dir, s.name, s.ino, dir, name)
	g.memory.set(dir, name, s.ino)
	g.memory.set(s.dir, s.name, 0)
}
