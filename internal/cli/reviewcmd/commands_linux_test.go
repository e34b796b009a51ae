package reviewcmd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/op/reviewop"
	"carrel/internal/review"
	"carrel/internal/statedir"

	"golang.org/x/sys/unix"
)

// world is a project with a layer over it, as a run leaves one.
type world struct {
	*clitest.Place
	t     *testing.T
	id    string
	upper string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Place: clitest.New(t, Commands()), t: t}
	for name, text := range map[string]string{"a": "one\n", "gone": "x\n", "bin": "b", "kept": "k"} {
		w.ok(os.WriteFile(filepath.Join(w.Project, name), []byte(text), 0o644))
	}
	s, err := statedir.Open(w.State)
	w.ok(err)
	w.ok(s.Use(w.Project))
	l, err := review.OpenStore(s.Project(w.Project)).Make(review.Meta{Project: api.Text(w.Project), Trees: []api.Text{api.Text(w.Project)},
		Command: []api.Text{"make", "all things"}}, func(string) {})
	w.ok(err)
	w.id, w.upper = l.ID, l.Upper(0)
	for name, text := range map[string]string{"a": "two\n", "bin": "b\x00c", "new\x1b[2J": "new\n"} {
		w.ok(os.WriteFile(filepath.Join(w.upper, name), []byte(text), 0o644))
	}
	w.ok(unix.Mknod(w.upper+"/gone", unix.S_IFCHR, 0), os.Symlink("a", w.upper+"/link"), unix.Mknod(w.upper+"/sock", unix.S_IFSOCK|0o600, 0))
	w.ok(l.Finish(2, false))
	l.Close()
	return w
}

func (w *world) ok(errs ...error) {
	w.t.Helper()
	for _, err := range errs {
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) says(r clitest.Result, want ...string) {
	w.t.Helper()
	for _, text := range want {
		if !strings.Contains(r.Out+r.Notice+r.Err, text) {
			w.t.Errorf("%s does not say %q:\n%s%s%s", r.Line, text, r.Out, r.Notice, r.Err)
		}
	}
}

// TestListAndDrop: a layer is listed with its state and command until it is dropped.
func TestListAndDrop(t *testing.T) {
	w := newWorld(t)
	w.says(w.Run("review list"), w.id, "ended (2)", `make "all things"`)
	var list []reviewop.Layer
	w.ok(json.Unmarshal([]byte(w.Run("review list --json").Out), &list))
	if len(list) != 1 || list[0].ID != w.id || list[0].Exit != 2 || list[0].Bytes == 0 || len(list[0].Command) != 2 {
		t.Errorf("%+v", list)
	}
	words, _ := completeLayer(&cmdenv.Env{Environ: w.Environ})(nil, nil, "")
	if len(words) != 1 || !strings.HasPrefix(words[0], w.id+"\t") {
		t.Errorf("%q", words)
	}
	w.says(w.Run("review drop "+w.id), "is forgotten")
	w.says(w.Run("review list"), "there is no layer to review")
	w.says(w.Run("review drop "+w.id), "no layer", "hint: ")
	w.says(w.Run("review drop"), "which layer?")
	w.says(w.Run("review diff"), "has no layer to review")
}

// TestDiff: lines of texts, words for all else, and nothing that a terminal obeys.
func TestDiff(t *testing.T) {
	w := newWorld(t)
	r := w.Run("review diff")
	w.says(r, "--- a\n+++ a\n@@ -1 +1 @@\n-one\n+two\n", "bin: binary file modified: 3 bytes, were 1", "--- gone\n+++ /dev/null\n",
		"link: added symlink", `--- /dev/null`, "CANNOT BE APPLIED: it is a socket")
	if strings.ContainsRune(r.Out, 0x1b) || strings.Contains(r.Out, "kept") {
		t.Errorf("%q", r.Out)
	}
	w.says(w.Run("review diff --stat "+w.id+" a"), "modified  a\n")
	w.says(w.Run("review diff "+w.id+" kept"), "changes nothing at \"kept\"")
	w.ok(os.WriteFile(w.Project+"/a", []byte("yours\n"), 0o644))
	w.says(w.Run("review diff --stat"), "CONFLICT: it was changed meanwhile")
	var all struct {
		ID      string
		Changes []reviewop.Change
	}
	w.ok(json.Unmarshal([]byte(w.Run("review diff --json").Out), &all))
	if all.ID != w.id || len(all.Changes) != 6 || all.Changes[0].Conflict == "" {
		t.Errorf("%+v", all)
	}
}

// TestApplyLooksFirst: conflicts and what is wrong are told before anything is started.
func TestApplyLooksFirst(t *testing.T) {
	w := newWorld(t)
	w.says(w.Run("review apply --dry-run"), "would be applied: a: modified", "would be applied: gone: removed",
		"left out: sock: it is a socket")
	w.ok(os.WriteFile(w.Project+"/a", []byte("yours\n"), 0o644))
	r := w.Run("review apply")
	w.says(r, "conflict: a: it was changed meanwhile", "nothing was applied: 1 conflict")
	if r.Status != 1 {
		t.Errorf("status %d", r.Status)
	}
	w.says(w.Run("review apply --skip-conflicts --force"), "skip-conflicts")
	w.says(w.Run("review apply --ask"), "a person at a terminal")
	w.says(w.Run("review apply --dry-run --json"), `"conflicts"`)
	w.says(w.Run("review apply 000000"), "no layer")
	if text, err := os.ReadFile(w.Project + "/a"); err != nil || string(text) != "yours\n" {
		t.Errorf("%q %v", text, err)
	}
}

// TestAsking: each change is asked about until an answer holds for the rest.
func TestAsking(t *testing.T) {
	for _, tt := range []struct {
		typed string
		want  string
		fails string
	}{
		{"y\nn\ny\n", "yny", ""}, {"what\ny\nd\n", "ynn", ""}, {"n\na\n", "nyy", ""}, {"y\nq\n", "y", "nothing was applied"}, {"y\n", "y",
			"broken off"}, {"yn\ny\ny\ny\n", "yyy", ""},
	} {
		var out bytes.Buffer
		ask := asking(&cmdenv.Env{Out: &out}, bufio.NewReader(strings.NewReader(tt.typed)))
		got, problem := "", ""
		for range 3 {
			yes, err := ask(&reviewop.Change{Path: "/p/a\x1b", What: "modified"})
			if err != nil {
				problem = err.Error()
				break
			}
			got += map[bool]string{true: "y", false: "n"}[yes]
		}
		if got != tt.want || tt.fails == "" != (problem == "") || !strings.Contains(problem, tt.fails) ||
			strings.ContainsRune(out.String(), 0x1b) {
			t.Errorf("%q: %q %q\n%q", tt.typed, got, problem, out.String())
		}
	}
}

// TestTellApplied: all that came of it is said, and escaped.
func TestTellApplied(t *testing.T) {
	var out bytes.Buffer
	env := &cmdenv.Env{Out: &out}
	many := make([]reviewop.Left, maxListed+3)
	for i := range many {
		many[i] = reviewop.Left{Path: "/p/\x1b[2J", Why: "no\x1b"}
	}
	tellApplied(env, &reviewop.Applied{ID: "abcdef", Applied: make([]reviewop.Change, 60), Failed: many, More: 2, Steps: []uint64{4,
		5}, Left: 7})
	tellApplied(env, &reviewop.Applied{ID: "abcdef"})
	tellApplied(env, &reviewop.Applied{ID: "abcdef", Applied: make([]reviewop.Change, 1), Dropped: true})
	for _, want := range []string{"not applied: 3 more; --json names them all", "not applied: 2 more",
		"applied 5 paths of layer abcdef as step 5", "layer abcdef has 7 changes left",
		"there is nothing to apply", "layer abcdef is forgotten"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not said:\n%s", want, out.String())
		}
	}
	if strings.ContainsRune(out.String(), 0x1b) {
		t.Errorf("%q", out.String())
	}
}
