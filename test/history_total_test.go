//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// usedBy is what `carrel du --json` says.
type usedBy struct {
	Projects []struct {
		ID, Project, Dir     string
		Gone, Exact, Counted bool
		Steps                int
		Disk                 int64 `json:"disk_bytes"`
	}
	Total  int64 `json:"total_disk_bytes"`
	Limits struct {
		MaxBytes      int64 `json:"max_bytes"`
		MaxTotalBytes int64 `json:"max_total_bytes"`
	}
}

func (w *world) du(flags ...string) (u usedBy) {
	w.t.Helper()
	w.must(json.Unmarshal([]byte(w.fine(append([]string{"du", "--json"}, flags...)...)), &u))
	return u
}

// overwrites has runs of a project overwrite 100 KiB, each of which the history keeps.
// It gives what they said.
func (w *world) overwrites(project string, times int) (said string) {
	w.t.Helper()
	if !exists(project + "/big") {
		w.mkdir(project, 0o700)
		w.write(project+"/big", strings.Repeat("first", 20<<10))
	}
	for range times {
		r := w.inProject(project, "run", "--", "sh", "-c", "head -c 102400 /dev/urandom > big")
		if said += r.err; r.code != 0 {
			w.t.Fatalf("in %s: %s", project, r)
		}
	}
	return said
}

// stepNumbers are those of a project's history.
func (w *world) stepNumbers(project string) []uint64 {
	w.t.Helper()
	var out []uint64
	for _, s := range w.steps("--project", project) {
		out = append(out, s.Step)
	}
	return out
}

func (w *world) keeps(project string, want ...uint64) {
	w.t.Helper()
	got := w.stepNumbers(project)
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = got[i] == want[i]
	}
	if !same {
		w.t.Errorf("%s has the steps %d, want %d", project, got, want)
	}
}

// TestTotalLimit: where all histories together are too large, the oldest steps go of the
// project that was not used for the longest time, then of the next; not of one that is in
// use, and never a newest step. What went is told in one line.
func TestTotalLimit(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.litter = true // other projects
		w.configured("history: {max_total_bytes: 900KiB}")
		one, two, three := w.home+"/src/one", w.home+"/src/two", w.home+"/src/three"
		if said := w.overwrites(two, 4) + w.overwrites(one, 4) + w.overwrites(three, 1); said != "" {
			t.Fatalf("within the limit: %s", said)
		}
		w.keeps(two, 1, 2, 3, 4)

		said := w.overwrites(three, 1)
		want := `old steps are discarded, 3 of "` + two + `"; ` + "`carrel du`"
		if !strings.Contains(said, want) || strings.Count(said, "\n") != 1 {
			t.Errorf("told %q, want %q in one line", said, want)
		}
		w.keeps(two, 4)
		w.keeps(one, 1, 2, 3, 4)
		w.keeps(three, 1, 2)
		if u := w.du("--exact"); u.Total > 900<<10*7/8 || u.Total < 700<<10 {
			t.Errorf("brought down to %d", u.Total)
		}

		in, out, err := os.Pipe()
		w.must(err)
		busy := w.command(w.bin, "run", "--", "sh", "-c", "echo > ready; read x; true")
		busy.Dir, busy.Stdin = one, in
		w.must(busy.Start())
		in.Close()
		eventually(t, "the run to begin", func() bool { return exists(one + "/ready") })
		w.overwrites(two, 1) // so that one is the older
		if said := w.overwrites(three, 2); strings.Contains(said, one) || !strings.Contains(said, `1 of "`+two+`"`) {
			t.Errorf("while the oldest is in use: %q", said)
		}
		w.keeps(one, 1, 2, 3, 4, 5)
		w.keeps(two, 5)
		out.Close()
		w.must(busy.Wait())

		w.overwrites(three, 7)
		w.keeps(one, 5)
		w.keeps(two, 5)
		if n := w.stepNumbers(three); n[len(n)-1] != 11 || n[0] == 1 {
			t.Errorf("the project that is used: %d", n)
		}
		for _, project := range []string{one, two, three} {
			w.fine("history", "verify", "--project", project)
		}
		w.outsideSh("cp " + two + "/big " + two + "/was")
		if r := w.inProject(two, "undo"); r.code != 0 || w.read(two+"/big") == w.read(two+"/was") {
			t.Errorf("undo of the newest step of the oldest project: %s", r)
		}
	})
}

// TestTotalLimitOfAPlace: histories in history.dir have the limit together, and those in
// the state directory are not touched then. What is known of them is listed.
func TestTotalLimitOfAPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true // with what it keeps
	one, two := w.home+"/src/one", w.home+"/src/two"
	w.configured("history: {max_total_bytes: 500KiB}")
	w.overwrites(one, 4)
	w.configured("history: {max_total_bytes: 500KiB, dir: ~/kept}")
	w.overwrites(two, 4)
	w.overwrites(one, 2)
	w.keeps(two, 3, 4)
	w.keeps(one, 1, 2)
	u := w.du("--exact")
	seen := ""
	var sum int64
	for _, p := range u.Projects {
		if sum += p.Disk; !p.Counted {
			seen = p.Project + " " + filepath.Dir(filepath.Dir(filepath.Dir(p.Dir)))
			sum -= p.Disk
		}
	}
	if len(u.Projects) != 3 || seen != one+" "+w.home+"/.local/state/carrel" || sum != u.Total {
		t.Errorf("listed: %+v", u)
	}
	w.configured("")
	w.keeps(one, 1, 2, 3, 4)
}

// TestDeskHoldsTotal: a workspace that stays has old steps of other projects go while it
// runs, and says so without naming them. Its own steps stay.
func TestDeskHoldsTotal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true // another project
	other := w.home + "/src/other"
	w.configured("history: {max_total_bytes: 900KiB}")
	w.overwrites(other, 6)
	w.write(w.project+"/big", strings.Repeat("first", 20<<10))
	s := w.stays("growing", "--network", "local")
	for range 4 {
		s.sh("head -c 102400 /dev/urandom > big")
	}
	eventually(t, "old steps of the other project to go", func() bool { return len(w.stepNumbers(other)) < 6 })
	told := ""
	eventually(t, "it to be told", func() bool { // after they have gone
		told = ""
		for _, e := range s.events() {
			if strings.Contains(e.Text, "max_total_bytes") {
				told += e.Text + "\n"
			}
		}
		return told != ""
	})
	if strings.Count(told, "\n") != 1 || !strings.Contains(told, "of 1 other project;") || strings.Contains(told, other) {
		t.Errorf("told %q", told)
	}
	s.fine("stop")
	if got := len(w.steps()); got != 4 {
		t.Errorf("%d steps of its own", got)
	}
	w.fine("history", "verify", "--project", other)
}

// TestRunWaitsForTrim: a run waits while another run's end makes the history of the project
// smaller: at its start, and at its first change where the history was begun meanwhile.
func TestRunWaitsForTrim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true // two runs at once
	in, out, err := os.Pipe()
	w.must(err)
	defer out.Close()
	early := w.command(w.bin, "run", "--", "sh", "-c", "echo begun; read x; echo 1 > early")
	early.Stdin = in
	begun, err := early.StdoutPipe()
	w.must(err)
	w.must(early.Start())
	in.Close()
	_, err = begun.Read(make([]byte, 10))
	w.must(err)
	w.sh("echo 1 > a")

	lock, err := os.Open(w.kept().Dir + "/lock")
	w.must(err)
	defer lock.Close()
	locked := func() {
		w.must(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
		time.AfterFunc(300*time.Millisecond, func() { _ = syscall.Flock(int(lock.Fd()), syscall.LOCK_UN) })
	}
	locked()
	out.Close()
	if err := early.Wait(); err != nil || w.read(w.project+"/early") != "1\n" {
		t.Errorf("a run that was there before: %v", err)
	}
	locked()
	w.sh("echo 2 > a")
	if got := w.steps(); len(got) != 3 {
		t.Errorf("%d steps", len(got))
	}
}

// TestDu: what is listed, of projects that are there and gone, and by which limits.
func TestDu(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.litter = true // other projects
		if out := w.fine("du"); out != "about 0 B on disk in all; all projects together may take 10.0 GiB, one of them 2.0 GiB\n" {
			t.Errorf("without a project: %s", out)
		}
		one, gone := w.home+"/src/one", w.home+"/src/a gone\none"
		w.overwrites(gone, 1)
		w.overwrites(one, 2)
		w.must(os.RemoveAll(gone))
		u := w.du()
		if len(u.Projects) != 2 || u.Limits.MaxBytes != 2<<30 || u.Limits.MaxTotalBytes != 10<<30 {
			t.Fatalf("got %+v", u)
		}
		a, b := u.Projects[0], u.Projects[1]
		if u.Total != a.Disk+b.Disk {
			t.Errorf("the sum of %+v", u)
		}
		if a.Project != one || a.Gone || a.Steps != 2 || a.Disk != 200<<10 || a.Exact ||
			b.Project != gone || !b.Gone || b.Steps != 1 || b.Disk != 100<<10 {
			t.Errorf("got %+v", u)
		}
		var kept struct {
			Total struct {
				Disk int64 `json:"disk_bytes"`
			}
		}
		w.must(json.Unmarshal([]byte(w.fine("history", "du", "--json", "--project", one)), &kept))
		if u := w.du("--exact"); !u.Projects[0].Exact || u.Projects[0].Disk != kept.Total.Disk || kept.Total.Disk <= a.Disk {
			t.Errorf("exact: %+v, `history du` says %d", u, kept.Total.Disk)
		}
		if u := w.du(); u.Projects[0].Exact || u.Projects[0].Disk != kept.Total.Disk {
			t.Errorf("estimated after it was counted: %+v, want %d", u, kept.Total.Disk)
		}
		out := w.fine("du")
		for _, want := range []string{"2      208.0 KiB", "  -      " + one + "\n", `  gone   "` + w.home + `/src/a gone\none"`, "STEPS  KEPT"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
		w.configured("history: {max_bytes: 20GiB}")
		if out := w.fine("du"); !strings.Contains(out, "together may take 20.0 GiB, one of them 20.0 GiB") {
			t.Errorf("a project may take more than all: %s", out)
		}
		w.configured("history: {max_bytes: 0}")
		if out := w.fine("du"); !strings.Contains(out, "together may take what they need, one of them what they need") {
			t.Errorf("without limits: %s", out)
		}
		w.must(os.Remove(filepath.Dir(a.Dir) + "/path")) // as earlier versions have left it
		if u := w.du(); u.Projects[0].Project != one && u.Projects[1].Project != one {
			t.Errorf("without the file with its path: %+v", u)
		}
		r := w.carrel("--permissions", w.write(w.outside+"/c.yaml", "undo: none\n"), "du")
		if r.code != 125 || !strings.Contains(r.err, "ceiling") {
			t.Errorf("under a ceiling without the history: %s", r)
		}
	})
}
