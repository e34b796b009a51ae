//go:build linux

package e2e

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestDeskUndoWhileItRuns: a step is taken back, and made again, while a server, a
// program with a file open and a terminal go on; what comes after is recorded, each in
// its own steps, and nothing that was there is lost.
func TestDeskUndoWhileItRuns(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.project+"/a", "as it was\n")
		w.write(w.project+"/held", "before\n")
		s := w.stays("undone", "--network", "local")
		s.sh("echo made > first") // so that there is a history when it is started anew
		s.fine("stop")
		s.fine("start", "--network", "local")
		s.launch("server", counting("n"))
		s.launch("holder", "exec 9>>held; while :; do echo on >&9; sleep 0.1; done")
		c := s.screen(bare...)
		c.shows("IN>")
		eventually(t, "both to write", func() bool { return exists(w.project+"/n") && strings.Contains(w.read(w.project+"/held"), "on\n") })
		for i := range often(3, 30) {
			s.sh("echo two > a")
			step := s.lastStep("echo two > a")
			if r := w.plain(w.bin, "undo", "--step", strconv.FormatUint(step, 10)); r.code != 0 || w.read(w.project+"/a") != "as it was\n" {
				t.Fatalf("undo %d: %s", i, r)
			}
			if r := w.plain(w.bin, "redo"); r.code != 0 || w.read(w.project+"/a") != "two\n" {
				t.Fatalf("redo %d: %s", i, r)
			}
			if r := w.plain(w.bin, "undo", "--step", strconv.FormatUint(step, 10)); r.code != 0 || w.read(w.project+"/a") != "as it was\n" {
				t.Fatalf("undo again %d: %s", i, r)
			}
		}
		n, held := w.read(w.project+"/n"), w.read(w.project+"/held")
		eventually(t, "both to go on", func() bool {
			return w.read(w.project+"/n") != n && len(w.read(w.project+"/held")) > len(held)
		})
		c.send("--text", "echo alive", "Enter")
		c.shows("alive")
		if got := s.status(); got.State != "running" || got.Control.Mode != "active" {
			t.Errorf("afterwards: %+v", got)
		}

		// Who is paused by a person stays so.
		s.fine("pause")
		s.paused(func() {
			if r := w.plain(w.bin, "undo", "--step", "1"); r.code != 0 || exists(w.project+"/first") {
				t.Errorf("undo while it is paused: %s", r)
			}
			if got := s.status(); got.State != "paused" {
				t.Errorf("it is %s", got.State)
			}
		})
		s.fine("stop")
		all := w.steps()
		for i := len(all) - 1; i >= 0; i-- { // back to the beginning, without a conflict
			if all[i].State != "done" {
				continue
			}
			if r := w.plain(w.bin, "undo", "--step", strconv.FormatUint(all[i].Step, 10)); r.code != 0 {
				t.Errorf("undo of step %d at the end: %s", all[i].Step, r)
			}
		}
		if w.read(w.project+"/a") != "as it was\n" || w.read(w.project+"/held") != "before\n" || exists(w.project+"/n") {
			t.Errorf("at the end: a %q, held %.40q", w.read(w.project+"/a"), w.read(w.project+"/held"))
		}
		if r := w.plain(w.bin, "history", "verify"); r.code != 0 {
			t.Errorf("verify: %s", r)
		}
	})
}

// paused does something while the workspace is, and counts that nothing of it runs.
func (s *stay) paused(do func()) {
	s.w.t.Helper()
	n := s.w.read(s.w.project + "/n")
	do()
	time.Sleep(300 * time.Millisecond)
	if s.w.read(s.w.project+"/n") != n {
		s.w.t.Error("it goes on while it is paused")
	}
}

// lastStep is the newest step of a command.
func (s *stay) lastStep(command string) (n uint64) {
	s.w.t.Helper()
	for _, one := range s.w.steps() {
		if strings.Contains(one.Label, command) {
			n = max(n, one.Step)
		}
	}
	if n == 0 {
		s.w.t.Fatalf("no step of %q: %+v", command, s.w.steps())
	}
	return n
}

// TestDeskOpenStep: a step that goes on is told with what it has come to.
func TestDeskOpenStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/old", "one\n")
	w.write(w.project+"/going", "gone\n")
	w.write(w.project+"/named", "so\n")
	s := w.stays("open")
	s.launch("worker", "echo two >> old; rm going; mv named other; mkdir d; echo x > d/new; exec 9>> held; sleep 2000")
	eventually(t, "the work", func() bool { return exists(w.project + "/held") })
	list := w.steps()
	if len(list) != 1 {
		t.Fatalf("steps: %+v", list)
	}
	want := list[0]
	if want.State != "running" || want.Added != 3 || want.Modified != 1 || want.Removed != 1 || want.Renamed != 1 {
		t.Errorf("while it runs: %+v", want)
	}
	paths := w.pathsOf(want.Step)
	s.fine("stop")
	want.State = "done"
	want.Exit = w.steps()[0].Exit
	if got := w.steps(); len(got) != 1 || !reflect.DeepEqual(got[0], want) || !slices.Equal(w.pathsOf(want.Step), paths) {
		t.Errorf("afterwards %+v %q\nbefore %+v %q", got, w.pathsOf(want.Step), want, paths)
	}
}

// TestDeskKeepsLimits: the limits of the history hold while a workspace goes on, and
// nothing of it is in the way: it stands still for a moment.
func TestDeskKeepsLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.home+"/.config/carrel/config.yaml", "history: {max_steps: 5}\n")
	s := w.stays("bounded", "--network", "local")
	s.launch("server", counting("n"))
	for i := range 12 {
		s.sh("echo x > f" + strconv.Itoa(i))
	}
	if all := w.steps(); len(all) < 12 {
		t.Fatalf("before anybody looked: %+v", all)
	}
	eventually(t, "old steps to go", func() bool { return len(w.steps()) <= 6 }) // and the step that goes on
	newest := w.steps()
	n := w.read(w.project + "/n")
	eventually(t, "the server to go on", func() bool { return w.read(w.project+"/n") != n })
	if last := newest[len(newest)-1]; !strings.Contains(last.Label, "f11") && !strings.Contains(newest[len(newest)-2].Label, "f11") {
		t.Errorf("what stayed: %+v", newest)
	}
	told := false
	for _, e := range s.events() {
		told = told || strings.Contains(e.Text, "old steps are discarded")
	}
	if got := s.status(); !told || got.State != "running" {
		t.Errorf("told %v, %+v", told, got)
	}
	if r := w.plain(w.bin, "undo", "--step", strconv.FormatUint(s.lastStep("f11"), 10)); r.code != 0 || exists(w.project+"/f11") {
		t.Errorf("undo afterwards: %s", r)
	}
	s.fine("stop")
	if r := w.plain(w.bin, "history", "verify"); r.code != 0 {
		t.Errorf("verify: %s", r)
	}
}
