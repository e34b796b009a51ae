package main

import (
	"fmt"
	"os"
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

// undoTree are 10,000 files of 2 KiB in a hundred directories.
const undoTree = "mkdir tree && for d in $(seq 100); do mkdir tree/$d; head -c 204800 /dev/urandom | split -a 3 -b 2048 - tree/$d/; done; head -c 1073741824 /dev/zero > big"

// undo measures what taking back costs, each time with a new history.
func (b *bench) undo() table {
	t := table{title: "The history: undo", unit: "ms", about: "From fork to end of `carrel undo` after `carrel run -- rm -rf` of 10,000 files of 2 KiB, against `cp -a` of the same tree, on one file system; and one file of 1 GB written over in place, which has to be copied first where the file system has no clones. The history is removed before each measurement."}
	dir := b.fixture.root + "/undo"
	if err := b.undoFixture(dir); err != nil {
		t.about += " Not measured: " + err.Error()
		return t
	}
	c := "'" + b.carrel + "'"
	fresh := "rm -rf copy \"$XDG_STATE_HOME\"/carrel/projects/*/history\n"
	overwrite := " -- dd if=/dev/zero of=big bs=1M count=1024 conv=notrunc status=none"
	row := func(name, prepare, work string) *contender {
		script := "set -e\n" + fresh + prepare + "\nsync -f .\ns=${EPOCHREALTIME/./}\n" + work + " >/dev/null\necho $((${EPOCHREALTIME/./}-s))"
		return &contender{name: name, dir: dir, argv: []string{find("bash"), "-c", script}}
	}
	small := []*contender{
		row(rowCopy, "", "cp -a tree copy"),
		row(rowUndo, c+" run -- rm -rf tree", c+" undo"),
		row(rowRedo, c+" run -- rm -rf tree; "+c+" undo >/dev/null", c+" redo"),
	}
	small[2].argv[2] += "\n" + c + " undo >/dev/null" // the next one needs the tree
	large := []*contender{
		row(rowOverwrite, "", c+" run --history off"+overwrite),
		row(rowOverwriteKept, "", c+" run"+overwrite),
		row(rowOverwriteUndo, c+" run"+overwrite, c+" undo"),
	}
	measure := func(c *contender) (float64, error) { return selfTimed(c.dir, b.envOf(c), c.argv) }
	b.interleave("undo: rm -rf", min(9, b.rounds), small, measure)
	b.interleave("undo: 1 GB", min(3, b.rounds), large, measure)
	t.rows = append(rows(small), rows(large)...)
	t.compare(rowUndo, rowCopy, 1, "undo of `rm -rf` of 10,000 files, against `cp -a`")
	t.verdicts = append(t.verdicts, fmt.Sprintf("a 1 GB overwrite with the history, against one without: **%.2fx**", ratio(t.median(rowOverwriteKept), t.median(rowOverwrite))))
	return t
}

// undoFixture makes the project of the suite.
func (b *bench) undoFixture(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return once(dir, b.fixture.env, []string{find("bash"), "-ec", undoTree})
}
