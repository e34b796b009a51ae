//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keptAt is what `carrel history du` says of a history's place.
type keptAt struct {
	Dir   string `json:"dir"`
	Other bool   `json:"other_file_system"`
}

func (w *world) kept() (k keptAt) {
	w.t.Helper()
	w.must(json.Unmarshal([]byte(w.fine("history", "du", "--json")), &k))
	return k
}

func (w *world) configured(text string) { w.write(w.home+"/.config/carrel/config.yaml", text) }

// TestHistoryDir: the history is where the user wants it, every command finds it
// there, commands inside neither see nor change it, and an older one is not
// forgotten.
func TestHistoryDir(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.litter = true // with what it keeps
		w.write(w.project+"/a", "a")
		w.sh("echo b > a")
		old := w.kept().Dir
		if !strings.HasPrefix(old, w.home+"/.local/state/carrel/projects/") {
			t.Errorf("without history.dir: %s", old)
		}
		w.configured("history: {dir: ~/kept}")
		if r := w.carrel("history"); !strings.Contains(r.err, old) || !strings.Contains(r.err, "history.dir") {
			t.Errorf("no hint to the older history: %s", r)
		}
		w.sh("echo c > a; echo new > new")
		place := w.kept()
		if filepath.Dir(place.Dir) != w.home+"/kept" || place.Other {
			t.Errorf("with history.dir: %+v", place)
		}
		for _, dir := range []string{w.home + "/kept", place.Dir} {
			if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v %v", dir, st.Mode(), err)
			}
		}
		if r := w.carrel("history"); strings.Contains(r.err, old) {
			t.Errorf("a hint although there are steps: %s", r)
		}
		w.fine("show", "1")
		if out := w.fine("diff", "1"); !strings.Contains(out, "+c") {
			t.Errorf("diff: %s", out)
		}
		w.fine("history", "verify")
		w.fine("history", "gc")
		w.fine("history", "export", "1", "-o", w.outside+"/step.tar")
		w.fine("undo")
		if got := w.read(w.project + "/a"); got != "b\n" {
			t.Errorf("undone: %q", got)
		}
		w.fine("redo")
		w.fine("discard", "--all", "--yes")
		w.configured("history: {mode: on}")
		w.fine("undo", "--force") // what the other history did is nobody's step here
		if got := w.read(w.project + "/a"); got != "a" {
			t.Errorf("the older history: %q", got)
		}
		w.fine("discard", "--all", "--yes")
		w.configured("history: {dir: ~/kept}")
		w.sh("echo d > a")
		w.configured("")
		if r := w.carrel("history"); !strings.Contains(r.err, place.Dir) {
			t.Errorf("no hint to where history.dir had it: %s", r)
		}
	})
}

// TestHistoryDirIsHidden: whatever is granted above it.
func TestHistoryDirIsHidden(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.configured("history: {dir: " + w.outside + "/kept}")
		w.write(w.outside+"/seen", "seen")
		w.sh("echo a > a")
		w.sh("rm a")
		canary := w.write(w.outside+"/kept/canary", "canary")
		before := w.tree(w.outside + "/kept")
		probe := `ls -A ` + w.outside + `/kept ` + w.kept().Dir + `; cat ` + canary + `; echo x > ` + w.outside + `/kept/new; echo x > ` + canary +
			`; mv ` + w.outside + `/kept ` + w.outside + `/away; rm -rf ` + w.outside + `/kept; mkdir ` + w.kept().Dir + `; cat ` + w.outside + `/seen; echo > a; rm a`
		for _, flags := range [][]string{nil, {"--read", w.outside}, {"--home", "full"}, {"--read", w.outside, "--history", "off"}, {"--write", w.outside, "--history", "off"}} {
			r := w.run(append(append([]string{}, flags...), "--", "sh", "-c", probe)...)
			if strings.Contains(r.out, "canary") || strings.Contains(r.out, "journal") {
				t.Errorf("%q: it can be seen: %s", flags, r)
			}
			if r.code == 125 {
				t.Errorf("%q: %s", flags, r)
			}
			if len(flags) > 1 && flags[1] == w.outside && !strings.Contains(r.out, "seen") {
				t.Errorf("%q: the place around it is not there: %s", flags, r)
			}
			if got := w.read(canary); got != "canary" {
				t.Errorf("%q: the canary is %q", flags, got)
			}
			if _, err := os.Lstat(w.outside + "/kept/new"); err == nil {
				t.Errorf("%q: something was made in it", flags)
			}
		}
		if !strings.Contains(w.tree(w.outside+"/kept"), "canary") || len(before) == 0 {
			t.Error("it is gone")
		}
		w.fine("history", "verify")
	})
}

// TestHistoryDirRefused: a place that commands could change, or others look into,
// and why.
func TestHistoryDirRefused(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.project+"/a", "a")
		w.mkdir(w.project+"/in", 0o700)
		w.mkdir(w.outside+"/open", 0o700)
		w.must(os.Chmod(w.outside+"/open", 0o750))
		w.mkdir(w.outside+"/closed", 0o700)
		w.write(w.outside+"/file", "")
		w.symlink(w.project+"/in", w.outside+"/link")
		w.symlink(w.outside+"/nowhere", w.outside+"/dangling")
		for _, c := range []struct {
			dir, why string
			flags    []string
		}{
			{w.project + "/in", "it lies in the project", nil},
			{w.project + "/new", "it lies in the project", nil},
			{w.project, "it lies in the project", nil},
			{w.outside + "/link", "it lies in the project", nil},
			{w.home, "the project lies in it", nil},
			{w.outside + "/open", "make it 0700", nil},
			{w.outside + "/file", "no directory", nil},
			{w.outside + "/dangling", "no such file", nil},
			{w.outside + "/missing/x", "its parent", nil},
			{w.home + "/.local/state/carrel/x", "in the state directory", nil},
			{w.outside + "/closed", "commands inside may change", []string{"--write", w.outside}},
			{w.outside + "/closed", "commands inside may change", []string{"--write", w.outside + "/closed"}},
		} {
			w.configured("history:\n  dir: " + c.dir)
			w.mkdir(w.home+"/.local/state/carrel", 0o700)
			r := w.run(append(append([]string{}, c.flags...), "--", "sh", "-c", "echo b > a")...)
			if r.code != 125 || !strings.Contains(r.err, c.why) || !strings.Contains(r.err, "history.dir") || !strings.Contains(r.err, "config.yaml:2") {
				t.Errorf("%s %q: %s", c.dir, c.flags, r)
			}
			if got := w.read(w.project + "/a"); got != "a" {
				t.Errorf("%s: the command ran", c.dir)
			}
			if c.flags == nil {
				w.askedWrongly([]string{"history.dir", c.why}, "history")
				w.askedWrongly([]string{"history.dir", c.why}, "undo")
			}
		}
		for text, why := range map[string]string{"history: {dir: rel}": "not an absolute path", "history: {dir: ''}": "empty", "history: {dir: ~root/x}": "not an absolute path"} {
			w.configured(text)
			w.askedWrongly([]string{"history.dir", why}, "history")
		}
		w.configured("")
		w.write(w.project+"/.carrel.yaml", "history: {dir: "+w.outside+"/closed, ignore: ['*']}")
		w.sh("echo b > a")
		if names, err := os.ReadDir(w.outside + "/closed"); err != nil || len(names) > 0 {
			t.Errorf("a project's file chose the place: %v %v", names, err)
		}
		w.fine("undo")
		if got := w.read(w.project + "/a"); got != "a" {
			t.Errorf("a project's file switched the undo off: %q", got)
		}
		w.setenv("XDG_STATE_HOME", w.project+"/in")
		r := w.run("sh", "-c", "echo b > a")
		for _, part := range []string{"XDG_STATE_HOME", w.project + "/in", "it lies in the project", "history.dir"} {
			if r.code != 125 || !strings.Contains(r.err, part) {
				t.Errorf("a state directory in the project: %s", r)
			}
		}
		w.askedWrongly([]string{"XDG_STATE_HOME", "it lies in the project"}, "history")
		w.askedWrongly([]string{"XDG_STATE_HOME", "it lies in the project"}, "undo")
		if got := w.read(w.project + "/a"); got != "a" {
			t.Errorf("the command ran: %q", got)
		}
		w.configured("history: {dir: " + w.outside + "/closed}")
		w.sh("echo b > a")
	})
}
