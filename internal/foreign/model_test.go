package foreign

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"carrel/sandbox/policyfile"

	"pgregory.net/rapid"
)

// lists are those of a file of srt or fence.
type lists struct {
	AllowRead  []string `json:"allowRead,omitempty"`
	DenyRead   []string `json:"denyRead,omitempty"`
	AllowWrite []string `json:"allowWrite,omitempty"`
	DenyWrite  []string `json:"denyWrite,omitempty"`
	Closed     bool     `json:"defaultDenyRead,omitempty"` // of fence
	Strict     bool     `json:"strictDenyRead,omitempty"`
}

// theirs is a simple model of what these programs let a path be. A deny of fence wins over
// whatever is allowed; in srt what is allowed deeper shows again.
func (l *lists) theirs(path string, srt bool) string {
	denied, allowed := deepest(l.DenyRead, path), deepest(l.AllowRead, path)
	switch {
	case denied != "" && (!srt || len(allowed) <= len(denied)):
		return "deny"
	case denied == "" && (l.Closed || l.Strict) && allowed == "" && deepest(l.AllowWrite, path) == "":
		return "deny"
	case deepest(l.AllowWrite, path) != "" && deepest(l.DenyWrite, path) == "":
		return "write"
	}
	return "read"
}

var ranks = map[string]int{"deny": 0, "read": 1, "write": 2}

// TestListsAreNeverWider: whatever the lists say, no path may be more here than there, and
// where nothing is denied for reading it may be the same.
func TestListsAreNeverWider(t *testing.T) {
	universe := []string{"/a", "/a/b", "/a/b/c", "/a/b/c/d", "/b", "/b/c"}
	some := rapid.SliceOfN(rapid.SampledFrom(universe), 0, 3)
	rapid.Check(t, func(r *rapid.T) {
		l := &lists{AllowRead: some.Draw(r, "allowRead"), DenyRead: some.Draw(r, "denyRead"), AllowWrite: some.Draw(r, "allowWrite"),
			DenyWrite: some.Draw(r, "denyWrite")}
		read, srt := SRT, true
		if rapid.Bool().Draw(r, "fence") {
			read, srt, l.Strict = Fence, false, rapid.Bool().Draw(r, "strict")
		}
		text, err := json.Marshal(map[string]any{"filesystem": l})
		if err != nil {
			t.Fatal(err)
		}
		in := imported(t, read, options, string(text))
		e := decided(t, in.Policy)
		for _, path := range append(universe, "/a/b/c/d/e", "/b/x", "/c") {
			got, want := resolved(e, path), l.theirs(path, srt)
			if ranks[got] > ranks[want] || len(l.DenyRead) == 0 && len(in.Lost) == 0 && got != want {
				r.Fatalf("%s: %s may be %s here and %s there; lost %v", text, path, got, want, in.Lost)
			}
		}
	})
}

// TestCodexEntriesAreNeverWider: the rule of the deepest place decides there and here, and of
// those of one place the narrowest.
func TestCodexEntriesAreNeverWider(t *testing.T) {
	universe := []string{"/w", "/w/a", "/w/a/b", "/v", "/v/c"}
	rapid.Check(t, func(r *rapid.T) {
		var specs []string
		said := map[string]string{}
		for range rapid.IntRange(0, 6).Draw(r, "entries") {
			place, access := rapid.SampledFrom(universe).Draw(r, "place"), rapid.SampledFrom([]string{"read", "write", "deny"}).Draw(r, "access")
			specs = append(specs, place+"="+access)
			order := map[string]int{"deny": 3, "write": 2, "read": 1} // of several for one place: see TestCodexResolvesAlike
			if order[access] > order[said[place]] {
				said[place] = access
			}
		}
		e := decided(t, imported(t, Codex, options, split(specs...)).Policy)
		var places []string
		for place := range said {
			places = append(places, place)
		}
		for _, path := range append(universe, "/w/x", "/w/a/b/c", "/v/c/d", "/u") {
			want := "deny"
			if place := deepest(places, path); place != "" {
				want = said[place]
			}
			if got := resolved(e, path); got != want {
				r.Fatalf("%q: %s may be %s here and %s there", specs, path, got, want)
			}
		}
	})
}

// means wants a text, or an error with what follows "!".
func means(t *testing.T, text, got string, err error, want string) {
	t.Helper()
	wrong, fails := strings.CutPrefix(want, "!")
	if fails && (err == nil || !strings.Contains(err.Error(), wrong)) || !fails && (err != nil || got != want) {
		t.Errorf("%q: %q, %v; want %q", text, got, err, want)
	}
}

// TestPlaces: places start from the directory or the home directory, and one that is
// another user's, or one without an owner, is none.
func TestPlaces(t *testing.T) {
	im := newImporter(options)
	for text, want := range map[string]string{
		"/a/../b": "/b", "~": "/home/u", "~/x/": "/home/u/x", "x/./y": "/w/x/y", "../v": "/v", "": "/w",
		"~ada/x": "!another user's", "/a\x00": "!NUL",
	} {
		got, err := im.place(text)
		means(t, text, got, err, want)
	}
	nobody := newImporter(Options{Cwd: "/w"})
	if _, err := nobody.place("~/x"); !errors.Is(err, errNoHome) {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]string{
		"*.env": "/w/*.env", "./a/*": "/w/a/*", "/*": "/*", "~/*.pem": "/home/u/*.pem", "//a": "/a", "a/../*": "!..",
		"~ada/*": "!another", "a\x00*": "!NUL",
		"**x": "!two ways", "a/**b/c": "!two ways", "{a": `/w/\{a`,
	} {
		got, err := im.globs(text)
		means(t, text, strings.Join(got[:min(1, len(got))], ""), err, want)
	}
	im.expressions = true
	for _, text := range []string{"[!a]", `\*`} {
		if got, err := im.globs(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestRefusalsNameTheirPlace: a restriction that is not understood is named with its line and
// its key, on a line of its own, and --lossy goes on with the same list.
func TestRefusalsNameTheirPlace(t *testing.T) {
	const text = "{\n  \"filesystem\": {\"denyRead\": \"all\"},\n" +
		"  \"new\\u001b\\nkey\": 1,\n  \"network\": {\"deniedDomains\": [\"a b\", 7]}\n}"
	in, err := SRT([]byte(text), options)
	var refused *Error
	if in != nil || !errors.As(err, &refused) || len(refused.Lost) != 4 {
		t.Fatalf("%+v, %v", in, err)
	}
	lines := strings.Split(err.Error(), "\n")
	for i, want := range []string{"line 2: filesystem.denyRead: want a list", `line 3: "new\x1b\nkey": this key is not known`,
		`line 4: network.deniedDomains[0]: "a b" cannot be denied`, "line 4: network.deniedDomains[1]: want a string",
		"the policy would be wider"} {
		if len(lines) != 5 || !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d of %q: want %q", i+1, lines, want)
		}
	}
	lossy := options
	lossy.Lossy = true
	if in, err := SRT([]byte(text), lossy); err != nil || len(in.Lost) != 4 || in.Policy.Network.Mode == policyfile.Open {
		t.Errorf("%+v, %v", in, err)
	}
}

// TestFenceDevicesAndCommands: what there is of both here is carried over, and what is not
// held is named.
func TestFenceDevicesAndCommands(t *testing.T) {
	for text, want := range map[string]string{
		`{"command": {"deny": ["rm -rf"]}}`:                          "command.deny[0]!",
		`{"command": {"allow": ["x"], "useDefaults": true}}`:         "",
		`{"extends": "code"}`:                                        "extends!",
		`{"forceNewSession": true, "macos": {}}`:                     "forceNewSession macos",
		`{"network": {"allowedDomains": ["*", "localhost", "a.b"]}}`: "network.allowedDomains[0] network.allowedDomains[1]",
		`{"network": {"allowLocalOutbound": true}}`:                  "network.allowLocalOutbound",
		`{"network": {"allowLocalOutbound": true, "allowLocalOutboundPorts": [0]}}`: "network.allowLocalOutboundPorts[0] " +
			"network.allowLocalOutbound",
		`{"network": {"defaultAction": "allow"}}`:                          "network.defaultAction",
		`{"filesystem": {"allowWrite": ["/proc/x", "/a/*"]}}`:              "filesystem.allowWrite[0] filesystem.allowWrite[1]",
		`{"filesystem": {"allowExecute": ["/bin/x"], "wslInterop": true}}`: "filesystem.allowExecute[0] filesystem.wslInterop",
		`{"filesystem": {"defaultDenyRead": "yes"}}`:                       "filesystem.defaultDenyRead!",
	} {
		lossy := options
		lossy.Lossy = true
		in, err := Fence([]byte(text), lossy)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := strings.Join(lost(in), " "); got != want {
			t.Errorf("%s: lost %s, want %s", text, got, want)
		}
		for _, l := range in.Lost {
			if l.Line != 1 || l.Why == "" {
				t.Errorf("%s: %+v", text, l)
			}
		}
	}
}
