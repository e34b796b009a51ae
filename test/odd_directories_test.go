//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestOddDirectories: where HOME, XDG_RUNTIME_DIR and XDG_STATE_HOME are
// missing, empty, relative, files or unwritable, commands still run (or are
// refused with the reason), and nothing is made in the wrong place. Where nothing can be
// kept, they run with --history off alone.
func TestOddDirectories(t *testing.T) {
	const runs, mayRefuse, keepsNothing = "runs", "may be refused", "keeps nothing"
	tests := []struct {
		name string
		set  func(w *world)
		fate string
	}{
		{"no runtime directory", func(w *world) { w.unsetenv("XDG_RUNTIME_DIR") }, runs},
		{"empty runtime directory", func(w *world) { w.setenv("XDG_RUNTIME_DIR", "") }, runs},
		{"relative runtime directory", func(w *world) { w.setenv("XDG_RUNTIME_DIR", "run") }, runs},
		{"missing runtime directory", func(w *world) { w.setenv("XDG_RUNTIME_DIR", w.outside+"/nothing/there") }, runs},
		{"no home", func(w *world) { w.unsetenv("HOME") }, keepsNothing},
		{"empty home", func(w *world) { w.setenv("HOME", "") }, keepsNothing},
		{"relative home", func(w *world) { w.setenv("HOME", "home") }, keepsNothing},
		{"missing home", func(w *world) { w.setenv("HOME", w.outside+"/nothing/there") }, keepsNothing},
		{"home is a file", func(w *world) { w.setenv("HOME", w.write(w.outside+"/file", "")) }, keepsNothing},
		{"home is the root", func(w *world) { w.setenv("HOME", "/") }, keepsNothing},
		{"home is the project", func(w *world) { w.setenv("HOME", w.project) }, mayRefuse},
		{"home is below the project", func(w *world) { w.mkdir(w.project+"/h", 0o700); w.setenv("HOME", w.project+"/h") }, mayRefuse},
		{"home with a line break", func(w *world) { w.mkdir(w.outside+"/h\nx", 0o700); w.setenv("HOME", w.outside+"/h\nx") }, runs},
		{"home behind a link", func(w *world) { w.symlink(w.home, w.outside+"/link"); w.setenv("HOME", w.outside+"/link") }, runs},
		{"relative state", func(w *world) { w.setenv("XDG_STATE_HOME", "state") }, runs},
		{"empty state", func(w *world) { w.setenv("XDG_STATE_HOME", "") }, runs},
		{"state is a file", func(w *world) { w.setenv("XDG_STATE_HOME", w.write(w.outside+"/file", "")) }, keepsNothing},
		{"state is unwritable", func(w *world) { w.setenv("XDG_STATE_HOME", "/proc/self") }, keepsNothing},
		{"state is in the project", func(w *world) { w.setenv("XDG_STATE_HOME", w.project+"/state") }, mayRefuse},
		{"state is a link", func(w *world) {
			w.mkdir(w.outside+"/s", 0o700)
			w.symlink(w.outside+"/s", w.outside+"/state")
			w.setenv("XDG_STATE_HOME", w.outside+"/state")
		}, runs},
		{"odd configuration place", func(w *world) { w.setenv("XDG_CONFIG_HOME", "relative"); w.setenv("XDG_CACHE_HOME", "") }, runs},
		{"no PATH", func(w *world) { w.unsetenv("PATH") }, runs},
		{"empty PATH", func(w *world) { w.setenv("PATH", "") }, runs},
		{"no environment at all", func(w *world) { w.env = []string{} }, keepsNothing},
		{"own variables", func(w *world) { w.setenv("CARREL", "1"); w.setenv("CARREL_WORKSPACE", "x") }, mayRefuse},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asUser(t, func(t *testing.T, p person) {
				if p.uid == 0 && tt.name == "home is the root" {
					return // the state directory would be made in the machine's own root, rightly
				}
				w := newWorld(t, p)
				w.write(w.project+"/file", "x")
				tt.set(w)
				before := w.tree(w.project)
				run := func(history string) (r result, fine, refused bool) {
					r = w.finish(w.command(w.bin, "run", "--history", history, "--", "/bin/sh", "-c",
						"cat file; cd; pwd; : > \"${XDG_RUNTIME_DIR:?}/carrel-e2e-x\" && : > /tmp/carrel-e2e-x && echo fine"))
					return r, r.code == 0 && strings.HasSuffix(r.out, "fine\n"), r.code == 125 && r.out == "" && strings.HasPrefix(r.err, "carrel: ")
				}
				r, fine, refused := run("on")
				if tt.fate == keepsNothing {
					if !refused || !strings.Contains(r.err, "`--history off` runs without undo") {
						t.Errorf("with a history: %s", r)
					}
					r, fine, _ = run("off")
				}
				if !fine && !(tt.fate == mayRefuse && refused) {
					t.Errorf("%s", r)
				}
				if _, err := os.Lstat(w.outside + "/nothing"); err == nil {
					t.Error("a directory that the environment names was made")
				}
				if after := w.tree(w.project); after != before && tt.name != "state is in the project" {
					t.Errorf("the project was\n%sand is\n%s", before, after)
				}
			})
		})
	}
}

// tree lists what is below a directory.
func (w *world) tree(dir string) string {
	w.t.Helper()
	out, err := exec.Command("find", dir, "-printf", "%P %y\n").Output()
	w.must(err)
	return string(out)
}

// TestStateDirectoryOfSomebodyElse is not used: it could be written by them.
func TestStateDirectoryOfSomebodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.mkdir(w.outside+"/state/carrel", 0o777)
	w.must(os.Chmod(w.outside+"/state/carrel", 0o777))
	w.setenv("XDG_STATE_HOME", w.outside+"/state")
	if r := w.run("--", "echo", "x"); r.code != 125 || r.out != "" || !strings.Contains(r.err, "is not a directory of this user alone") {
		t.Errorf("%s", r)
	}
	if r := w.run("--history", "off", "--", "echo", "x"); r.out != "x\n" || !strings.Contains(r.err, "state") {
		t.Errorf("without a history: %s", r)
	}
	if entries, _ := os.ReadDir(w.outside + "/state/carrel"); len(entries) > 0 {
		t.Errorf("used: %v", entries)
	}
}
