//go:build linux

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pauseFile is where the pause of the world's project is written down.
func (w *world) pauseFile() string { return w.pauseFileOf(projectID(w.project)) }

func (w *world) pauseFileOf(id string) string {
	return w.home + "/.local/state/carrel/projects/" + id + ".paused"
}

// projectID is by what carrel names a project.
func projectID(project string) string {
	sum := sha256.Sum256([]byte(project))
	return hex.EncodeToString(sum[:10])
}

// resumes is a person who ends the pause of a project, that of the world where no directory is named.
func (w *world) resumes(word string, dir ...string) (int, string) {
	w.t.Helper()
	tm := w.openTerminal(w.command(w.bin, append([]string{"resume", "--project"}, dir...)...))
	go func() {
		for !strings.Contains(tm.all(), " to let it go on: ") {
			select {
			case <-tm.done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		tm.send(word + "\n")
	}()
	return tm.wait(), tm.all()
}

// counts starts a run that goes on writing a file, until the test ends.
func (w *world) counts(name string) {
	w.t.Helper()
	cmd := w.command(w.bin, "run", "--", "sh", "-c", counting(name))
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	eventually(w.t, name+" to be written", func() bool { return exists(w.project + "/" + name) })
}

// TestProjectPause: one call stops every workspace of the project and what is started later,
// and only a person ends that.
func TestProjectPause(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.counts("n-run")
		s := w.stays("named")
		s.launch("counter", counting("n-named"))
		eventually(t, "the counter to write", func() bool { return exists(w.project + "/n-named") })
		working, fresh := w.mcp("--display", "none"), w.mcp("--display", "none")
		working.does("Bash", args{"command": "echo by mcp > mcp.txt"})
		lines := w.stdio("--working-dir", w.project)
		fresh.does("project_pause", args{"reason": "a look at it"})

		stands := func(when string) {
			t.Helper()
			if w.grows(w.project+"/n-run") || w.grows(w.project+"/n-named") {
				t.Errorf("%s: something goes on", when)
			}
			working.refuses("control", "Bash", args{"command": "touch made"})
			working.refuses("control", "undo", args{})
			fresh.refuses("control", "Bash", args{"command": "touch made"})
			if m := lines.ask("session.start", args{}); m.Error.Carrel["code"] != "control" {
				t.Errorf("%s: session.start: %+v", when, m)
			}
			for _, words := range [][]string{{"run", "--", "touch", "made"}, {"start", "later"}, {"exec", "named", "--", "touch", "made"},
				{"resume", "named"}, {"control", "named", "read_only"}, {"resume", "--project"}} {
				if words[0] == "control" {
					w.carrel("control", "named", "paused")
				}
				if r := w.carrel(words...); r.code != 125 || !strings.Contains(r.err, "project is paused") && !strings.Contains(r.err, "only a person") {
					t.Errorf("%s: %q: %s", when, words, r)
				}
			}
			if exists(w.project + "/made") {
				t.Errorf("%s: it was done all the same", when)
			}
			ps, status := w.carrel("ps"), s.fine("status")
			if !strings.Contains(ps.out, "is paused since") || !strings.Contains(ps.out, w.project) || !strings.Contains(status, "is paused since") {
				t.Errorf("%s: ps and status say %s %s", when, ps, status)
			}
		}
		stands("paused by a tool")
		if ps := w.carrel("ps"); !strings.Contains(ps.out, "a look at it") {
			t.Errorf("the reason: %s", ps)
		}
		if code, said := w.resumes("another"); code == 0 || !exists(w.pauseFile()) {
			t.Errorf("a wrong name: %d %q", code, said)
		}
		if err := os.WriteFile(w.pauseFile(), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		stands("a file that cannot be read")
		name := w.project[strings.LastIndex(w.project, "/")+1:]
		if code, said := w.resumes(name); code != 0 || exists(w.pauseFile()) {
			t.Fatalf("a person resumes: %d %q", code, said)
		}
		s.person("control", "active")
		if !w.grows(w.project+"/n-run") || !w.grows(w.project+"/n-named") {
			t.Error("not all goes on")
		}
		fresh.does("Bash", args{"command": "touch made"})
		if ps := w.carrel("ps"); strings.Contains(ps.out, "is paused since") {
			t.Errorf("%s", ps)
		}
	})
}

// TestProjectPauseFirst: a project is paused before anything was started in it, by each
// surface, and stopping works.
func TestProjectPauseFirst(t *testing.T) {
	w := newWorld(t, ordinary(t))
	s := w.stays("first")
	lines := w.stdio("--working-dir", w.project)
	lines.do("carrel.pause_project", args{"reason": "first"})
	if r := w.carrel("run", "--", "true"); r.code != 125 || !strings.Contains(r.err, "first") {
		t.Errorf("%s", r)
	}
	if r := w.carrel("pause", "--project", w.project, "--json"); r.code != 0 || !strings.Contains(r.out, `"first"`) {
		t.Errorf("paused twice: %s", r)
	}
	if r := s.do("stop"); r.code != 0 {
		t.Errorf("stop: %s", r)
	}
	other := w.command(w.bin, "run", "--", "true")
	other.Dir = w.home + "/another"
	w.must(os.Mkdir(other.Dir, 0o755))
	if err := other.Run(); err != nil {
		t.Errorf("another project: %v", err)
	}
	if r := w.carrel("purge", "--all", "--yes"); r.code == 0 || !exists(w.pauseFile()) {
		t.Errorf("purged: %s", r)
	}
	if code, said := w.resumes(w.project[strings.LastIndex(w.project, "/")+1:]); code != 0 {
		t.Errorf("%d %q", code, said)
	}
}

// TestProjectPauseWords: a pause is about the directory that is meant, holds below it, and ends
// when the directory is gone.
func TestProjectPauseWords(t *testing.T) {
	w := newWorld(t, ordinary(t))
	for word, wanted := range map[string]string{"": "want a directory", "/etc/passwd": "no directory", "nowhere": "no such file"} {
		for _, op := range []string{"pause", "resume"} {
			if r := w.carrel(op, "--project", word); r.code != 125 || !strings.Contains(r.err, wanted) {
				t.Errorf("%s %q: %s", op, word, r)
			}
		}
	}
	if r := w.carrel("resume", "--project"); r.code != 0 || !strings.Contains(r.out, "was not paused") {
		t.Errorf("what is not paused: %s", r)
	}

	outer := w.home + "/outer"
	w.mkdir(outer+"/inner", 0o755)
	at := func(dir string, words ...string) result {
		cmd := w.command(w.bin, words...)
		cmd.Dir = dir
		return w.finish(cmd)
	}
	if r := at(outer, "pause", "--project", "."); r.code != 0 || !strings.Contains(r.out, "paused "+outer+":") {
		t.Errorf("a relative path: %s", r)
	}
	for _, dir := range []string{outer, outer + "/inner"} {
		if r := at(dir, "run", "--", "touch", "made"); r.code != 125 || !strings.Contains(r.err, "project is paused") || exists(dir+"/made") {
			t.Errorf("in %s: %s", dir, r)
		}
	}
	if r := at(outer+"/inner", "resume", "--project"); r.code != 125 || !strings.Contains(r.err, "resume --project "+outer) {
		t.Errorf("the end of a pause from below: %s", r)
	}
	w.must(os.RemoveAll(outer))
	if code, said := w.resumes("outer", outer); code != 0 || strings.Contains(w.carrel("ps").out, "is paused since") {
		t.Errorf("a directory that is gone: %d %q", code, said)
	}

	w.mkdir(outer, 0o755)
	at(outer, "pause", "--project", ".")
	w.must(os.RemoveAll(outer))
	id := projectID(outer)
	w.write(w.pauseFileOf(id), "{")
	if r := w.carrel("ps"); !strings.Contains(r.out, "project "+id+" is paused since") {
		t.Errorf("a pause that cannot be read: %s", r)
	}
	if code, said := w.resumes(id, id); code != 0 || !strings.Contains(said, "resumed "+id) || exists(w.pauseFileOf(id)) {
		t.Errorf("by its id: %d %q", code, said)
	}
}

// TestPauseOfAnOddNameEnds: a person can type the name of each directory that can be paused.
func TestPauseOfAnOddNameEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	for name, word := range map[string]string{"new\nline": `"new\nline"`, "\xff": `"\xff"`, "end ": `"end "`} {
		dir := w.home + "/src/" + name
		w.mkdir(dir, 0o755)
		w.fine("pause", "--project", dir)
		if code, said := w.resumes(word, dir); code != 0 {
			t.Errorf("%q: %d %q", name, code, said)
		}
	}
}
