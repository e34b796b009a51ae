//go:build linux

package e2e

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostile is one attack on the broker by a process inside, in Python. It says
// what it got on its standard output; the effects are looked for on the host.
type hostile struct {
	name   string
	setup  string // shell, outside and before
	flags  []string
	body   string // Python; see attackPrelude
	want   string // what it has to say
	never  string // what it must not say
	after  string // shell, outside at the end; must not print EVIL
	root   bool   // only for root
	canary bool   // harmless without walls, and has to succeed there
	limit  time.Duration
	alone  bool // held with the engine landlock as well, which has no mounts
}

// attackPrelude is before every attack. It makes none where there are no walls:
// CARREL is 1 inside and nowhere else, a canary is told that it may. Inside it
// first tries that an honest change works and a refused one does not.
var attackPrelude = program("broker_attacks/attack_prelude.py")

// hold makes the attacks, each in a world of its own, for everybody.
func hold(t *testing.T, attacks ...hostile) {
	t.Helper()
	t.Parallel()
	holdAlone(t, attacks...)
}

// holdAlone makes attacks that are timed, beside no other test.
func holdAlone(t *testing.T, attacks ...hostile) {
	t.Helper()
	eachPersonAlone(t, func(t *testing.T, p person) {
		for _, a := range attacks {
			if a.root && p.uid != 0 {
				continue
			}
			t.Run(a.name, func(t *testing.T) {
				if a.canary {
					a.succeeds(t, a.prepare(t, p))
				}
				a.run(t, a.prepare(t, p), "--deny", "keys")
			})
			if a.alone && p.uid != 0 {
				t.Run(a.name+", landlock", func(t *testing.T) {
					w := a.prepare(t, p)
					w.must(os.Remove(w.project + "/.env")) // it has no masks in what is written
					a.run(t, w, "--engine", "landlock")
				})
			}
		}
	})
}

// prepare makes a project with a repository, a protected name, and secrets.
func (a *hostile) prepare(t *testing.T, p person) *world {
	t.Helper()
	w := newWorld(t, p)
	w.need("python3")
	w.repository()
	w.write(w.project+"/.vscode/tasks.json", "kept\n")
	w.write(w.project+"/.env", "SECRET\n")
	w.write(w.project+"/keys/k", "SECRET\n")
	w.write(w.outside+"/s", "SECRET\n")
	w.symlink(w.outside, w.project+"/out")
	w.outsideSh(a.setup)
	w.write(w.base+"/tool/attack.py", attackPrelude+a.body)
	w.must(os.Chmod(w.base+"/tool", 0o755))
	return w
}

// succeeds wants the attack to reach its end where there are no walls.
func (a *hostile) succeeds(t *testing.T, w *world) {
	t.Helper()
	w.setenv("HARMLESS", "1")
	r := w.plain("python3", w.base+"/tool/attack.py")
	if out := r.out + w.outsideSh(a.after); !strings.Contains(out, "SECRET") && !strings.Contains(out, "EVIL") {
		t.Fatalf("%s: without walls it does not succeed either: %s%s", a.name, r, out)
	}
}

// run makes the attack inside, and looks: nothing outside and no protected name
// has changed, no secret came out, and what changed in the project is recorded.
func (a *hostile) run(t *testing.T, w *world, flags ...string) {
	t.Helper()
	guarded := []string{w.outside, w.project + "/.vscode", w.project + "/.git/config", w.project + "/.git/hooks", w.project + "/.env", w.project + "/keys", w.base + "/tool"}
	before, project := w.lie(guarded...), w.lie(w.project)
	start := time.Now()
	r := w.run(slices.Concat(historyOn, flags, []string{"--read", w.base + "/tool"}, a.flags, []string{"--", "python3", w.base + "/tool/attack.py"})...)
	if limit := max(a.limit, 20*time.Second); time.Since(start) > limit {
		t.Errorf("took %v", time.Since(start))
	}
	if r.code != 0 || !strings.Contains(r.out, a.want) || a.never != "" && strings.Contains(r.out, a.never) || strings.Contains(r.out, "SECRET") {
		t.Errorf("%s: want %q, not %q, and no secret: %s", a.name, a.want, a.never, r)
	}
	if strings.Contains(r.out, "NO WALL") || !w.record().paths[w.project+"/honest"] || !exists(w.project+"/honest") {
		t.Errorf("%s: the broker is not there: %s", a.name, r)
	}
	if out := w.outsideSh(a.after); strings.Contains(out, "EVIL") {
		t.Errorf("%s: outside: %s\ninside: %s", a.name, cut(out), r)
	}
	for _, p := range changes(before, w.lie(guarded...)) {
		t.Errorf("%s: changed on the host: %q\ninside: %s", a.name, p, r)
	}
	w.allRecorded(project)
}

// lie describes what lies at and below some paths. Directories are compared by
// what they are, not by their times: those follow from their entries.
func (w *world) lie(roots ...string) map[string]string {
	w.t.Helper()
	found := make(map[string]string)
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			var st syscall.Stat_t
			if err != nil || syscall.Lstat(p, &st) != nil {
				return nil
			}
			text := fmt.Sprintf("%o %d:%d %d", st.Mode, st.Uid, st.Gid, st.Ino)
			switch st.Mode & syscall.S_IFMT {
			case syscall.S_IFREG:
				data, _ := os.ReadFile(p)
				text += fmt.Sprintf(" %d %v %x", st.Size, st.Mtim, sha256.Sum256(data))
			case syscall.S_IFLNK:
				to, _ := os.Readlink(p)
				text += " " + to
			}
			found[p] = text
			return nil
		})
	}
	return found
}

// changes lists the paths that are not the same in two trees.
func changes(before, after map[string]string) []string {
	var paths []string
	for p, text := range after {
		if before[p] != text {
			paths = append(paths, p)
		}
	}
	for p := range before {
		if _, ok := after[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// recorded is what the runs in a world have written down: paths, and pairs of
// names by which one thing went or could be reached.
type recorded struct {
	paths map[string]bool
	pairs [][2]string
}

func (w *world) record() recorded {
	w.t.Helper()
	logs, _ := filepath.Glob(w.home + "/.local/state/carrel/projects/*/changes/*.log")
	rec := recorded{paths: make(map[string]bool)}
	known := make(map[[2]string]bool)
	for _, log := range logs {
		for line := range strings.Lines(w.read(log)) {
			_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			var names []string
			for rest != "" {
				quoted, err := strconv.QuotedPrefix(rest)
				if err != nil {
					w.t.Fatalf("the record has the line %q", line)
				}
				p, _ := strconv.Unquote(quoted)
				rec.paths[p] = true
				names = append(names, p)
				rest = strings.TrimPrefix(rest[len(quoted):], " ")
			}
			if len(names) == 2 && !known[[2]string(names)] {
				known[[2]string(names)] = true
				rec.pairs = append(rec.pairs, [2]string(names), [2]string{names[1], names[0]})
			}
		}
	}
	return rec
}

// explains says whether a difference at p follows from the record: the path is
// in it, or it is there under a name that p had by the renames in it, or only
// such a rename has brought there what was elsewhere before.
func (r *recorded) explains(p string, before, after map[string]string) bool {
	const most = 20_000
	seen, queue := map[string]bool{p: true}, []string{p}
	for len(queue) > 0 && len(seen) < most {
		at := queue[0]
		queue = queue[1:]
		if r.paths[at] || at != p && after[p] != "" && before[at] == after[p] || at != p && after[p] == "" && after[at] == before[p] {
			return true
		}
		for _, pair := range r.pairs {
			rest, ok := strings.CutPrefix(at, pair[0])
			if ok && (rest == "" || rest[0] == '/') && !seen[pair[1]+rest] {
				seen[pair[1]+rest] = true
				queue = append(queue, pair[1]+rest)
			}
		}
	}
	return false
}

// allRecorded wants each difference since before to follow from the record.
func (w *world) allRecorded(before map[string]string) {
	w.t.Helper()
	rec := w.record()
	after := w.lie(w.project)
	for _, p := range changes(before, after) {
		if !rec.explains(p, before, after) {
			w.t.Errorf("changed and not in the record: %q", p)
		}
	}
}
