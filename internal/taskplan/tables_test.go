package taskplan

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestTables holds what the tables name of each other.
func TestTables(t *testing.T) {
	known := slices.Sorted(maps.Keys(newScene(Request{}, quiet(), nil, nil).facts))
	known = append(known, "task_known", "profile_runs") // of one recommendation
	condition := func(of string, when []string) {
		for _, w := range when {
			if !slices.Contains(known, strings.TrimPrefix(w, "!")) {
				t.Errorf("%s asks for %q, which is no fact", of, w)
			}
		}
	}
	input := func(of string, names []string) {
		for _, n := range names {
			if needs[n].name == "" || needs[n].reason == "" || needs[n].question == "" {
				t.Errorf("%s needs %q, which is not in the table of inputs", of, n)
			}
		}
	}
	byID := stepByID()
	if len(byID) != len(stepTable()) {
		t.Error("two steps have one name")
	}
	used := make(map[string]bool)
	for kind, p := range kinds {
		input(string(kind), p.inputs)
		for _, id := range p.steps {
			used[id] = true
			if _, ok := byID[id]; !ok {
				t.Errorf("%s has the step %q, which is not in the table", kind, id)
			}
		}
		for _, b := range p.boundaries {
			input(b.id, b.inputs)
			condition(b.id, b.done)
			for _, id := range b.steps {
				if !slices.Contains(p.steps, id) {
					t.Errorf("boundary %s of %s names the step %q, which its plan never has", b.id, kind, id)
				}
			}
		}
		for _, n := range slices.Concat(p.summary, p.notes) {
			condition(string(kind), n.when)
		}
		if last := p.summary[len(p.summary)-1]; last.when != nil {
			t.Errorf("%s may be without a summary", kind)
		}
	}
	for _, k := range append(kindOrder, KindUnknown) {
		if _, ok := kinds[k]; !ok || kindWords[k] == "" {
			t.Errorf("there is no plan for %s", k)
		}
	}
	for _, st := range Steps() {
		condition(st.ID, st.When)
		input(st.ID, st.Needs)
		for _, g := range st.Gates {
			if gateTable[g].label == "" || gateTable[g].hint == "" && st.Hint == "" {
				t.Errorf("%s has the gate %q, of which nothing is said", st.ID, g)
			}
		}
		for _, id := range slices.Concat(st.After, st.Requires) {
			if _, ok := byID[id]; !ok {
				t.Errorf("%s comes after %q, which is no step", st.ID, id)
			}
		}
	}
	for _, st := range stepTable() {
		if !used[st.ID] {
			t.Errorf("no plan has the step %s", st.ID)
		}
	}
}

// TestStepsFitTheTools is what a server holds against its own table.
func TestStepsFitTheTools(t *testing.T) {
	table := byName(withBrowser())
	for _, st := range Steps() {
		tool, ok := table[st.Tool]
		if !ok {
			t.Errorf("%s calls %s, which is no tool", st.ID, st.Tool)
			continue
		}
		for _, a := range st.Args {
			p, ok := tool.param(a.Name)
			if !ok || a.Value != nil && !p.fits(a.Value) {
				t.Errorf("%s: %s does not take %s=%v", st.ID, st.Tool, a.Name, a.Value)
			}
		}
	}
}

// TestRecommendedPlans holds that the words by which a plan is recommended lead
// to that plan.
func TestRecommendedPlans(t *testing.T) {
	for kind, words := range taskIntents {
		if got := read(words, nil).kind; got != kind {
			t.Errorf("%q leads to %s, not to %s", words, got, kind)
		}
	}
	for intent, want := range map[string]Kind{
		"observe the workspace": KindObserve, "clean up stale workspaces": KindCleanup, "test the app of a project": KindAppQA, "a task in the browser": KindBrowser,
	} {
		if got := read(intent, nil).kind; got != want {
			t.Errorf("%q leads to %s", intent, got)
		}
		if !slices.ContainsFunc(recommendations(), func(r recommendation) bool {
			return slices.ContainsFunc(r.Args, func(a Arg) bool { return a.Name == "intent" && a.Value == intent })
		}) {
			t.Errorf("%q is recommended nowhere", intent)
		}
	}
}

// TestCatalogNotes holds the notes to what the guard does.
func TestCatalogNotes(t *testing.T) {
	notes := func(tool string) map[string]string {
		out := make(map[string]string)
		for _, e := range Catalog(toolTable()).Tools {
			if e.Name == tool {
				for _, n := range e.ParameterNotes {
					out[n.Parameter] = n.LiveControl
				}
			}
		}
		return out
	}
	const free, held = "Allowed in every mode.", "Blocked while control is not active."
	for _, tt := range []struct{ tool, parameter, want string }{
		{"workspace_start", "dry_run", free},
		{"workspace_start", "acknowledge_hidden_workspace", held},
		{"workspace_stop", "dry_run", free},
		{"profile_write", "replace", held},
		{"profile_export", "output_path", held},
		{"app_launch", "kill_on_timeout", held},
		{"mcp_control_update", "confirmed_user_request", free},
	} {
		if got := notes(tt.tool)[tt.parameter]; got != tt.want {
			t.Errorf("%s %s: %q", tt.tool, tt.parameter, got)
		}
	}
	if len(notes("app_list")) != 0 {
		t.Error("a tool that only looks has notes")
	}
}

func TestTextsAreBounded(t *testing.T) {
	for in, want := range map[string]string{
		" a\nb ": "a b", "a\x00b": "a b", "": "", "\xff": "", "abcde": "abcde", "abcdef": "abcd…", strings.Repeat("é", 9): "éééé…",
	} {
		if got := cut(in, 5); got != want {
			t.Errorf("%q is cut to %q, want %q", in, got, want)
		}
	}
	// A text of a table takes an input as it is, and nothing in it is filled again.
	s := newScene(Request{WorkspaceID: "{doctor}"}, quiet(), nil, nil)
	if got := s.text("of {workspace_id}"); got != "of {doctor}" {
		t.Errorf("%q", got)
	}
}
