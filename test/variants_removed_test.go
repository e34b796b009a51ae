//go:build linux

package e2e

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// removals is one directory in which every variant of a table of removals has its own.
type removals struct {
	w   *world
	all []variant
	dir string
}

// script does one part of every variant and prints its exit status; what the part itself
// prints is in a file beside its directory.
func (r removals) script(part func(variant) string) string {
	var b strings.Builder
	b.WriteString(program("variants/removed_prelude.bash"))
	for i, v := range r.all {
		at := fmt.Sprintf("%s/%d", r.dir, i)
		fmt.Fprintf(&b, "\n(N=%d; cd %s || exit\n%s\n) < /dev/null > %s.out 2>&1; echo %d $?\n", i, at, part(v), at, i)
	}
	return b.String() + "true\n"
}

// trees gives of every variant what is in its directory: types, modes, links and, if wanted, contents.
func (r removals) trees(contents bool) []string {
	r.w.t.Helper()
	all := make([]string, len(r.all))
	for i := range all {
		var b strings.Builder
		root := fmt.Sprintf("%s/%d", r.dir, i)
		r.w.must(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%v .%s", info.Mode(), strings.TrimPrefix(path, root))
			switch {
			case d.Type() == fs.ModeSymlink:
				to, err := os.Readlink(path)
				fmt.Fprintf(&b, " -> %q, %v", to, err)
			case contents && d.Type().IsRegular():
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				fmt.Fprintf(&b, " %x", sha256.Sum256(data))
			}
			b.WriteString("\n")
			return nil
		}))
		all[i] = b.String()
	}
	return all
}

// older leaves out of trees the objects that git has made since: an undo leaves them in a
// repository that was there before.
func older(now, before []string) []string {
	all := make([]string, len(now))
	for i := range now {
		for line := range strings.Lines(now[i]) {
			if !strings.Contains(line, "/objects/") || strings.Contains(before[i], line) {
				all[i] += line
			}
		}
	}
	return all
}

// statuses reads what script has printed.
func (r removals) statuses(out string) []string {
	all := make([]string, len(r.all))
	for line := range strings.Lines(out) {
		n, status, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if i, err := strconv.Atoi(n); err == nil && i < len(all) {
			all[i] = status
		}
	}
	return all
}

// same reports each variant of which something is not what it has to be.
func (r removals) same(what string, got, want []string) {
	r.w.t.Helper()
	for i, v := range r.all {
		if got[i] != want[i] {
			r.w.t.Errorf("%s: %s: %s\nit said: %s", v.name, what, linesOf(got[i], want[i]), cut(r.w.read(fmt.Sprintf("%s/%d.out", r.dir, i))))
		}
	}
}

// linesOf gives the lines that only one of two texts has, a few of them.
func linesOf(got, want string) string {
	var lines []string
	only := func(sign, a, b string) {
		for line := range strings.Lines(a) {
			if !strings.Contains("\n"+b, "\n"+line) && len(lines) < 12 {
				lines = append(lines, sign+strings.TrimSuffix(line, "\n"))
			}
		}
	}
	only("+", got, want)
	only("-", want, got)
	return strings.Join(lines, "\n\t")
}

// TestVariantsOfRemovals: what holds repositories, protected names or secrets is removed behind
// the walls as without them, in the run that made it and in a later one, and each undo brings
// back every byte.
func TestVariantsOfRemovals(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.litter = true
		w.need("git", "rsync", "node", "hg", "perl", "python3")
		w.write(w.home+"/.gitconfig", "[user]\n\tname = Carla Desk\n\temail = carla@example.com\n[init]\n\tdefaultBranch = main\n"+
			"[maintenance]\n\tauto = false\n")
		w.write(w.project+"/template/hooks/update.sample", "#!/bin/sh\n")
		w.write(w.project+"/template/info/exclude", "")
		all := sample(t, p, variants(t, "removed.bash"))
		build := exec.Command("go", "build", "-o", w.project+"/removeall", "testdata/programs/variants/removeall.go")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		first := w.outside + "/first"
		w.outsideSh("mkdir " + first + "; cd " + first + "\n" + program("variants/removed_prelude.bash") +
			"git init -q; repo vendor; git add vendor; git commit -qm vendor\n")
		setup := func(v variant) string { return "cp -a " + first + "/. .\n" + v.setup }
		make := func(v variant) string { return v.inside }
		remove := func(v variant) string { return v.removed }
		free, behind := removals{w, all, w.outside + "/free"}, removals{w, all, w.project}
		for _, r := range []removals{free, behind} {
			w.outsideSh(fmt.Sprintf("for i in $(seq 0 %d); do mkdir -p %s/$i; done", len(all)-1, r.dir))
			w.outsideSh(r.script(setup))
		}
		run := func(part func(variant) string) []string {
			r := w.run(append(historyOn, "--", "bash", "-c", behind.script(part))...)
			if r.code != 0 {
				t.Fatalf("the run: %s", r)
			}
			return behind.statuses(r.out)
		}
		begun := behind.trees(true)
		statuses := free.statuses(w.outsideSh(free.script(make)))
		made := free.trees(false)
		behind.same("status of making", run(make), statuses)
		behind.same("made", behind.trees(false), made)
		before := behind.trees(true)
		statuses = free.statuses(w.outsideSh(free.script(remove)))
		for i, v := range all {
			if statuses[i] != "0" {
				t.Errorf("%s: without walls: status %s: %s", v.name, statuses[i], w.read(fmt.Sprintf("%s/%d.out", free.dir, i)))
			}
		}
		removed := free.trees(false)
		whens := []string{"in the next run", "after an undo"}
		if p.uid == 0 {
			whens = whens[:1]
		}
		for _, when := range whens {
			behind.same("status of removing "+when, run(remove), statuses)
			behind.same("removed "+when, behind.trees(false), removed)
			w.fine("undo")
			behind.same("undone "+when, older(behind.trees(true), before), before)
		}
		if p.uid == 0 && !soaking {
			return
		}
		w.fine("undo")
		behind.same("undone all", older(behind.trees(true), begun), begun)
		behind.same("status of both in one run", run(func(v variant) string { return "{ " + v.inside + "\n}\n" + v.removed }), statuses)
		behind.same("removed in the same run", behind.trees(false), removed)
		w.fine("undo")
		behind.same("undone of the same run", older(behind.trees(true), begun), begun)
	})
}
