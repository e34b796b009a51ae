//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// programStep is what a real program does to the furnished project.
type programStep struct {
	name   string
	needs  []string
	setup  string // outside, before
	script string // inside
}

// TestHistoryOfPrograms: what real programs did in one run is taken back, made
// again and taken back once more, each time exactly.
func TestHistoryOfPrograms(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		for _, s := range programSteps {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, p)
				w.need(append([]string{"git", "python3", "setfacl"}, s.needs...)...)
				w.furnish()
				w.npmPackage(w.home + "/greeting.tgz")
				w.outsideSh("mv ~/greeting.tgz .;" + s.setup)
				before := w.scene()
				w.sh(s.script)
				after := w.scene()
				if after.differences(before) == "" {
					t.Fatalf("%s changed nothing", s.script)
				}
				w.fine("undo")
				w.isAgain("undone", before)
				w.fsck("undone")
				w.fine("redo")
				w.isAgain("made again", after)
				w.fsck("made again")
				w.fine("undo")
				w.isAgain("undone again", before)
				if left := w.outsideSh("find . -name '.carrel*'"); left != "" {
					t.Errorf("left in the project: %s", left)
				}
			})
		}
	})
}

// fsck wants every object that git needs to be there, in all worktrees.
func (w *world) fsck(when string) {
	w.t.Helper()
	if _, err := os.Lstat(w.project + "/.git"); err == nil {
		w.outsideSh("git fsck --no-dangling --no-progress || { echo " + when + " >&2; exit 1; }")
	}
}

var programSteps = []programStep{
	{name: "git commit", script: "echo more >> file; rm src/f7.c; git add -A . && git commit -qm more"},
	{name: "git reset --hard", setup: "echo mine >> file; rm src/f1.c", script: "git reset -q --hard HEAD~1"},
	{name: "git rebase", script: "git rebase -q main topic"},
	{name: "git checkout and clean", script: "git checkout -q topic && git clean -qfdx"},
	{name: "git stash", setup: "echo mine >> file", script: "git stash -q -u; git stash list"},
	{name: "git gc", script: "git gc -q --prune=now"},
	{name: "git's configuration", script: "git config user.email new@example.com && git checkout -q -b tracking --track main && git remote add up https://example.com/x && test -s .git/config && cp -a .git/config seen"},
	{name: "git worktree", script: "git worktree add -q tree topic && echo x > tree/x && git -C tree add x && git -C tree commit -qm x"},
	{name: "sed -i", script: "sed -i s/int/long/ src/f*.c"},
	{name: "vim", needs: []string{"vim"}, script: `vim -u NONE -es -c 'set backup' -c '%s/8/88/' -c wq src/f8.c; vim -u NONE -es -c 'set backupcopy=yes' -c '%s/9/99/' -c wq src/f9.c; test -e src/f8.c~`},
	{name: "npm install", needs: []string{"node", "npm"}, script: "npm install --no-audit --no-fund --offline --foreground-scripts=false ./greeting.tgz >/dev/null && test -e node_modules/desk-greeting/built"},
	{name: "npm install again", needs: []string{"node", "npm"}, setup: "npm install --no-audit --no-fund --offline ./greeting.tgz >/dev/null; rm -rf ~/.npm", script: "rm -rf node_modules && npm install --no-audit --no-fund --offline ./greeting.tgz >/dev/null"},
	{name: "make", needs: []string{"make", "cc"}, script: "make -s && touch src/f1.c && make -s"},
	{name: "rm -rf src", script: "rm -rf src"},
	{name: "rm -rf of all that is visible", script: "rm -rf -- *"},
	{name: "cp -a", script: "cp -a src copy && rm -r src && cp -a copy src"},
	{name: "rsync", needs: []string{"rsync"}, script: "mkdir other; echo 1 > other/f1.c; echo n > other/new; rsync -a --delete other/ src/"},
	{name: "tar", script: "tar cf all.tar src && rm -rf src && tar xf all.tar && tar xf all.tar && rm all.tar"},
	{name: "sqlite in WAL mode", setup: sqlite("c.execute('create table t (x)'); c.executemany('insert into t values (?)', [('x' * 500,)] * 500); c.commit()"),
		script: sqlite("c.execute('delete from t where rowid % 3 = 0'); c.commit(); c.executemany('insert into t values (?)', [('y' * 700,)] * 900); c.commit(); os._exit(0)") + "\ntest -e data.db-wal || exit 1\n" + sqlite("print(c.execute('select count(*) from t').fetchone())")},
	{name: "chmod, touch, truncate, ln", script: "chmod -R go-rwx src empty; touch -d 2010-10-10 src/*.c; truncate -s 3 src/sparse src/f1.c; ln src/f10.c other; ln -sf f1.c src/dangling; ln -f src/f11.c src/f12.c"},
	{name: "kinds change places", script: "rm src/f1.c; mkdir -p src/f1.c/in; rm -r src/deep; ln -s /etc src/deep; rm src/dangling; echo x > src/dangling; rm src/pipe; echo y > src/pipe; mv src/f2.c empty/third; mv empty full; mkdir empty"},
	{name: "renames in a circle", script: "mv src a; mv empty src; mv a empty; mv empty/deep src/deep; mv empty/f1.c x; mv empty/f2.c empty/f1.c; mv x empty/f2.c"},
	{name: "attributes and lists", script: "setfacl -b src/f4.c; setfacl -m g:$(id -g):rw src/f6.c; setfacl -d -m u:$(id -u):rx src/deep; " + `python3 -c 'import os; os.removexattr("src/f5.c", "user.note"); os.setxattr("src/f7.c", "user.new", b"x" * 1000); os.setxattr("src/deep", "user.dir", b"other")'`},
	{name: "held descriptors and mappings", script: python(program("history_programs/held_descriptors_and_mappings.py"))},
	{name: "a flood of small changes", script: python(program("history_programs/a_flood_of_small_changes.py"))},
}

// sqlite is a program that works on a database in WAL mode.
func sqlite(work string) string {
	return strings.TrimSuffix(python(program("history_programs/sqlite.py")+work), "\n")
}
