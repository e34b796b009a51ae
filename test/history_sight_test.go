//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// wideHistory has its person change more than an agent may read afterwards: a second
// place, what a rule of the project denies by now, also under another name, and an
// environment file that is gone. What may be read is PUBLIC, what may not is SECRET.
func (w *world) wideHistory() (other string) {
	w.t.Helper()
	other = w.home + "/other"
	w.mkdir(other, 0o700)
	w.own(other)
	w.outsideSh(`other=` + other + `; mkdir private; echo x > gone; echo PUBLIC-ONE > open.txt; echo SECRET-KEY-ONE > hid.key
echo SECRET-MOVED-ONE > moved.key; echo SECRET-NAMED-ONE > named.txt; ln hid.key linked.txt
echo SECRET-PRIVATE-ONE > private/inner; echo SECRET-OTHER-ONE > $other/outer; echo SECRET-ENV-ONE > .env`)
	script := w.script(w.outside+"/tool/script", `#!/bin/sh
echo PUBLIC-TWO > open.txt; echo SECRET-KEY-TWO > hid.key; mv moved.key moved.txt; echo SECRET-MOVED-TWO >> moved.txt
mv named.txt named.key; echo SECRET-NAMED-TWO >> named.key; echo SECRET-PRIVATE-TWO > private/inner; echo SECRET-NEW > private/fresh
echo SECRET-OTHER-TWO > $1/outer; ln -s SECRET-LINK $1/pointer; rm gone .env
`)
	r := w.plain(w.bin, "run", "--write", other, "--write", w.project+"/.env", "--read", w.outside+"/tool", "--", script, other)
	if r.code != 0 {
		w.t.Fatalf("a person's run: %s", r)
	}
	w.write(w.project+"/.carrel.yaml", "deny: ['**/*.key', private]\n")
	return other
}

// wideSecrets is what a person finds in the newest step, and nobody else.
var wideSecrets = []string{
	"KEY-ONE", "KEY-TWO", "MOVED-TWO", "NAMED-TWO", "PRIVATE-ONE", "PRIVATE-TWO", "NEW", "OTHER-ONE", "OTHER-TWO", "LINK", "ENV-ONE",
}

// wideNames are names that lie where a workspace of the project alone shows nothing.
var wideNames = []string{"outer", "pointer", "inner", "fresh"}

// keeps wants an answer to tell nothing that may not be read.
func keeps(t *testing.T, what, answer string) {
	t.Helper()
	for _, never := range append([]string{"SECRET"}, wideNames...) {
		if strings.Contains(answer, never) {
			t.Errorf("%s tells %s: %s", what, never, answer)
		}
	}
}

// narrow wants an answer to tell what may be read and nothing else, and to say so.
func narrow(t *testing.T, what, answer, has string) {
	t.Helper()
	keeps(t, what, answer)
	says := func(text string) bool { return strings.Contains(answer, text) }
	if !says(has) || !says("left out") && !says(`"left_out":`) && !says("not in the tar: ") {
		t.Errorf("%s does not tell %q, or not that something is left out: %s", what, has, answer)
	}
}

// ceilingOf grants a directory and nothing beside it.
func ceilingOf(dir string) string {
	return fmt.Sprintf(`{"network":{"mode":"closed"},"mounts":[{"host_path":%q,"workspace_path":%q,"mode":"read_write"}]}`, dir, dir)
}

// TestHistoryTellsAPerson: whoever may read their files sees all that their runs did.
func TestHistoryTellsAPerson(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.wideHistory()
		diff, show, preview := w.fine("diff"), w.fine("show", "1"), w.plain(w.bin, "undo", "--dry-run", "--json").out
		w.fine("history", "export", "1", "-o", w.outside+"/all.tar")
		tar := w.read(w.outside + "/all.tar")
		for _, secret := range wideSecrets {
			if !strings.Contains(diff, "SECRET-"+secret) || !strings.Contains(tar, "SECRET-"+secret) {
				t.Errorf("the diff or the export of a person has no SECRET-%s: %s", secret, diff)
			}
		}
		for _, name := range wideNames {
			if !strings.Contains(show, name) || !strings.Contains(preview, name) {
				t.Errorf("no %s in %s\nor in %s", name, show, preview)
			}
		}
		if all := diff + show + preview + tar; strings.Contains(all, "left out") || strings.Contains(all, "left_out") {
			t.Errorf("something is left out for a person: %s", diff+show+preview)
		}
		var asJSON struct{ Diff string }
		if err := json.Unmarshal([]byte(w.fine("diff", "--json")), &asJSON); err != nil || asJSON.Diff != diff {
			t.Errorf("as JSON: %v %q", err, asJSON.Diff)
		}
	})
}

// TestHistoryUnderACeiling: callers that are held to a ceiling are told what a workspace
// under it shows.
func TestHistoryUnderACeiling(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		other := w.wideHistory()
		file := w.write(w.outside+"/ceiling.json", ceilingOf(w.project))
		under := func(args ...string) result {
			return w.plain(w.bin, append([]string{"--permissions", file}, args...)...)
		}
		for _, c := range []struct{ args, has string }{
			{"diff", "+PUBLIC-TWO"}, {"diff --json", "+PUBLIC-TWO"}, {"diff 1..1", "+PUBLIC-TWO"}, {"diff --stat", "open.txt  +1 -1"},
			{"show 1", "hid.key"}, {"show 1 --json", "hid.key"}, {"undo --dry-run --skip-conflicts", "open.txt"}, {"undo --dry-run --skip-conflicts --json", "open.txt"},
			{"undo", "nothing was changed: 2 paths"}, {"undo --force", "restoring"},
		} {
			r := under(strings.Fields(c.args)...)
			if undo := strings.HasPrefix(c.args, "undo"); undo != (r.code != 0) {
				t.Errorf("%s: %s", c.args, r) // it would be more than the policy allows
			}
			if c.args == "undo --force" { // the first path that may not be restored is told, and it may be named
				if all := r.out + r.err; !strings.Contains(all, c.has) || strings.Contains(all, "SECRET") || strings.Contains(all, other) {
					t.Errorf("%s: %s", c.args, all)
				}
				continue
			}
			narrow(t, c.args, r.out+r.err, c.has)
		}
		r := under("history", "export", "1", "-o", w.outside+"/narrow.tar")
		narrow(t, "export", w.read(w.outside+"/narrow.tar")+r.err, "PUBLIC-ONE")
		if r.code != 1 {
			t.Errorf("an export that leaves something out: %s", r)
		}
		got := w.outsideSh("tar -tf " + w.outside + "/narrow.tar")
		if want := "before/\nbefore/gone\nbefore/open.txt\nafter/\nafter/open.txt\n"; got != want {
			t.Errorf("the tar: %s", got)
		}
		// Whether a path that cannot be seen is in the history is no answer either.
		for _, at := range []string{other + "/outer", other + "/nothing", w.project + "/private/inner", w.project + "/private/nothing"} {
			for _, args := range [][]string{{"diff", "--path", at}, {"history", "--path", at}, {"undo", "--dry-run", "--path", at}} {
				if r := under(args...); r.code != 125 || !strings.Contains(r.err, "the policy of this workspace does not let it be read") {
					t.Errorf("%q: %s", args, r)
				}
			}
		}
		if r := under("diff", "--path", "hid.key"); r.code != 0 || !strings.HasPrefix(r.out, "1 path is left out: ") {
			t.Errorf("by a path that is only named: %s", r)
		}
		// What the ceiling grants is told, and what cannot be decided is not.
		both := fmt.Sprintf(`[{"host_path":%q,"workspace_path":%q,"mode":"read_only"},`, w.project, w.project)
		file = w.write(w.outside+"/both.json", strings.Replace(ceilingOf(other), "[", both, 1))
		if r := under("undo", "--dry-run", "--skip-conflicts", "--write", other); !strings.Contains(r.out+r.err, other+"/outer") {
			t.Errorf("with both: %s", r)
		}
		w.write(w.project+"/.carrel.yaml", "deny: [\n")
		if r := under("diff"); r.code != 125 || strings.Contains(r.out, "PUBLIC") || strings.Contains(r.out, "SECRET") {
			t.Errorf("with rules that cannot be read: %s", r)
		}
	})
}

// TestHistoryOverMCP: tools tell what the workspace of the server shows, under a ceiling
// and without.
func TestHistoryOverMCP(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		other := w.wideHistory()
		ask := func(what string, c *agentClient) {
			t.Helper()
			whole := func(r toolReply) string {
				structured, _ := json.Marshal(r.Structured)
				return r.text() + string(structured)
			}
			r := c.does("diff", args{})
			narrow(t, what+": diff", whole(r), "+PUBLIC-TWO")
			if _, ok := r.Structured["left_out"].(map[string]any); !ok {
				t.Errorf("%s: diff has no left_out: %s", what, whole(r))
			}
			for _, tool := range []string{"undo_preview", "undo"} {
				r := c.refuses("failed", tool, args{"conflicts": "skip"}) // it would be more than the policy allows
				if keeps(t, what+": "+tool, whole(r)); !strings.Contains(r.text(), "restoring") {
					t.Errorf("%s: %s: %s", what, tool, r.text())
				}
			}
			narrow(t, what+": stat", c.does("diff", args{"stat": true}).text(), "open.txt  +1 -1")
			for _, tool := range []string{"diff", "get_undo_history", "undo"} {
				if r := c.refuses("failed", tool, args{"path": other + "/outer"}); !strings.Contains(r.text(), "does not let it be read") {
					t.Errorf("%s: %s: %s", what, tool, r.text())
				}
			}
			if r := c.does("get_undo_history", args{"path": "open.txt"}); !strings.Contains(r.text(), `"step":1`) {
				t.Errorf("%s: history: %s", what, r.text())
			}
		}
		c := w.mcp("--display", "none")
		if r := c.tool("read_file", args{"path": "hid.key"}); !r.IsError || strings.Contains(r.text(), "SECRET") {
			t.Errorf("canary: %s", r.text())
		}
		ask("without a ceiling", c)
		c.does("workspace_stop", args{})
		locked := w.locked(w.outside+"/ceiling.json", ceilingOf(w.project), "--display", "none")
		ask("under a ceiling", locked)
		locked.does("workspace_stop", args{})
		wide := w.mcp("--display", "none", "--write", other)
		if r := wide.does("diff", args{}); !strings.Contains(r.text(), "+SECRET-OTHER-TWO") || strings.Contains(r.text(), "SECRET-KEY") {
			t.Errorf("with the other place: %s", r.text())
		}
		// A workspace that somebody else has started tighter counts as it is.
		w.stays("tight", "--deny", "**/*.txt")
		adopted := w.mcp("--display", "none", "--workspace", "tight")
		said := adopted.does("diff", args{}).text()
		if narrow(t, "as a tighter workspace", said, "gone"); strings.Contains(said, "PUBLIC") {
			t.Errorf("as a tighter workspace: %s", said)
		}
	})
}

// TestHistoryOverJSONLines: so do requests of a session.
func TestHistoryOverJSONLines(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		other := w.wideHistory()
		file := w.write(w.outside+"/ceiling.json", ceilingOf(w.project))
		for what, flags := range map[string][]string{"without a ceiling": nil, "under a ceiling": {"--permissions", file}} {
			c := w.stdio(append([]string{"--working-dir", w.project}, flags...)...)
			c.do("session.start", nil)
			for kind, has := range map[string]string{
				"carrel.diff": "+PUBLIC-TWO", "carrel.show": "hid.key",
				"carrel.preview": "nothing was changed: 2 paths", "undo.rollback": "nothing was changed: 2 paths",
			} {
				payload := map[string]map[string]any{"carrel.show": {"step_id": 1}, "undo.rollback": {"count": 1}}[kind]
				m := c.ask(kind, payload)
				said, err := json.Marshal([]any{m.Payload, m.Error})
				w.must(err)
				narrow(t, what+": "+kind, string(said), has)
			}
			if said, _ := json.Marshal(c.do("undo.history", nil)); strings.Contains(string(said), "outer\"") {
				t.Errorf("%s: %s", what, said)
			}
			c.close()
		}
		c := w.stdio("--working-dir", w.project, "--working-dir", other)
		c.do("session.start", nil)
		if said := fmt.Sprint(c.do("carrel.diff", nil)); !strings.Contains(said, "+SECRET-OTHER-TWO") || strings.Contains(said, "SECRET-KEY") {
			t.Errorf("with the other place: %s", said)
		}
	})
}
