//go:build linux

package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// scene is all of a tree that taking a step back has to restore, by path: kind,
// mode, owner, time, content, target, attributes, and which names are one file.
type scene map[string]string

func (w *world) scene() scene {
	w.t.Helper()
	s, first := make(scene), make(map[uint64]string)
	w.must(filepath.WalkDir(w.project, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != nil {
			return err
		}
		rel := strings.TrimPrefix(path, w.project)
		about := fmt.Sprintf("%o %d:%d %d.%09d", st.Mode, st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec)
		switch st.Mode & syscall.S_IFMT {
		case syscall.S_IFREG:
			about += " " + contentOf(path)
			if st.Nlink > 1 && first[st.Ino] == "" {
				first[st.Ino] = rel
			}
			about += " " + first[st.Ino]
		case syscall.S_IFLNK:
			to, err := os.Readlink(path)
			w.must(err)
			about += " -> " + to
		}
		s[rel] = about + attributesOf(path)
		return nil
	}))
	return s
}

func contentOf(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %x", len(data), sha256.Sum256(data))
}

func attributesOf(path string) string {
	names, value := make([]byte, 4096), make([]byte, 4096)
	n, err := unix.Llistxattr(path, names)
	if err != nil {
		return ""
	}
	var out []string
	for _, name := range strings.Split(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		if n, err := unix.Lgetxattr(path, name, value); err == nil {
			out = append(out, fmt.Sprintf(" %s=%q", name, value[:n]))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

// gitObject matches what an undo adds to and never takes away: objects of git, by
// their path in a project.
var gitObject = regexp.MustCompile(`\.git(/.*)?/objects/([0-9a-f]{2}(/[0-9a-f]{38})?|pack/pack-.*)$`)

// differences lists what is not the same, one path a line. Objects of git may be there
// without being wanted; directories of them then have other times.
func (s scene) differences(want scene) string {
	var b strings.Builder
	all := maps.Clone(s)
	maps.Copy(all, want)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if git := gitObject.MatchString(path); git && (want[path] == "" || s[path] != "" && s[path][0] == '4') {
			continue
		}
		if s[path] != want[path] {
			fmt.Fprintf(&b, "%q\n  is    %s\n  want  %s\n", path, s[path], want[path])
		}
	}
	return b.String()
}

// isAgain wants the project to be as it was.
func (w *world) isAgain(what string, want scene) {
	w.t.Helper()
	if diff := w.scene().differences(want); diff != "" {
		w.t.Errorf("%s:\n%s", what, cut(diff))
	}
}

// fine runs carrel and wants status 0.
func (w *world) fine(args ...string) string {
	w.t.Helper()
	r := w.carrel(args...)
	if r.code != 0 {
		w.t.Fatalf("carrel %q: %s", args, r)
	}
	return r.out
}

// askedWrongly runs carrel and wants status 125, a message with all these words, and
// the project untouched.
func (w *world) askedWrongly(words []string, args ...string) {
	w.t.Helper()
	before := w.scene()
	r := w.carrel(args...)
	if r.code != 125 || !strings.HasPrefix(r.err, "carrel: ") {
		w.t.Errorf("carrel %q: want status 125 and a message: %s", args, r)
	}
	for _, word := range words {
		if !strings.Contains(r.err, word) {
			w.t.Errorf("carrel %q: want %q in the message: %s", args, word, r)
		}
	}
	w.isAgain(fmt.Sprintf("after carrel %q was refused", args), before)
}

// toldStep is a step as `carrel history --json` tells it.
type toldStep struct {
	Step                              uint64
	Kind, Run, State, Label           string
	Exit                              int
	Added, Modified, Removed, Renamed int
	Kept                              int64 `json:"kept_bytes"`
	Lost                              int   `json:"not_kept"`
	Of                                []uint64
	UndoneBy                          uint64 `json:"undone_by"`
	Changes                           []struct{ Path, From, What, Kind string }
}

// steps are those of the project, oldest first.
func (w *world) steps(flags ...string) []toldStep {
	w.t.Helper()
	var out []toldStep
	told := w.fine(append([]string{"history", "--json"}, flags...)...)
	if err := json.Unmarshal([]byte(told), &out); err != nil {
		w.t.Fatalf("%v in %s", err, told)
	}
	slices.SortFunc(out, func(a, b toldStep) int { return int(a.Step) - int(b.Step) })
	return out
}

// furnish makes a project with a little of everything: ignored files, links,
// several names of one file, odd names, times and attributes.
func (w *world) furnish() {
	w.t.Helper()
	w.repository()
	w.outsideSh(program("history/furnish.bash"))
}

// TestHistoryTour is what a person does: see what a run did, take it back, make
// it again, several steps, one of them, some of the paths.
func TestHistoryTour(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.furnish()
		zero := w.scene()
		w.sh("echo one > src/new; rm -r src/deep; mv src/f6.c src/six.c; sed -i s/8/88/ src/f8.c; chmod 600 src/f9.c; exit 0")
		one := w.scene()
		w.sh("echo two >> src/new; echo x > empty/x")
		two := w.scene()
		w.sh("rm -rf src")
		three := w.scene()
		w.sh("cat src/f10.c; true") // changes nothing
		list := w.steps()
		if len(list) != 3 || list[0].Added != 1 || list[0].Modified != 2 || list[0].Renamed != 1 || list[0].Removed != 4 || list[1].Modified != 1 || list[1].Added != 1 {
			t.Fatalf("history: %+v", list)
		}
		n := func(i int) string { return fmt.Sprint(list[i].Step) }
		if out := w.fine("show", n(0)); !strings.Contains(out, "D    src/deep/er/file\n") || !strings.Contains(out, "R    src/f6.c -> src/six.c\n") || !strings.Contains(out, "A    src/new\n") || !strings.Contains(out, "M    src/f8.c\n") || !strings.Contains(out, "mode src/f9.c\n") {
			t.Errorf("show: %s", out)
		}
		if out := w.fine("show", n(2)); !strings.Contains(out, `D    "src/odd\n\xff\\ name"`) {
			t.Errorf("an odd name: %s", out)
		}
		if out := w.fine("diff", n(0)); !strings.Contains(out, "--- src/f8.c\n+++ src/f8.c\n@@ -1 +1 @@\n-int f8(void) { return 8; }\n+int f88(void) { return 8; }\n") || !strings.Contains(out, "-deep\n") {
			t.Errorf("diff: %s", out)
		}
		if out := w.fine("diff", n(1), "--stat"); out != "empty/x  +1 -0\nsrc/new  +1 -0\n2 paths, 2 lines added, 0 removed\n" {
			t.Errorf("diff --stat: %q", out)
		}
		if out := w.fine("history", "--path", "empty"); !strings.Contains(out, "\n"+n(1)+" ") || strings.Contains(out, "\n"+n(0)+" ") {
			t.Errorf("history --path: %s", out)
		}
		if out := w.fine("undo", "--dry-run"); !strings.Contains(out, "would be restored  src/f1.c\n") {
			t.Errorf("undo --dry-run: %s", out)
		}
		w.isAgain("after a dry run", three)
		w.fine("undo")
		w.isAgain("rm -rf src, undone", two)
		w.fine("redo")
		w.isAgain("rm -rf src, again", three)
		w.fine("undo", "3")
		w.isAgain("all three undone", zero)
		w.fine("redo", "3")
		w.isAgain("all three again", three)
		w.fine("undo", "--to", n(0))
		w.isAgain("back to the first", one)
		w.fine("redo", "2")
		w.isAgain("forward from the first", three)
		w.fine("undo", "--step", n(2))
		w.isAgain("one step by its number", two)
		w.fine("undo", "--path", "empty")
		back := w.scene()
		if diff := back.differences(two); exists(w.project+"/empty/x") || w.read(w.project+"/src/new") != "one\ntwo\n" || strings.Count(diff, "\n  is") != 2 {
			t.Errorf("one path of a step: %s", diff)
		}
		if states := w.steps(); states[0].State != "done" || states[1].State != "done" || states[2].State != "undone" {
			t.Errorf("states: %+v", states)
		}
		if all := w.steps("--all"); len(all) < 10 || all[3].Kind != "undo" || all[4].Kind != "redo" {
			t.Errorf("history --all: %+v", all)
		}
	})
}

// TestHistoryIsTold: the end of a run says how to take it back, on a terminal
// and in JSON, and only where it changed something.
func TestHistoryIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/a", "a")
	w.write(w.project+"/b", "b")
	if all := w.inTerminal(w.command(w.bin, "run", "--", "sh", "-c", "echo x > n; mkdir d; echo y >> a; rm b")).all(); !strings.Contains(all, "carrel: step 1: 2 added, 1 changed, 1 removed; `carrel undo` takes it back") || strings.Contains(all, "files changed") {
		t.Errorf("on a terminal: %q", all)
	}
	if all := w.inTerminal(w.command(w.bin, "run", "--", "sh", "-c", "cat a; : > /tmp/x; echo z > new; rm new")).all(); strings.Contains(all, "carrel: step") {
		t.Errorf("nothing changed on a terminal: %q", all)
	}
	if r := w.run("--", "sh", "-c", "echo x >> n"); r.err != "" {
		t.Errorf("nobody looks: %s", r)
	}
	r := w.run("--json", "--", "sh", "-c", "mv n m; exit 3")
	var told struct{ Steps []toldStep }
	if err := json.Unmarshal([]byte(r.err), &told); err != nil || r.code != 3 || len(told.Steps) != 1 || told.Steps[0].Renamed != 1 || told.Steps[0].Added != 0 {
		t.Errorf("--json: %v %s", err, r)
	}
	if list := w.steps(); list[len(list)-1].Step != told.Steps[0].Step || list[len(list)-1].Exit != 3 {
		t.Errorf("history: %+v", list)
	}
	if r := w.run("--json", "--", "cat", "a"); strings.Contains(r.err, `"steps"`) {
		t.Errorf("nothing changed: %s", r)
	}
	if r := w.run("--history", "off", "--json", "--", "touch", "off"); strings.Contains(r.err, `"steps"`) || len(w.steps()) != 3 {
		t.Errorf("without a history: %s", r)
	}
}

// TestHistoryRefusals: what is asked wrongly is refused with what would be right.
func TestHistoryRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/a", "a")
	w.askedWrongly([]string{"0 steps can be undone", w.project}, "undo")
	w.askedWrongly([]string{"0 steps can be made again"}, "redo")
	w.askedWrongly([]string{"no steps in"}, "diff")
	w.sh("echo b > a")
	tests := []struct {
		args, words string
	}{
		{"undo 2", "1 step can be undone|asked for 2"},
		{"undo 0", `"0"|how many steps`},
		{"undo -- -1", `"-1"|how many steps`},
		{"undo x", `"x"|how many steps`},
		{"undo 1 2", "1 argument at most|carrel undo"},
		{"undo 1 --step 1", "want one of them"},
		{"undo --to 1 --step 1", "to|step"},
		{"undo --step 99", "step 99|none of this number|carrel history --all"},
		{"undo --step x", `step "x"|number`},
		{"undo --to 1", "0 steps can be undone"},
		{"undo --path nothing-there", "0 steps that changed nothing-there can be undone"},
		{"undo --force --keep-both", "force|keep-both"},
		{"undo --frist", "unknown flag: --frist|carrel undo --help"},
		{"redo", "0 steps can be made again"},
		{"redo 3", "made again|asked for 3"},
		{"show 99", "step 99|none of this number"},
		{"show one", `step "one"`},
		{"diff 1..x", `step "x"`},
		{"history now", "takes no argument"},
		{"history -n 0", "-n 0"},
		{"undo --project nothing-there", "nothing-there"},
	}
	for _, tt := range tests {
		w.askedWrongly(strings.Split(tt.words, "|"), strings.Fields(tt.args)...)
	}
	w.fine("undo")
	w.askedWrongly([]string{"has been taken back already"}, "undo", "--step", "1")
	w.fine("redo")
	w.askedWrongly([]string{"0 steps can be made again"}, "redo")
}
