//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHistoryIgnore: of what the user does not want kept nothing is kept, nobody is
// asked, and an undo leaves it alone and says so; in each place that is written to.
func TestHistoryIgnore(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.configured("history:\n  ignore: [node_modules, '*.o', /build/]\n  max_file_bytes: 10\n  max_step_bytes: 100\nsafeguards: {then: ask, removed_files: 3, answer_within: 1s}\n")
		long := strings.Repeat("long", 1000)
		for _, name := range []string{"node_modules/a/x", "node_modules/b", "node_modules/c", "node_modules/d", "src/a.o", "src/a.c", "build/out", "other/build/kept", "also"} {
			w.write(w.project+"/"+name, long)
			w.write(w.outside+"/more/"+name, long)
		}
		w.write(w.project+"/src/a.c", "short")
		script := `set -e; rm -rf node_modules build; mkdir node_modules; echo new > node_modules/x; echo more >> src/a.o; echo more >> src/a.c; rm other/build/kept; echo x > src/new.o
cd ` + w.outside + `/more; rm -rf node_modules; echo more >> src/a.o`
		w.sh(script, "--write", w.outside+"/more")
		if t.Failed() {
			return
		}
		kept, _ := filepath.Glob(w.home + "/.local/state/carrel/projects/*/history/objects/*/*")
		if len(kept) != 2 { // a.c and other/build/kept
			t.Errorf("%d files are kept, want 2: %q", len(kept), kept)
		}
		shown := w.fine("show", "1")
		for _, want := range []string{"D    node_modules/b (its content was not kept: ignored by history.ignore)", "M    src/a.o (its content was not kept: ignored", "A    src/new.o\n", "D    other/build/kept\n"} {
			if !strings.Contains(shown, want) {
				t.Errorf("show lacks %q: %s", want, shown)
			}
		}
		out := w.fine("undo", "--write", w.outside+"/more")
		for _, want := range []string{"left alone  node_modules: ignored by history.ignore", "left alone  src/a.o: ignored", "left alone  build: ignored", "left alone  " + w.outside + "/more/node_modules: ignored", "restored  src/a.c", "restored  other/build/kept", "5 left alone"} {
			if !strings.Contains(out, want) {
				t.Errorf("undo lacks %q: %s", want, out)
			}
		}
		if got := w.read(w.project + "/src/a.c"); got != "short" {
			t.Errorf("src/a.c: %q", got)
		}
		if got := w.read(w.project + "/other/build/kept"); got != long {
			t.Errorf("other/build/kept: %d bytes", len(got))
		}
		if got := w.read(w.project + "/src/a.o"); got != long+"more\n" {
			t.Errorf("src/a.o: %d bytes", len(got))
		}
		if got := w.read(w.project + "/node_modules/x"); got != "new\n" {
			t.Errorf("node_modules/x: %q", got)
		}
		for _, gone := range []string{"/build", "/node_modules/b"} {
			if _, err := os.Lstat(w.project + gone); err == nil {
				t.Errorf("%s is there", gone)
			}
		}
		w.fine("history", "verify")
		w.fine("redo", "--write", w.outside+"/more")

		w.configured("history: {ignore: ['!x']}")
		w.askedWrongly([]string{"history.ignore", `"!x"`, "nothing is taken out again", "config.yaml:1"}, "history")
	})
}
