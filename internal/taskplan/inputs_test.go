package taskplan

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"carrel/internal/api"

	"pgregory.net/rapid"
)

// TestInputs: what is no name, path or address does not go into a call, and the reason is
// told; a text is one bounded line.
func TestInputs(t *testing.T) {
	for _, c := range []struct {
		r       Request
		name    string
		want    any    // nil where it is refused
		refused string // a part of the reason
	}{
		{Request{WorkspaceID: " qa "}, "workspace_id", "qa", ""},
		{Request{WorkspaceID: "a/b"}, "workspace_id", nil, "no name"},
		{Request{WorkspaceID: strings.Repeat("a", maxName+1)}, "workspace_id", nil, "no name"},
		{Request{ProfileID: "a\x1bb"}, "profile_id", nil, "no name"},
		{Request{ProjectPath: "src"}, "project_path", nil, "has to be absolute"},
		{Request{ProjectPath: "/a b"}, "project_path", "/a b", ""},
		{Request{UserDataDir: "/a\nb"}, "user_data_dir", nil, "no path"},
		{Request{BrowserPath: "/" + strings.Repeat("a", maxPath)}, "browser_path", nil, "no path"},
		{Request{TargetURL: "https://a.example/x?y"}, "target_url", "https://a.example/x?y", ""},
		{Request{TargetURL: "file:///etc/passwd"}, "target_url", nil, "has to begin with http"},
		{Request{TargetURL: "http://"}, "target_url", nil, "no web address"},
		{Request{TargetURL: "http://a b"}, "target_url", nil, "no web address"},
		{Request{ShoppingList: " milk\nbread "}, "shopping_list", "milk bread", ""},
		{Request{Budget: strings.Repeat("1", 1000)}, "budget", strings.Repeat("1", maxLine-1) + "…", ""},
		{Request{Budget: "  "}, "budget", nil, ""},
	} {
		inputs, refused := c.r.read()
		if inputs[c.name] != c.want || !strings.Contains(refused[c.name], c.refused) || (refused[c.name] == "") != (c.refused == "") {
			t.Errorf("%+v: %v, %v", c.r, inputs, refused)
		}
		if got := c.r.provided(inputs); (len(got) == 1) != (c.want != nil) {
			t.Errorf("%+v brought %+v", c.r, got)
		}
	}
	yes := true
	all := Request{Budget: "1", CartMutationApproved: true, RealWorldActionApproved: true, OpenViewer: &yes}
	inputs, _ := all.read()
	var names []string
	for _, p := range all.provided(inputs) {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"budget", "cart_mutation_approved", "real_world_action_approved", "open_viewer"}) {
		t.Errorf("%q", names)
	}
}

// TestLocalAddresses: a name that only looks like an address of this machine is another's.
func TestLocalAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"http://localhost": true, "http://LOCALHOST:80/x": true, "https://app.localhost": true, "http://127.0.0.1:3000": true,
		"http://127.9.9.9":  true,
		"http://[::1]:8080": true, "http://127.evil.example": false, "http://localhost.evil.example": false, "http://10.0.0.1": false,
		"http://[::2]": false, "http://notlocalhost": false, "://": false,
	} {
		if local(address) != want {
			t.Errorf("%s: want %v", address, want)
		}
	}
}

// TestCut: a text is one line of bounded length, and stays as it is where it is one already.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "letters") {
			text = rapid.StringOfN(rapid.SampledFrom([]rune("a\u00e4\u6f22 \n\x1b")), 0, 30, -1).Draw(t, "text")
		}
		most := rapid.IntRange(1, 20).Draw(t, "most")
		got := cut(text, most)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > most || strings.ContainsFunc(got, unicode.IsControl) ||
			strings.TrimSpace(got) != got {
			t.Fatalf("%q in %d is %q", text, most, got)
		}
		if cut(got, most) != got {
			t.Fatalf("%q in %d is %q, and then %q", text, most, got, cut(got, most))
		}
		plain := strings.TrimSpace(text)
		wrong := func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }
		fits := utf8.RuneCountInString(plain) <= most && len(text) <= most*utf8.UTFMax
		if fits && !strings.ContainsFunc(plain, wrong) && got != plain {
			t.Fatalf("%q in %d is %q", text, most, got)
		}
	})
	if list := cutAll(nil); list == nil || len(list) > 0 {
		t.Error("an answer would have null")
	}
	if list := cutAll(slices.Repeat([]string{"a", " "}, maxList)); len(list) != maxList/2 {
		t.Errorf("%q", list)
	}
}

// TestSentences: inputs stand in the sentences of the tables, and what an input holds is not
// looked at again.
func TestSentences(t *testing.T) {
	s := &scene{inputs: map[string]any{"a": "one {b}", "b": "two", "number": 7}}
	for sentence, want := range map[string]string{
		"{a} and {b}.": "one {b} and two.", "no input": "no input", "{unknown} {b}": "{unknown} {b}", "{number}": "{number}",
		"{b": "{b", "}{b}": "}two", "": "",
	} {
		if got := s.text(sentence); got != want {
			t.Errorf("%q: %q, want %q", sentence, got, want)
		}
	}
}

// TestSnapshotAnswers: the viewer says why it is not there, and the app whose log tells most is
// the newest that runs.
func TestSnapshotAnswers(t *testing.T) {
	for _, c := range []struct {
		s    Snapshot
		want Viewer
	}{
		{Snapshot{}, Viewer{Reason: "no display of the host is there"}},
		{Snapshot{Viewer: Viewer{Available: true, Reason: "x"}}, Viewer{Available: true}},
		{Snapshot{Headless: true, Viewer: Viewer{Available: true}}, Viewer{Reason: "the server runs headless"}},
		{Snapshot{Viewer: Viewer{Reason: "a\nb"}}, Viewer{Reason: "a b"}},
	} {
		if got := c.s.viewerState(); got != c.want {
			t.Errorf("%+v: %+v", c.s, got)
		}
	}
	for want, apps := range map[string][]App{
		"": nil, "2": {{ID: "1", Running: true}, {ID: "2", Running: true}, {ID: "3"}}, "3": {{ID: "1"}, {ID: "3"}},
	} {
		if got := (Workspace{Apps: apps}).app(); got != want {
			t.Errorf("%+v: %s, want %s", apps, got, want)
		}
	}
	s := Snapshot{Profiles: []Profile{{Name: "a"}}, Workspaces: []Workspace{{Name: "b", Running: true}, {Name: "c"}}}
	if _, ok := s.profile(""); ok || !s.taken("b") || s.taken("c") || s.taken("d") || s.defaultName() != "default" || len(s.running()) != 1 {
		t.Errorf("%+v", s)
	}
	if got := s.profileNames() + "; " + (&Snapshot{}).profileNames(); got != "saved: a; none is saved" {
		t.Errorf("%s", got)
	}
}

// TestControlIsTold: each mode has its sentence; one that is not known allows nothing, and no
// text of it is longer than a line.
func TestControlIsTold(t *testing.T) {
	for mode, want := range map[string]struct {
		allows bool
		says   string
	}{
		"": {true, "may be done"}, api.ControlActive: {true, "may be done"}, api.ControlReadOnly: {false, "Looking is allowed"},
		api.ControlTakeover: {false, "A person acts"}, api.ControlPaused: {false, "stands still"},
		"upside\ndown": {false, "not known; nothing may be changed"},
	} {
		s := Snapshot{Control: Control{Mode: mode, UpdatedAt: time.Unix(1, 0).UTC(), UpdatedBy: "x\x1b", Reason: strings.Repeat("y", 1000)}}
		got := s.controlState()
		if got.AllowsAgentMutation != want.allows || !strings.Contains(got.Message, want.says) || got.Mode == "" ||
			strings.ContainsAny(got.Mode+got.UpdatedBy, "\n\x1b") || utf8.RuneCountInString(got.Reason) > maxLine {
			t.Errorf("%q: %+v", mode, got)
		}
	}
	text, err := json.Marshal(Permissions{}.bounded())
	if err != nil || strings.Contains(string(text), "null") {
		t.Errorf("%s, %v", text, err)
	}
}
