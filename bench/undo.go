package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// The rows of the undo suite.
const (
	rowCopy = "cp -a of the tree"
	rowUndo = "undo of rm -rf of the tree"
	rowRedo = "redo of it"

	rowOverwrite     = "1 GB overwritten, " + wayOff
	rowOverwriteKept = "1 GB overwritten, " + wayOn
	rowOverwriteUndo = "undo of it"
)

// undoTree makes 10,000 files of 2 KiB in a hundred directories.
const undoTree = `mkdir tree
for d in $(seq 100); do mkdir tree/$d; head -c 204800 /dev/urandom | split -a 3 -b 2048 - tree/$d/; done
`

// undo measures what taking back costs.
func (b *historySuite) undo() table {
	t := table{title: "The history: undo", unit: "ms", about: "From fork to end of `carrel undo` " +
		"after `carrel run -- rm -rf` of 10,000 files of 2 KiB, against `cp -a` of the same tree; and one file of 1 GB written over in place, " +
		"which has to be copied first where the file system has no clones. " + aboutFresh}
	fs, note := b.orPlain(ext4)
	t.about += note
	const removed = undoTree + `"$CARREL" run -- rm -rf tree` + "\n"
	list := []*contender{
		{name: rowCopy, prepare: undoTree, argv: []string{"cp", "-a", "tree", "copy"}},
		{name: rowUndo, prepare: removed, argv: []string{b.carrel, "undo"}},
		{name: rowRedo, prepare: removed + `"$CARREL" undo`, argv: []string{b.carrel, "redo"}},
	}
	b.wholeRuns("undo: rm -rf", fs, min(9, b.rounds), list)
	t.rows = rows(list)
	t.compare(rowUndo, rowCopy, 1, "undo of `rm -rf` of 10,000 files, against `cp -a`")
	b.overwrites(&t, fs)
	return t
}

// wholeRuns measures from start to end.
func (b *historySuite) wholeRuns(title string, fs fileSystem, rounds int, list []*contender) {
	b.anew(title, fs, rounds, list, func(c *contender, t took, _ string) error {
		c.got = append(c.got, t.whole)
		return nil
	})
}

// overwrites adds the rows of the large file.
func (b *historySuite) overwrites(t *table, fs fileSystem) {
	const big = "head -c 1073741824 /dev/zero > big\n"
	dd := []string{"dd", "if=/dev/zero", "of=big", "bs=1M", "count=1024", "conv=notrunc", "status=none"}
	list := []*contender{
		{name: rowOverwrite, prepare: big, argv: b.walls("", "off").argv(dd)},
		{name: rowOverwriteKept, prepare: big, argv: b.walls("", "on").argv(dd)},
		{name: rowOverwriteUndo, prepare: big + `"$CARREL" run -- ` + strings.Join(dd, " "), argv: []string{b.carrel, "undo"}},
	}
	b.wholeRuns("undo: 1 GB on "+fs.name, fs, min(3, b.rounds), list)
	t.rows = append(t.rows, rows(list)...)
	kept := ratio(t.median(rowOverwriteKept), t.median(rowOverwrite))
	t.verdicts = append(t.verdicts, fmt.Sprintf("a 1 GB overwrite with the history, against one without: **%s**", times(kept)))
}

// clones measures the large file where the file system has clones.
func (b *historySuite) clones() table {
	t := table{title: "The history: a file system with clones", unit: "ms", about: "The same file of 1 GB on Btrfs, likewise."}
	if err := b.usable(btrfs); err != nil {
		t.failed(err)
		return t
	}
	b.overwrites(&t, btrfs)
	return t
}

// The rows of the million suite.
const (
	rowManyCopy = "cp -a"
	rowManyOff  = "rm -rf, " + wayOff
	rowManyOn   = "rm -rf, " + wayOn
	rowManyUndo = "undo"
	rowManyRedo = "redo"
	rowManyList = "carrel history, the second time"
)

// million measures once, one after the other, what a large step costs.
func (b *historySuite) million() table {
	const paths, limit = 1_000_000, 15 * time.Minute
	t := table{title: "The history: a million paths", unit: "ms", about: "A tree of 1,000,000 files of 20 bytes in 1,000 directories is removed in one run; taken back; made again. Once each, in this order."}
	dir := b.fixture.root + "/million"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.about += " Not measured: " + err.Error()
		return t
	}
	if err := tree(dir+"/tree", paths, "file%03d"); err != nil {
		t.about += " Not measured: " + err.Error()
		return t
	}
	c := "'" + b.carrel + "'"
	rmAll := " -- rm -rf tree"
	for _, row := range []struct{ name, prepare, work string }{
		{rowManyCopy, "", "cp -a tree copy"},
		{rowManyOff, "mv tree kept; mv copy tree", c + " run --history off" + rmAll},
		{rowManyOn, "mv kept tree", c + " run" + rmAll},
		{rowManyList, c + " history", c + " history"},
		{rowManyUndo, "", c + " undo"},
		{rowManyRedo, "", c + " redo"},
	} {
		fmt.Fprintf(b.progress, "\r%-40s %s ", "a million paths", row.name)
		script := "set -e\n" + row.prepare + " >/dev/null\nsync -f .\ns=${EPOCHREALTIME/./}\n" + row.work + " >/dev/null 2>&1\necho $((${EPOCHREALTIME/./}-s))"
		one := &contender{name: row.name}
		out, err := outputWithin(limit, dir, b.fixture.env, []string{find("bash"), "-c", script})
		if micros, e := strconv.ParseFloat(strings.TrimSpace(out), 64); err == nil && e == nil {
			one.got = samples{micros / 1000}
		} else {
			one.problem = errors.Join(err, e)
		}
		t.rows = append(t.rows, rows([]*contender{one})...)
		if one.problem != nil {
			break
		}
	}
	fmt.Fprintln(b.progress)
	t.compare(rowManyUndo, rowManyCopy, 1, "undo of `rm -rf` of 1,000,000 files, against `cp -a`")
	return t
}
