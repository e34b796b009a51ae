package historycmd

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/history/journal"
	"carrel/internal/history/store"
	"carrel/internal/history/writer"
	"carrel/internal/statedir"

	"golang.org/x/sys/unix"
)

// world is a project with a history, as runs write it.
type world struct {
	*clitest.Place
	t   *testing.T
	dir string // of the history
}

// newWorld has two steps: the first makes a and b, the second replaces a and removes b.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Place: clitest.New(t, Commands()), t: t}
	s, err := statedir.Open(w.State)
	if err == nil {
		err = s.Use(w.Project)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.dir = s.History(w.Project)
	w.step("make all", func(in *writer.Writer) {
		w.put(in, "a", "one\n")
		w.put(in, "b", "two\n")
	})
	w.step("make clean", func(in *writer.Writer) {
		w.put(in, "a", "three\n")
		w.change(in, writer.Change{Op: writer.Remove}, "b", func(path string) error { return os.Remove(path) })
	})
	return w
}

// step is one run of a command.
func (w *world) step(command string, do func(*writer.Writer)) {
	w.t.Helper()
	s, err := store.Open(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	in, err := writer.New(s, "3f", []string{w.Project})
	if err != nil {
		w.t.Fatal(err)
	}
	var words []journal.Bytes
	for _, word := range strings.Fields(command) {
		words = append(words, journal.Bytes(word))
	}
	_, err = in.Begin(journal.Begin{Kind: journal.StepRun, Run: "3f", Command: words})
	if err == nil {
		do(in)
		_, err = in.End(0, nil)
	}
	if err = errors.Join(err, in.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// change makes a change as the broker does: told, made, told.
func (w *world) change(in *writer.Writer, c writer.Change, name string, do func(path string) error) {
	w.t.Helper()
	dir, err := unix.Open(w.Project, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer unix.Close(dir)
	c.Path, c.Dir, c.Name = filepath.Join(w.Project, name), dir, name
	if err = in.Before(&c); err == nil {
		err = do(c.Path)
		in.After(&c, err)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// put writes a file anew.
func (w *world) put(in *writer.Writer, name, text string) {
	w.t.Helper()
	if _, err := os.Lstat(filepath.Join(w.Project, name)); err == nil {
		w.change(in, writer.Change{Op: writer.Remove}, name, os.Remove)
	}
	w.change(in, writer.Change{Op: writer.Make, Opens: true}, name, func(path string) error { return os.WriteFile(path, []byte(text), 0o600) })
}

// files is what the project holds, a file a line.
func (w *world) files() string {
	w.t.Helper()
	entries, err := os.ReadDir(w.Project)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(w.Project, e.Name()))
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, e.Name()+"="+strings.TrimSpace(string(text)))
	}
	return strings.Join(out, " ")
}

// TestSteps: steps are listed newest first for people and oldest first for programs, by the
// paths that they changed, and shown with what they did.
func TestSteps(t *testing.T) {
	w := newWorld(t)
	w.Run("history").OK("2", "make clean", "1", "make all")
	w.Run("history -n 1").OK("make clean").Lacks("make all")
	w.Run("history --path c").OK("no steps that changed c in " + w.Project + "\n")
	w.Run("history -n 0").Fails(api.ExitOurs, "-n 0: want a number of 1 or more")
	var list []struct {
		Step     uint64
		Added    int
		Modified int
		Removed  int
	}
	w.Run("history --json").OK().JSON(&list)
	if len(list) != 2 || list[0].Step != 1 || list[0].Added != 2 || list[1].Modified+list[1].Removed != 2 {
		t.Errorf("%+v", list)
	}
	w.Run("show 1").OK("A", "a", "A", "b")
	w.Run("show").OK("M", "a", "D", "b")
	w.Run("show 1 2").OK("make all", "\n\n", "make clean")
	if w.Run("show 2 1 --json").OK().JSON(&list); len(list) != 2 || list[0].Step != 2 {
		t.Errorf("%+v", list)
	}
	w.Refusals(map[string]string{"show 9": "9", "diff 9": "9", "diff 2..1": "2..1", "history export 9": "9", "undo --step 9": "9",
		"undo 3": "3"})
}

// TestDiffs: a diff shows the lines of each file, or their number, and of one path alone.
func TestDiffs(t *testing.T) {
	w := newWorld(t)
	w.Run("diff").OK("a\n", "-one\n", "+three\n", "-two\n")
	w.Run("diff 1..2 --path b").OK("+two\n", "-two\n").Lacks("three")
	w.Run("diff 1 --stat").OK("a", "1", "b", "1").Lacks("+one")
	var out struct{ Diff string }
	if w.Run("diff 1 --json").OK().JSON(&out); !strings.Contains(out.Diff, "+one\n") {
		t.Errorf("%q", out.Diff)
	}
}

// TestUndoAndRedo: what a step did is taken back and made again, as a dry run says before.
func TestUndoAndRedo(t *testing.T) {
	w := newWorld(t)
	after := w.files()
	w.Run("undo --dry-run").OK("a", "b")
	if got := w.files(); got != after {
		t.Errorf("a dry run has made %s", got)
	}
	w.Run("undo").OK("a", "b")
	if got := w.files(); got != "a=one b=two" {
		t.Errorf("after the undo: %s", got)
	}
	w.Run("redo").OK("a")
	if got := w.files(); got != after {
		t.Errorf("after the redo: %s", got)
	}
	w.Run("undo --path b").OK("b")
	if got := w.files(); got != "a=three b=two" {
		t.Errorf("after the undo of one path: %s", got)
	}
	w.Run("history --all").OK("undo", "redo", "undo", "make clean")
	w = newWorld(t)
	w.Run("undo 2").OK()
	if got := w.files(); got != "" {
		t.Errorf("before the first step: %s", got)
	}
	w.Run("undo --to 0").Fails(api.ExitOurs, "step 0", "carrel history --all")
}

// TestUndoInTheWay: what another program wrote is not undone over; each way to go on does
// what it says, and a redo brings back what was replaced.
func TestUndoInTheWay(t *testing.T) {
	for how, want := range map[string]string{
		"--skip-conflicts": "a=mine b=two", "--keep-both": "a=one a.undo-conflict=mine b=two", "--force": "a=one b=two",
	} {
		w := newWorld(t)
		if err := os.WriteFile(w.Project+"/a", []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := w.Run("undo")
		if r.Status != api.ExitOurs || !strings.Contains(r.Err+r.Out+r.Notice, "a") || w.files() != "a=mine" {
			t.Errorf("undone over another's text: status %d, %s%s%s; %s", r.Status, r.Out, r.Notice, r.Err, w.files())
		}
		w.Run("undo " + how)
		if got := w.files(); got != want {
			t.Errorf("%s: %s, want %s", how, got, want)
		}
	}
}

// TestExport: the tar has what the step found and what it left.
func TestExport(t *testing.T) {
	w := newWorld(t)
	w.Run("history export 2 -o ../step.tar").OK()
	f, err := os.Open(w.Home + "/step.tar")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	held := map[string]string{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			held[h.Name] = string(text)
		}
	}
	if len(held) != 3 || held["before/a"] != "one\n" || held["before/b"] != "two\n" || held["after/a"] != "three\n" {
		t.Errorf("%q", held)
	}
}

// TestDiscard: a step that is discarded is gone with what it kept, and the files stay; without
// a word for it nothing goes.
func TestDiscard(t *testing.T) {
	w := newWorld(t)
	files := w.files()
	w.Run("discard 1 --dry-run").OK("would be discarded  step 1\n", "would be freed")
	if tty, err := os.Open("/dev/tty"); err != nil {
		w.Run("discard 1").Fails(api.ExitOurs, "no terminal to ask at", "--dry-run")
	} else {
		tty.Close()
	}
	for _, line := range []string{"discard", "discard 9 --yes", "discard --before 0 -y"} {
		w.Run(line).Fails(api.ExitOurs)
	}
	w.Run("history").OK("make clean", "make all")
	var removed struct {
		Steps []uint64
	}
	if w.Run("discard --before 2 --yes --json").OK().JSON(&removed); !slices.Equal(removed.Steps, []uint64{1}) {
		t.Errorf("%+v", removed)
	}
	w.Run("history").OK("make clean").Lacks("make all")
	w.Run("discard --all -y").OK("discarded  step 2")
	w.Run("history").OK("no steps in " + w.Project)
	if got := w.files(); got != files {
		t.Errorf("the files are %s, and were %s", got, files)
	}
}

// TestVerify: what is wrong with a history is listed, and is an exit status.
func TestVerify(t *testing.T) {
	w := newWorld(t)
	w.Run("history verify").OK("2 steps in 2 journals, ", "0 faults\n")
	objects, err := filepath.Glob(w.dir + "/objects/*")
	if err != nil || len(objects) == 0 {
		t.Fatalf("%v, %v", objects, err)
	}
	for _, at := range objects {
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
	}
	var found verifiedJSON
	r := w.Run("history verify --json")
	if r.JSON(&found); r.Status != 1 || found.OK || len(found.Faults) == 0 || found.Faults[0].Step != 2 || found.Faults[0].Why == "" {
		t.Errorf("status %d, %+v", r.Status, found)
	}
	if r := w.Run("history verify"); r.Status != 1 || !strings.Contains(r.Out, "(step 2, ") {
		t.Errorf("status %d, %s", r.Status, r.Out)
	}
}

// TestSizes: what is kept is told for each step and each project, with the limits.
func TestSizes(t *testing.T) {
	w := newWorld(t)
	w.Run("history du").OK("STEP", "make all", "make clean", " on disk in all", "it may take ", "kept in "+w.dir)
	w.Run("du").OK("STEPS", w.Project, "about ", " on disk in all; all projects together may take ")
	w.Run("du --exact").OK("2 ", w.Project).Lacks("about ")
	var one usageJSON
	if w.Run("history du --json").OK().JSON(&one); len(one.Steps) != 2 || string(one.Dir) != w.dir || one.Limits.MaxBytes == 0 {
		t.Errorf("%+v", one)
	}
	w.Run("history gc --dry-run").OK("0 files", "would be freed")
	w.Run("history gc").OK("0 files", " freed", " kept")
}

// TestStepsAreOffered: a shell is offered the steps, newest first, with their commands.
func TestStepsAreOffered(t *testing.T) {
	w := newWorld(t)
	r := w.Words("__complete", "show", "").OK("2\tmake clean\n", "1\tmake all\n")
	if !strings.Contains(r.Out, ":") {
		t.Errorf("%q", r.Out)
	}
	empty := clitest.New(t, Commands())
	empty.Words("__complete", "undo", "--step", "").OK().Lacks("make")
}
