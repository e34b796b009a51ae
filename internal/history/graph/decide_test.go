package graph

import (
	"slices"
	"strings"
	"testing"
)

// scene is a world with the steps that were taken in it.
type scene struct {
	*world
	t     *testing.T
	taken [][]Transition
	last  result
}

func newScene(t *testing.T) *scene { return &scene{world: newWorld(true), t: t} }

// given makes a file before all steps.
func (s *scene) given(dir uint64, name, data string) uint64 {
	i := s.make(File)
	s.memory.write(i, data)
	s.memory.set(dir, name, i.ino)
	return i.ino
}

func (s *scene) dir(in uint64, name string) uint64 {
	i := s.make(Dir)
	s.memory.set(in, name, i.ino)
	return i.ino
}

func (s *scene) file(dir uint64, name string) spot { return spot{dir, name, s.at(dir, name)} }

func (s *scene) edit(ino uint64, data string) { s.memory.write(s.inodes[ino], data) }

// step is one of an agent.
func (s *scene) step(does func()) {
	s.begin(uint64(len(s.taken) + 1))
	does()
	s.taken = append(s.taken, s.end())
}

// undo takes the newest steps back.
func (s *scene) undo(n int, m Mode) *Decision {
	s.t.Helper()
	steps := slices.Clone(s.taken[len(s.taken)-n:])
	slices.Reverse(steps)
	s.last = s.run(steps, m)
	if s.last.err != nil {
		s.t.Fatal(s.last.err)
	}
	return s.last.d
}

// redo takes the last undo back.
func (s *scene) redo(m Mode) *Decision {
	s.t.Helper()
	steps := slices.Clone(s.last.records)
	slices.Reverse(steps)
	s.last = s.run(steps, m)
	if s.last.err != nil {
		s.t.Fatal(s.last.err)
	}
	return s.last.d
}

// has compares the root with lines NAME=DATA; a name after a name is the same file.
func (s *scene) has(want ...string) {
	s.t.Helper()
	first := make(map[uint64]string)
	path := map[uint64]string{s.root: "", s.out: "../"}
	var got []string
	for _, w := range append(s.walk(s.root), s.walk(s.out)...) {
		p, i := path[w.dir]+w.name, s.inodes[w.ino]
		switch of, known := first[w.ino]; {
		case i.kind == Dir:
			path[w.ino] = p + "/"
			got = append(got, p+"/")
		case known:
			got = append(got, p+" is "+of)
		default:
			first[w.ino] = p
			got = append(got, p+"="+i.data)
		}
	}
	if g, w := strings.Join(got, " "), strings.Join(want, " "); g != w {
		s.t.Errorf("there is\n%s\nand not\n%s", g, w)
	}
}

// conflicts compares the conflicts of a decision.
func (s *scene) conflicts(d *Decision, want ...Why) {
	s.t.Helper()
	var got []Why
	for _, c := range d.Conflicts {
		got = append(got, c.Why)
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("conflicts %v and not %v", got, want)
	}
}

// TestFindings are the smallest cases of what went wrong with paths.
func TestFindings(t *testing.T) {
	for name, test := range map[string]func(*scene){
		"an edit of a linked empty file stays when its other name comes back": func(s *scene) {
			e := s.given(s.root, "e", "")
			s.memory.set(s.root, "y", e)
			s.step(func() { s.unlink(s.root, "y") })
			s.edit(e, "mine")
			s.conflicts(s.undo(1, Abort))
			s.has("e=mine", "y is e")
		},
		"an edit by a name outside stays too": func(s *scene) {
			e := s.given(s.root, "e", "")
			s.memory.set(s.out, "log", e)
			s.step(func() { s.unlink(s.root, "e") })
			s.edit(e, "mine")
			s.undo(1, Abort)
			s.has("e=mine", "../log is e")
		},
		"an edit stays after rm -r, undo and redo of its directory": func(s *scene) {
			d := s.dir(s.root, "d")
			s.given(d, "x", "two")
			y := s.given(d, "y", "")
			s.memory.set(s.root, "e", y)
			s.step(func() { s.removeAll(s.root, "d") })
			s.edit(y, "mine")
			s.undo(1, Abort)
			s.has("d/", "e=mine", "d/x=two", "d/y is e")
			s.redo(Abort)
			s.has("e=mine")
		},
		"keep-both leaves an edit of a file with a changed mode": func(s *scene) {
			y := s.given(s.root, "y", "")
			s.step(func() { s.setMeta(s.file(s.root, "y"), "mode", "6") })
			s.edit(y, "mine")
			s.undo(1, KeepBoth)
			s.has("y=mine")
		},
		"keep-both leaves an edit of a file that was moved": func(s *scene) {
			y := s.given(s.root, "y", "")
			s.step(func() { s.rename(s.root, "y", s.root, "z") })
			s.edit(y, "mine")
			s.undo(1, KeepBoth)
			s.has("y=mine")
		},
		"a further name comes back with undo and redo": func(s *scene) {
			s.given(s.root, "f", "")
			s.step(func() { s.modify(s.file(s.root, "f"), "data") })
			s.step(func() { s.link(s.file(s.root, "f"), s.root, "g") })
			s.undo(2, Abort)
			s.has("f=")
			s.redo(Abort)
			s.has("f=data", "g is f")
		},
		"append and rm -r of linked files": func(s *scene) {
			d := s.dir(s.root, "d")
			s.memory.set(d, "y", s.given(d, "x", "two"))
			s.step(func() { s.modify(s.file(d, "y"), "two1"); s.removeAll(s.root, "d") })
			s.undo(1, Abort)
			s.has("d/", "d/x=two", "d/y is d/x")
			s.redo(Abort)
			s.has()
			s.undo(1, Abort)
			s.has("d/", "d/x=two", "d/y is d/x")
		},
		"a link that replaces a file of the same time is a change": func(s *scene) {
			nm := s.dir(s.root, "nm")
			v1, v2 := s.given(s.root, "v1", "one"), s.given(s.root, "v2", "TWO")
			s.inodes[v1].meta[Mtime], s.inodes[v2].meta[Mtime] = "1985", "1985"
			s.memory.set(nm, "i", v1)
			s.step(func() { s.unlink(nm, "i"); s.link(s.file(s.root, "v2"), nm, "i") })
			if len(Compose(s.taken[0])) == 0 {
				s.t.Error("no change")
			}
			s.undo(1, Abort)
			s.has("nm/", "v1=one", "v2=TWO", "nm/i is v1")
		},
		"a step in which nothing succeeded conflicts with nothing": func(s *scene) {
			s.given(s.root, "k", "")
			s.step(func() { s.modify(s.file(s.root, "k"), "1") })
			s.step(func() {})
			s.undo(2, Abort)
			s.has("k=")
		},
		"the rest of a step after one path of it": func(s *scene) {
			d := s.dir(s.root, "d")
			s.memory.set(s.root, "b", s.given(d, "a", "data"))
			s.step(func() { s.removeAll(s.root, "d"); s.unlink(s.root, "b") })
			b := entryKey(s.bind[s.root], "b")
			whole := s.taken[0]
			s.taken[0] = Select(whole, func(k Key) bool { return k == b })
			s.undo(1, Abort)
			s.has("b=data")
			s.taken[0] = whole
			if d := s.undo(1, Force); !d.Complete() || len(d.Conflicts) > 0 {
				s.t.Errorf("conflicts %v, lost %v", d.Conflicts, d.Lost)
			}
			s.has("b=data", "d/", "d/a is b")
		},
		"an edit in place of a file with several names": func(s *scene) {
			f := s.given(s.root, "f", "one")
			s.memory.set(s.root, "g", f)
			s.step(func() { s.modify(s.file(s.root, "f"), "two") })
			s.edit(f, "six")
			s.conflicts(s.undo(1, Abort), Changed)
			s.has("f=six", "g is f")
		},
		"a second name that a person gave stays, by force too": func(s *scene) {
			d := s.dir(s.root, "d")
			s.step(func() { s.create(s.root, "f", "x"); s.create(s.root, "g", "x"); s.unlink(s.root, "f") })
			f := s.given(s.root, "f", "mine")
			s.undo(1, Skip)
			s.memory.set(d, "a", f)
			s.step(func() { s.unlink(d, "a") })
			s.undo(1, Force)
			s.has("d/", "f=mine", "d/a is f")
		},
		"an object of git stays, and comes back": func(s *scene) {
			s.pinned["o"] = true
			s.step(func() { s.create(s.root, "o", "blob"); s.create(s.root, "f", "x") })
			if d := s.undo(1, Abort); len(d.Kept) != 2 || d.Kept[0].Why != Pinned || d.Kept[1].Why != InUse {
				s.t.Errorf("kept %v", d.Kept)
			}
			s.has("o=blob")
			s.step(func() { s.unlink(s.root, "o") })
			s.undo(1, Abort)
			s.has("o=blob")
		},
		"one by one after a forced undo over a change between the steps": func(s *scene) {
			s.step(func() { s.create(s.root, "d", "one") })
			s.step(func() { s.modify(s.file(s.root, "d"), "two") })
			s.edit(s.at(s.root, "d"), "mine")
			s.step(func() { s.unlink(s.root, "d") })
			s.undo(2, Force)
			s.has("d=one")
			records := s.last.records
			for _, r := range slices.Backward(records) {
				s.last.records = [][]Transition{r}
				if d := s.redo(Abort); !d.Complete() {
					s.t.Errorf("lost %v, conflicts %v", d.Lost, d.Conflicts)
				}
			}
			s.has()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.t = t
			test(s)
		})
	}
}
