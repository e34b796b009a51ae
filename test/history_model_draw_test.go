//go:build linux

package e2e

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// class is what a seed draws.
type class struct {
	name                 string
	links, edits, during bool
}

var classes = []class{
	{name: "alone"},
	{name: "links", links: true},
	{name: "edits", edits: true},
	{name: "edits during steps", edits: true, during: true},
	{name: "links and edits", links: true, edits: true},
	{name: "all", links: true, edits: true, during: true},
}

// drawer draws what happens, by a seed, from what is there.
type drawer struct {
	*rand.Rand
	class
	other bool // the history is on another file system
	texts int
	drawn int
	made  []string // paths that operations drawn before will have made
	last  []string // paths that were drawn, also for other steps: changes are to meet
}

func newDrawer(seed int) *drawer {
	return &drawer{Rand: rand.New(rand.NewSource(int64(seed))), class: classes[seed/4%len(classes)], other: seed%4 == 0}
}

func (d *drawer) one(words ...string) string { return words[d.Intn(len(words))] }

// chance is true in so many of a hundred cases.
func (d *drawer) chance(percent int) bool { return d.Intn(100) < percent }

// text is a new one; those of edits are tokens.
func (d *drawer) text(prefix string) string {
	d.texts++
	return fmt.Sprintf("%s%04d;", prefix, d.texts)
}

func (d *drawer) often() string { return d.one("1", "1", "1", "3", "40", "900", "12000") }

// names has odd ones among it.
var names = []string{"a", "b", "c", "e", "n", "a b", "-n", "\xff'", "new\nline"}

// project is what makes a small project.
func (d *drawer) project() []op {
	dirs := []string{".", "d0", "d1", "d0/d2", "d3"}
	ops := []op{{"mkdir", "d0"}, {"mkdir", "d1"}, {"mkdir", "d0/d2"}, {"mkdir", "d3"}}
	var files []string
	for i := range 12 {
		at := filepath.Join(d.one(dirs...), "f"+strconv.Itoa(i))
		often := d.often()
		if d.chance(30) {
			often = "0"
		}
		ops = append(ops, op{"create", at, d.text("s"), often})
		files = append(files, at)
	}
	ops = append(ops, op{"sparse", files[0], d.text("s"), "1"}, op{"set", files[1], "user.a", "one"}, op{"set", files[2], "user.b", "two"},
		op{"set", "d1", "user.dir", "three"}, op{"symlink", "../" + files[3], "d1/l0"}, op{"symlink", "nowhere", "l1"}, op{"fifo", "d3/p"},
		op{"create", beyond + "/o0", d.text("s"), "3"}, op{"chmod", d.one("600", "640", "444"), files[4]})
	if d.links {
		ops = append(ops, op{"link", files[5], filepath.Join(d.one(dirs...), "h0")}, op{"link", files[6], filepath.Join(d.one(dirs...), "h1")},
			op{"link", files[6], "h2"}, op{"link", files[7], beyond + "/h3"}, op{"link", files[8], beyond + "/h4"})
	}
	for _, at := range []string{files[9], files[10], "d3"} {
		if d.chance(50) {
			ops = append(ops, op{"age", at})
		}
	}
	return ops
}

// pick gives a path of the project that is there, preferably one with several names.
func (d *drawer) pick(now *tree, suits func(thing) bool) string {
	var all []string
	d.last = d.last[max(0, len(d.last)-8):]
	for _, path := range now.paths() {
		if path != "." && !strings.HasPrefix(path, "..") && suits(now.things[path]) {
			all = append(all, path)
			if now.things[path].group != "" {
				all = append(all, path, path)
			}
		}
	}
	if len(d.made) > 0 && d.chance(30) {
		all = d.made
	} else if d.chance(50) {
		again := slices.DeleteFunc(slices.Clone(d.last), func(path string) bool { return !slices.Contains(all, path) })
		if len(again) > 0 {
			all = again
		}
	}
	if len(all) == 0 {
		return "missing"
	}
	path := d.one(all...)
	d.last = append(d.last, path)
	return path
}

func isFile(one thing) bool { return one.kind == syscall.S_IFREG }
func isDir(one thing) bool  { return one.kind == syscall.S_IFDIR }
func isAny(thing) bool      { return true }

// place is a name that may be new.
func (d *drawer) place(now *tree) string {
	dir := "."
	if d.chance(65) {
		dir = d.pick(now, isDir)
	}
	at := filepath.Join(dir, d.one(names...))
	d.made, d.last = append(d.made, at), append(d.last, at)
	return at
}

// content is an operation that writes.
func (d *drawer) content(now *tree, prefix string) op {
	verb := d.one("write", "append", "patch", "sneak", "save", "mmap", "append", "write", "sparse")
	if prefix == "T" && verb == "mmap" || d.other && verb == "sparse" {
		verb = "patch"
	}
	often := d.often()
	if verb == "mmap" || verb == "patch" || verb == "sneak" {
		often = "1"
	}
	return op{verb, d.pick(now, isFile), d.text(prefix), often}
}

// operation draws one change.
func (d *drawer) operation(now *tree, prefix string) op {
	switch n := d.Intn(100); {
	case d.links && d.chance(12):
		return op{"link", d.pick(now, isFile), d.place(now)}
	case n < 28:
		return d.content(now, prefix)
	case n < 36:
		return op{"create", d.place(now), d.text(prefix), d.one("0", "1", "50")}
	case n < 41:
		return op{"mkdir", d.place(now)}
	case n < 49:
		return op{"rename", d.pick(now, isAny), d.place(now)}
	case n < 54:
		return op{"rename", d.pick(now, isDir), d.place(now)}
	case n < 58:
		return op{"rename", d.pick(now, isAny), d.pick(now, isAny)}
	case n < 61:
		return op{"exchange", d.pick(now, isAny), d.pick(now, isAny)}
	case n < 74:
		return op{"unlink", d.pick(now, isAny)}
	case n < 80:
		return op{"rmtree", d.pick(now, isDir)}
	case n < 83:
		return op{"symlink", d.one("nowhere", "d0", "f1", "../x"), d.place(now)}
	case n < 84:
		return op{"fifo", d.place(now)}
	case n < 87:
		return op{"truncate", d.pick(now, isFile), d.one("0", "3", "700", "5000")}
	case n < 91:
		return op{"chmod", d.mode(), d.pick(now, isAny)}
	case n < 93:
		return op{"touch", d.pick(now, isAny)}
	case n < 97:
		return op{"set", d.pick(now, isAny), d.one("user.a", "user.b"), d.text("v")}
	}
	return op{"unset", d.pick(now, isAny), d.one("user.a", "user.b")}
}

// mode leaves the tests able to look, and the history able to copy.
func (d *drawer) mode() string {
	if os.Getuid() != 0 || d.other {
		return d.one("700", "740", "750", "755")
	}
	return d.one("0", "0", "600", "640", "755", "700", "500", "444")
}

func (d *drawer) operations(now *tree, prefix string, most int) []op {
	var ops []op
	d.made = nil
	for range 1 + d.Intn(most) {
		ops = append(ops, d.operation(now, prefix))
	}
	return ops
}

// edit is what the person does, a part of it beside the project.
func (d *drawer) edit(now *tree) []op {
	if d.links && d.chance(25) {
		at := beyond + "/" + d.one("h3", "h4", "o0")
		if d.chance(30) {
			return []op{{"unlink", at}}
		}
		return []op{{d.one("append", "patch", "sneak", "save"), at, d.text("T"), "1"}}
	}
	d.made = nil
	if d.chance(60) {
		return []op{d.content(now, "T")}
	}
	return d.operations(now, "T", 2)
}

// step is a run.
func (d *drawer) step(now *tree) item {
	i := item{step: d.operations(now, "s", 4)}
	if d.during && d.chance(50) {
		k := d.Intn(len(i.step) + 1)
		i.during = d.edit(now)
		i.step = append(append(append([]op{}, i.step[:k]...), op{"hold"}), i.step[k:]...)
	}
	return i
}

// next draws what happens next: steps and edits, then mostly commands, and in the end
// all the way back and forth.
func (d *drawer) next(m *model) (item, bool) {
	const early, all = 5, 14
	d.drawn++
	switch {
	case m.counter != nil:
		return item{command: m.counter}, true
	case d.drawn > all+2:
		return item{}, false
	case d.drawn > all:
		return d.whole(m, d.drawn == all+2), true
	case d.edits && d.chance(map[bool]int{true: 35, false: 15}[d.drawn <= early]):
		return item{edit: d.edit(m.now)}, true
	case d.drawn <= early || d.chance(20):
		return d.step(m.now), true
	}
	if m.refused != nil && d.chance(70) {
		return item{command: append(append([]string{}, m.refused...), d.conflictMode()), dry: d.chance(25)}, true
	}
	return d.command(m), true
}

func (d *drawer) conflictMode() string { return d.one("--keep-both", "--force", "--skip-conflicts") }

// whole is all of the undos, or of the redos.
func (d *drawer) whole(m *model, redo bool) item {
	n := 0
	for _, enough := m.chosen(redo, n+1); enough; _, enough = m.chosen(redo, n+1) {
		n++
	}
	return item{command: []string{map[bool]string{true: "redo", false: "undo"}[redo], strconv.Itoa(max(n, 1))}}
}

// command draws an undo or a redo.
func (d *drawer) command(m *model) item {
	redo := d.chance(45)
	if _, some := m.chosen(redo, 1); !some {
		redo = !redo
	}
	words := []string{map[bool]string{true: "redo", false: "undo"}[redo]}
	if n := 2 + d.Intn(2); d.chance(35) {
		if _, enough := m.chosen(redo, n); enough {
			words = append(words, strconv.Itoa(n))
		}
	}
	if !redo && len(words) == 1 && d.chance(20) {
		if steps, some := m.chosen(false, 1); some {
			words = append(words, "--path", d.changedBy(m.done[steps[0]]))
		}
	}
	if d.chance(map[bool]int{true: 25, false: 8}[d.edits]) {
		words = append(words, d.conflictMode())
	}
	return item{command: words, dry: d.chance(25)}
}

// changedBy is a path that a step changed.
func (d *drawer) changedBy(e effect) string {
	var out []string
	if e.before != nil {
		for _, t := range []*tree{e.before, e.after} {
			for _, path := range t.paths() {
				if path != "." && !strings.HasPrefix(path, "..") && e.before.told(path, false) != e.after.told(path, false) {
					out = append(out, path)
				}
			}
		}
	}
	if len(out) == 0 {
		return "d0"
	}
	return d.one(out...)
}
