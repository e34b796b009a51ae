//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	full           bool // what only level full does as outside is done, too
}

func (d differential) name() string {
	return fmt.Sprintf("seed %d, %d operations of %dx%d", d.seed, d.ops, d.procs, d.threads)
}

// TestDifferential: thousands of random file operations give the same results,
// one by one, on a bare directory and behind walls, and leave the same tree.
// CARREL_SEED names a seed to look at again, and CARREL_SOAK=1 does 100,000 operations
// of each kind.
func TestDifferential(t *testing.T) {
	seed := someSeed(t)
	list := []differential{{seed, often(6000, 100_000), 1, 1, false}, {seed + 1, often(12_000, 100_000), often(3, 4), often(2, 3), false}}
	eachPerson(t, func(t *testing.T, p person) {
		for _, d := range list {
			t.Run(d.name(), func(t *testing.T) {
				w := newWorld(t, p)
				w.differ(d, false).sameAs(t, w.differ(d, true))
			})
		}
	})
}

// TestDifferentialAgainstItself: the comparison finds nothing where there is
// nothing to find.
func TestDifferentialAgainstItself(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		d := differential{3, 3000, 3, 2, true}
		w.differ(d, false).sameAs(t, w.differ(d, false))
	})
}

// TestDifferentialNested: the other levels of nesting hold the same.
func TestDifferentialNested(t *testing.T) {
	t.Parallel()
	seed := someSeed(t) + 2
	for _, nested := range nestings {
		d := differential{seed, often(4000, 100_000), 2, 2, nested == "full"}
		t.Run(nested+" "+d.name(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.differ(d, false).sameAs(t, w.differ(d, true, "--nested", nested))
		})
	}
}

// someSeed is the one that CARREL_SEED names, else another one each time that CARREL_SOAK=1
// looks for what nobody has seen yet, and always the same for a test of a change.
func someSeed(t *testing.T) int {
	t.Helper()
	s := os.Getenv("CARREL_SEED")
	if s == "" {
		s = strconv.Itoa(often(1, int(time.Now().UnixNano()%1_000_000_000)))
	}
	seed, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("CARREL_SEED: %v", err)
	}
	t.Logf("CARREL_SEED=%d", seed)
	return seed
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
	args := []string{tool, "run", "-dir", dir, "-seed", strconv.Itoa(d.seed), "-ops", strconv.Itoa(d.ops), "-procs", strconv.Itoa(d.procs), "-threads", strconv.Itoa(d.threads), fmt.Sprintf("-full=%v", d.full)}
	var r result
	if walls {
		r = w.run(slices.Concat(historyOn, flags, []string{"--"}, args)...)
	} else {
		r = w.plain(args[0], args[1:]...)
	}
	if r.code != 0 {
		w.t.Fatalf("walls %v, %s: %s", walls, d.name(), r)
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
		if a != b {
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
