package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
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
	row := func(name, prepare, work string) *contender { return freshRow(dir, nil, name, prepare, work) }
	small := []*contender{
		row(rowCopy, "", "cp -a tree copy"),
		row(rowUndo, c+" run -- rm -rf tree", c+" undo"),
		row(rowRedo, c+" run -- rm -rf tree; "+c+" undo >/dev/null", c+" redo"),
	}
	small[2].argv[2] += "\n" + c + " undo >/dev/null" // the next one needs the tree
	large := b.overwrites(dir, nil)
	measure := func(c *contender) (float64, error) { return selfTimed(c.dir, b.envOf(c), c.argv) }
	b.interleave("undo: rm -rf", min(9, b.rounds), small, measure)
	b.interleave("undo: 1 GB", min(3, b.rounds), large, measure)
	t.rows = append(rows(small), rows(large)...)
	t.compare(rowUndo, rowCopy, 1, "undo of `rm -rf` of 10,000 files, against `cp -a`")
	t.overwritten()
	return t
}

// freshRow is a command that is measured where nothing is kept yet.
func freshRow(dir string, env []string, name, prepare, work string) *contender {
	script := "set -e\nrm -rf copy \"$XDG_STATE_HOME\"/carrel/projects/*/history\n" + prepare + "\nsync -f .\ns=${EPOCHREALTIME/./}\n" + work + " >/dev/null\necho $((${EPOCHREALTIME/./}-s))"
	return &contender{name: name, dir: dir, env: env, argv: []string{find("bash"), "-c", script}}
}

func (b *bench) overwrites(dir string, env []string) []*contender {
	c := "'" + b.carrel + "'"
	overwrite := " -- dd if=/dev/zero of=big bs=1M count=1024 conv=notrunc status=none"
	return []*contender{
		freshRow(dir, env, rowOverwrite, "", c+" run --history off"+overwrite),
		freshRow(dir, env, rowOverwriteKept, "", c+" run"+overwrite),
		freshRow(dir, env, rowOverwriteUndo, c+" run"+overwrite, c+" undo"),
	}
}

func (t *table) overwritten() {
	t.verdicts = append(t.verdicts, fmt.Sprintf("a 1 GB overwrite with the history, against one without: **%.2fx**", ratio(t.median(rowOverwriteKept), t.median(rowOverwrite))))
}

// clones measures the large file where the file system has clones.
func (b *bench) clones() table {
	t := table{title: "The history: a file system with clones", unit: "ms", about: "The same file of 1 GB on Btrfs, in a file on a loop device, with the history on it too."}
	dir, done, err := b.mountBtrfs()
	if err != nil {
		t.about += " Not measured: " + err.Error()
		return t
	}
	defer done()
	env := append(slices.Clone(b.fixture.env), "XDG_STATE_HOME="+dir+"/state")
	list := b.overwrites(dir+"/p", env)
	b.interleave("undo: 1 GB on Btrfs", min(3, b.rounds), list, func(c *contender) (float64, error) { return selfTimed(c.dir, b.envOf(c), c.argv) })
	t.rows = rows(list)
	t.overwritten()
	return t
}

// mountBtrfs makes a file system of its own, with the large file in p.
func (b *bench) mountBtrfs() (dir string, done func(), err error) {
	if os.Getuid() != 0 || find("mkfs.btrfs") == "" {
		return "", nil, errors.New("mounting it takes root, and mkfs.btrfs")
	}
	image, dir := b.fixture.root+"/btrfs.img", b.fixture.root+"/btrfs"
	const script = `truncate -s 6G "$1"; mkfs.btrfs -q "$1"; mkdir "$2"; mount -o loop "$1" "$2"; mkdir "$2/p" "$2/state"; chmod 700 "$2/state"; head -c 1073741824 /dev/zero > "$2/p/big"; sync -f "$2"`
	done = func() { _ = once("/", b.fixture.env, []string{find("umount"), dir}) }
	if err := once("/", b.fixture.env, []string{find("bash"), "-ec", script, "bash", image, dir}); err != nil {
		done()
		return "", nil, err
	}
	return dir, done, nil
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
func (b *bench) million() table {
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

// undoFixture makes the project of the suite.
func (b *bench) undoFixture(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return once(dir, b.fixture.env, []string{find("bash"), "-ec", undoTree})
}
