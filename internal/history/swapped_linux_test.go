package history

import (
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/history/journal"
)

// swapped is what a step does, another program after it or during it, and an undo.
type swapped struct {
	name  string
	found map[string]string // by path; a directory ends in a slash
	steps []func(d *desk)   // what is nil is by another program, see then
	then  map[int]func(d *desk)
	undo  Request
	want  string // names and texts after the undo
	redo  string // and after its redo, "" where that is not asked
}

// exchange gives two names each other's meaning.
func (d *desk) exchange(t fataler, a, b string) {
	d.act(t, Exchange, d.at(a), d.at(b), func() error {
		return unix.Renameat2(unix.AT_FDCWD, d.at(a), unix.AT_FDCWD, d.at(b), unix.RENAME_EXCHANGE)
	})
}

// by runs something that another program does.
func by(t *testing.T, do ...error) {
	t.Helper()
	for _, err := range do {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestSwappedNames: where another program gives the step's files each other's names, an undo
// brings all of them back, and its redo what that program had written.
func TestSwappedNames(t *testing.T) {
	mv := func(d *desk, from, to string) error { return os.Rename(d.at(from), d.at(to)) }
	write := func(d *desk, name, text string) error { return os.WriteFile(d.at(name), []byte(text), 0o644) }
	for _, c := range []swapped{
		{
			"a file over another one, by force",
			map[string]string{"a": "A", "d": "D"},
			[]func(d *desk){func(d *desk) { d.put(t, "d", "s"); d.put(t, "a", "ss") }, nil},
			map[int]func(d *desk){1: func(d *desk) { by(t, mv(d, "a", "d")); d.outside(t, "d", " mine") }},
			Request{Steps: []uint64{1}, Mode: journal.Force}, "a=A d=D", "d=ss mine",
		},
		{
			"a file over another one, by force, where the step also renames",
			map[string]string{"a": "A", "d": "D", "e": "E"},
			[]func(d *desk){func(d *desk) { d.rename(t, "e", "x"); d.put(t, "a", "ss"); d.put(t, "d", "s") }, nil},
			map[int]func(d *desk){1: func(d *desk) { by(t, mv(d, "a", "d")); d.outside(t, "d", " mine") }},
			Request{Steps: []uint64{1}, Mode: journal.Force}, "a=A d=D e=E", "d=ss mine x=E",
		},
		{
			"a directory in the place of a file, by force, where the step also renames",
			map[string]string{"a": "A", "d/": "", "d/x": "D", "e": "E"},
			[]func(d *desk){func(d *desk) { d.rename(t, "e", "d/y"); d.put(t, "a", "s") }, nil},
			map[int]func(d *desk){1: func(d *desk) { by(t, os.Remove(d.at("a")), mv(d, "d", "a")) }},
			Request{Steps: []uint64{1}, Mode: journal.Force}, "a.undo-conflict/x=D a=A e=E", "a/x=D a/y=E",
		},
		{
			"a directory in the place of what the step had renamed, by force",
			map[string]string{"a": "A", "d/": "", "d/x": "D", "e": "E"},
			[]func(d *desk){func(d *desk) { d.rename(t, "e", "d/y"); d.rename(t, "a", "q") }, nil},
			map[int]func(d *desk){1: func(d *desk) { by(t, mv(d, "d", "a")) }},
			Request{Steps: []uint64{1}, Mode: journal.Force}, "a.undo-conflict/x=D a=A e=E", "a/x=D a/y=E q=A",
		},
		{
			"a swap with what the step had renamed, by force",
			map[string]string{"a": "A", "b": "B", "c": "C"},
			[]func(d *desk){func(d *desk) { d.rename(t, "b", "c"); d.put(t, "a", "s") }, nil},
			map[int]func(d *desk){1: func(d *desk) {
				by(t, mv(d, "a", "t"), mv(d, "c", "a"), mv(d, "t", "c"))
				d.outside(t, "c", " mine")
			}},
			Request{Steps: []uint64{1}, Mode: journal.Force}, "a=A b=B c=C", "a=B c=s mine",
		},
		{
			"over a file that stands for a directory, two steps",
			map[string]string{"d/": "", "d/x": "D", "a": "A", "e": "E"},
			[]func(d *desk){
				func(d *desk) { d.removeAll(t, "d"); d.put(t, "d", "s"); d.put(t, "a", "ss") }, nil,
				func(d *desk) { d.rename(t, "e", "d") },
			},
			map[int]func(d *desk){1: func(d *desk) { by(t, mv(d, "a", "d")); d.outside(t, "d", " mine") }},
			Request{Steps: []uint64{1, 2}, Mode: journal.KeepBoth}, "d.undo-conflict=ss mine d/x=D e=E", "",
		},
		{
			"a directory that was removed and made again, after a write",
			map[string]string{"d/": "", "d/a": "A"},
			[]func(d *desk){func(d *desk) { d.put(t, "d/a", "s") }, nil, func(d *desk) { d.mkdir(t, "d"); d.put(t, "d/b", "b") }},
			map[int]func(d *desk){1: func(d *desk) { by(t, os.RemoveAll(d.at("d"))) }},
			Request{Steps: []uint64{1}, Mode: journal.KeepBoth}, "d/a=A d/b=b", "d/b=b",
		},
		{
			"a directory and a file swapped, and the directory removed",
			map[string]string{"x/": "", "x/f": "F", "y": "Y"},
			[]func(d *desk){func(d *desk) { d.rename(t, "x", "t"); d.rename(t, "y", "x"); d.rename(t, "t", "y"); d.remove(t, "y/f") }, nil},
			map[int]func(d *desk){1: func(d *desk) { by(t, os.Remove(d.at("y"))) }},
			Request{Steps: []uint64{1}, Mode: journal.KeepBoth}, "x/f=F y=Y", "x=Y",
		},
		{
			"a directory that is gone, two steps",
			map[string]string{"e/": "", "e/a": "A", "e/b": "B"},
			[]func(d *desk){func(d *desk) { d.remove(t, "e/b") }, func(d *desk) { d.rename(t, "e", "x") }, nil},
			map[int]func(d *desk){2: func(d *desk) { by(t, os.RemoveAll(d.at("x")), write(d, "x", "mine")) }},
			Request{Steps: []uint64{1, 2}, Mode: journal.KeepBoth}, "e/b=B x=mine", "",
		},
		{
			"a second name for what the step has written, and writes again",
			map[string]string{"b": "B"},
			[]func(d *desk){func(d *desk) {
				d.put(t, "b", "s")
				d.quiet(t)
				by(t, os.Link(d.at("b"), d.at("d")))
				d.put(t, "d", "ss")
			}},
			nil,
			Request{Steps: []uint64{1}, Mode: journal.KeepBoth}, "b(of several names)=B d(of several names)=B", "b(of several names)=ss d(of several names)=ss",
		},
		{
			"a swap in the middle of a step",
			map[string]string{"a": "A", "b": "B"},
			[]func(d *desk){func(d *desk) {
				d.chmod(t, "b", 0o600)
				by(t, mv(d, "b", "t"), mv(d, "a", "b"), mv(d, "t", "a"))
				d.rename(t, "b", "c")
				d.remove(t, "a")
				d.put(t, "a", "s")
			}},
			nil,
			Request{Steps: []uint64{1}, Mode: journal.KeepBoth}, "b=B c=A", "",
		},
		{
			"a directory in the place of a backup, and a file put there, two steps",
			map[string]string{"d": "D", "e/": "", "e/a": "A"},
			[]func(d *desk){
				func(d *desk) { d.rename(t, "d", "d~"); d.put(t, "d", "s"); d.put(t, "e/a", "ss") },
				func(d *desk) { d.exchange(t, "e", "d~") }, nil,
			},
			map[int]func(d *desk){2: func(d *desk) { by(t, os.RemoveAll(d.at("d~")), write(d, "d~", "mine")) }},
			Request{Steps: []uint64{1, 2}, Mode: journal.KeepBoth}, "d=D d~.undo-conflict=mine e/a=A", "",
		},
		{
			"the same of a backup that is a link",
			map[string]string{"d": "D", "e/": "", "e/a": "A"},
			[]func(d *desk){
				func(d *desk) {
					d.link(t, "d", "d~")
					d.put(t, "t", "s")
					d.rename(t, "t", "d")
					d.put(t, "e/a", "ss")
				},
				func(d *desk) { d.exchange(t, "e", "d~") }, nil,
			},
			map[int]func(d *desk){2: func(d *desk) { by(t, os.RemoveAll(d.at("d~")), write(d, "d~", "mine")) }},
			Request{Steps: []uint64{1, 2}, Mode: journal.KeepBoth}, "d(of several names)=D d~.undo-conflict=mine e/a=A", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, write) })
	}
}

func (c *swapped) run(t *testing.T, write func(d *desk, name, text string) error) {
	d := newDesk(t)
	for _, name := range slices.Sorted(maps.Keys(c.found)) {
		if dir, is := strings.CutSuffix(name, "/"); is {
			by(t, os.Mkdir(d.at(dir), 0o755))
			continue
		}
		by(t, write(d, name, c.found[name]))
	}
	for i, step := range c.steps {
		if step == nil {
			c.then[i](d)
			continue
		}
		d.begin(t)
		step(d)
		d.quiet(t)
		d.end(t)
	}
	d.close(t)
	before := c.tree(t, d)
	v, err := d.undo(t, c.undo)
	if err != nil || len(v.Unrestorable) > 0 {
		t.Fatalf("of %q: %+v, %v", before, v, err)
	}
	if got := c.tree(t, d); got != c.want {
		t.Errorf("of %q: %q, want %q", before, got, c.want)
	}
	if c.redo == "" {
		return
	}
	l := d.read(t)
	if _, err := d.undo(t, Request{Steps: []uint64{l.Steps[len(l.Steps)-1].Number}, Redo: true}); err != nil {
		t.Fatal(err)
	}
	if got := c.tree(t, d); got != c.redo {
		t.Errorf("the redo: %q, want %q", got, c.redo)
	}
}

// tree gives all files with their texts; two that are one are told.
func (c *swapped) tree(t *testing.T, d *desk) string {
	t.Helper()
	var out []string
	for text, names := range texts(t, d.root) {
		for _, name := range strings.Fields(names) {
			if st, err := os.Lstat(d.at(name)); err != nil || st.Sys().(*syscall.Stat_t).Nlink != 1 {
				name += "(of several names)"
			}
			out = append(out, name+"="+text)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
