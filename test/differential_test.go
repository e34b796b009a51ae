//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// historyOn is what a run is told where everything that changes the project has
// to go through the broker. It is the default.
var historyOn = []string{}

// differential is one size of the random comparison.
type differential struct {
	seed, ops      int
	procs, threads int
}

// TestDifferential: thousands of random file operations give the same results,
// one by one, on a bare directory and behind walls, and leave the same tree.
func TestDifferential(t *testing.T) {
	// Small enough not to meet the rare known deviations; CARREL_SOAK looks for
	// more of them, and CARREL_SEED at one.
	list := []differential{{1, 400, 1, 1}, {2, 700, 3, 2}}
	if os.Getenv("CARREL_SEED") != "" {
		list = append(list, differential{seedOfToday(t), 1500, 2, 3})
	}
	if os.Getenv("CARREL_SOAK") == "1" {
		for i := range 4 {
			list = append(list, differential{100 + i, 100_000, 4, 3})
		}
	}
	eachPerson(t, func(t *testing.T, p person) {
		for _, d := range list {
			t.Run(fmt.Sprintf("seed %d, %d operations of %dx%d", d.seed, d.ops, d.procs, d.threads), func(t *testing.T) {
				w := newWorld(t, p)
				bare, inside := w.differ(d, false), w.differ(d, true)
				bare.sameAs(t, inside)
			})
		}
	})
}

// TestDifferentialAgainstItself: the comparison finds nothing where there is
// nothing to find.
func TestDifferentialAgainstItself(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		d := differential{3, 3000, 3, 2}
		w.differ(d, false).sameAs(t, w.differ(d, false))
	})
}

// TestDifferentialNested: the other levels of nesting hold the same.
func TestDifferentialNested(t *testing.T) {
	for _, nested := range nestings {
		t.Run(nested, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			d := differential{5, 600, 2, 2}
			w.differ(d, false).sameAs(t, w.differ(d, true, "--nested", nested))
		})
	}
}

// seedOfToday is another one each day; CARREL_SEED names one to look at again.
func seedOfToday(t *testing.T) int {
	if s := os.Getenv("CARREL_SEED"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("CARREL_SEED: %v", err)
		}
		return n
	}
	return int(time.Now().Unix() / 86400)
}

// outcome is what one run of the random operations gave.
type outcome struct {
	log  []string
	tree []string
}

// differ does the operations in the project, in a directory of the same name
// each time, and looks at what they left from outside.
func (w *world) differ(d differential, walls bool, flags ...string) outcome {
	w.t.Helper()
	tool := w.project + "/difftool"
	w.must(copyFile(difftool(w.t), tool, 0o755))
	dir := w.project + "/t"
	args := []string{tool, "run", "-dir", dir, "-seed", strconv.Itoa(d.seed), "-ops", strconv.Itoa(d.ops), "-procs", strconv.Itoa(d.procs), "-threads", strconv.Itoa(d.threads)}
	var r result
	if walls {
		r = w.run(slices.Concat(historyOn, flags, []string{"--"}, args)...)
	} else {
		r = w.plain(args[0], args[1:]...)
	}
	if r.code != 0 {
		w.t.Fatalf("walls %v, seed %d: %s", walls, d.seed, r)
	}
	tree, err := exec.Command(tool, "tree", dir).Output()
	w.must(err)
	w.must(filepath.WalkDir(dir, func(p string, e os.DirEntry, _ error) error {
		if e.IsDir() {
			return os.Chmod(p, 0o700)
		}
		return nil
	}))
	w.must(os.RemoveAll(dir))
	return outcome{inOrder(r.out), strings.Split(string(tree), "\n")}
}

// inOrder puts the workers' logs into the order of what happened: worker.block
// number place operation. All own operations of a block come before the shared
// ones, those worker by worker.
func inOrder(log string) []string {
	lines := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
	key := func(line string) string {
		var worker, block, n int
		var place string
		_, _ = fmt.Sscanf(line, "w%d.%d %d %s", &worker, &block, &n, &place)
		return fmt.Sprintf("%08d %s %04d %08d", block, place, worker, n)
	}
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(key(a), key(b)) })
	return lines
}

// sameAs compares with the run behind walls. After the first difference others
// follow from it, so only the first is told, with what came before.
func (o outcome) sameAs(t *testing.T, inside outcome) {
	t.Helper()
	if len(o.log) < 100 {
		t.Fatalf("only %d operations", len(o.log))
	}
	if firstDifference(t, "operation", o.log, inside.log) {
		firstDifference(t, "entry", o.tree, inside.tree)
	}
}

var failure = regexp.MustCompile(`^(.* -> )(E[A-Z]+)( .*)?$`)

// bothFail says whether two results of an operation differ only in which of its
// mistakes is named: a known deviation, see docs/deviations.md. Errors that the
// broker itself would bring in are never taken for one.
func bothFail(bare, inside string) bool {
	a, b := failure.FindStringSubmatch(bare), failure.FindStringSubmatch(inside)
	if a == nil || b == nil || a[1] != b[1] || a[3] != b[3] {
		return false
	}
	switch b[2] {
	case "EROFS", "EIO", "ESTALE", "ENOSYS", "EBUSY":
		return false
	}
	return true
}

// firstDifference says whether there is none.
func firstDifference(t *testing.T, what string, want, got []string) bool {
	t.Helper()
	for i := range max(len(want), len(got)) {
		a, b := "(nothing)", "(nothing)"
		if i < len(want) {
			a = want[i]
		}
		if i < len(got) {
			b = got[i]
		}
		if a != b && !(what == "operation" && bothFail(a, b)) {
			before := strings.Join(want[max(0, min(i, len(want))-12):min(i, len(want))], "\n    ")
			t.Errorf("%s %d of %d differs\nbefore:\n    %s\nbare directory: %s\nbehind walls:   %s", what, i, len(want), before, a, b)
			return false
		}
	}
	return true
}

var tool struct {
	once sync.Once
	path string
	err  error
}

// difftool builds the program that does the operations, once.
func difftool(t *testing.T) string {
	t.Helper()
	tool.once.Do(func() {
		tool.path = built.base + "/bin/difftool"
		cmd := exec.Command("go", "build", "-o", tool.path, "carrel/test/difftool")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			tool.err = fmt.Errorf("building difftool: %w\n%s", err, out)
		}
	})
	if tool.err != nil {
		t.Fatal(tool.err)
	}
	return tool.path
}
