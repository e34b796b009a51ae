package clients

import (
	"os"
	"strings"
	"testing"
)

// TestOneName: the same settings are set up under one name at a time, and removing knows
// which.
func TestOneName(t *testing.T) {
	p := newPlace(t.TempDir())
	p.write("home/.claude.json", "{}")
	before := p.tree()
	two := Request{Client: "claude", Scope: User, Name: "two", Serving: true}
	_, err := p.host.Do(Setup, []Request{two}, false)
	p.must(err)
	set := p.tree()
	if _, err := p.host.Do(Setup, []Request{{Client: "claude", Scope: User, Name: DefaultName}}, false); err == nil || !strings.Contains(err.Error(), `"two"`) {
		t.Errorf("a second name: %v", err)
	}
	if d := differences(set, p.tree()); d != "" {
		t.Error(d)
	}
	_, err = p.host.Do(Remove, []Request{{Client: "claude", Scope: User, Name: DefaultName}}, false)
	p.must(err)
	if d := differences(before, p.tree()); d != "" {
		t.Error(d)
	}
}

// TestUnheeded: a block that the client would not read is refused, and told where it is
// not read any more.
func TestUnheeded(t *testing.T) {
	for _, c := range []struct {
		text           string
		block, serving bool
		want           string
	}{
		{"{\n  // mine\n  \"a\": 1\n}", true, false, "line 2"},
		{"{\"a\": 1,}", false, true, "line 1"},
		{`{"disableAllHooks": true}`, false, true, "disableAllHooks"},
		{`{"disableAllHooks": true}`, true, false, ""},
		{"{ // mine\n}", false, false, ""},
	} {
		p := newPlace(t.TempDir())
		p.write("home/.claude/settings.json", c.text)
		before := p.tree()
		_, err := p.host.Do(Setup, []Request{{Client: "claude", Scope: User, Name: DefaultName, Block: c.block, Serving: c.serving}}, false)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.text, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		case c.want != "":
			if d := differences(before, p.tree()); d != "" {
				t.Error(d)
			}
		}
	}
	p := newPlace(t.TempDir())
	r := Request{Client: "claude", Scope: User, Name: DefaultName, Block: true}
	_, err := p.host.Do(Setup, []Request{r}, false)
	p.must(err)
	p.write("home/.claude/settings.json", "// a comment\n"+p.tree()["home/.claude/settings.json"])
	if got := p.status(r); got.Blocked != "no" || len(got.Notes) < 2 {
		t.Errorf("%+v", got)
	}
}

// TestRecordLost: what is ours by what it says goes without a record too, and what may be
// the user's is named.
func TestRecordLost(t *testing.T) {
	p := newPlace(t.TempDir())
	r := Request{Client: "claude", Scope: User, Name: DefaultName, Block: true}
	_, err := p.host.Do(Setup, []Request{r}, false)
	p.must(err)
	p.must(os.RemoveAll(p.host.State))
	results, err := p.host.Do(Remove, []Request{r}, false)
	p.must(err)
	text := p.tree()["home/.claude/settings.json"]
	if strings.Contains(text, "carrel") || !strings.Contains(text, "Bash") || len(results[0].Notes) != 1 || !strings.Contains(results[0].Notes[0], "Bash") {
		t.Errorf("%s\n%q", text, results[0].Notes)
	}
}

// TestOtherProgram: a server that another program's name was registered with is known by
// the record; a directory of settings that is a link is no obstacle.
func TestOtherProgram(t *testing.T) {
	p := newPlace(t.TempDir())
	p.must(os.Mkdir(p.dir+"/home/dotfiles", 0o755))
	p.must(os.Symlink("dotfiles", p.dir+"/home/.claude"))
	before := p.tree()
	p.host.Program = p.dir + "/bin/desk"
	p.must(os.WriteFile(p.host.Program, nil, 0o755))
	r := Request{Client: "claude", Scope: User, Name: DefaultName, Serving: true}
	_, err := p.host.Do(Setup, []Request{r}, false)
	p.must(err)
	p.host.Program = p.dir + "/bin/carrel"
	_, err = p.host.Do(Remove, []Request{r}, false)
	p.must(err)
	if d := differences(before, p.tree()); d != "" {
		t.Error(d)
	}
}

// TestUsersEntry: a server that the user has registered, the same as ours or with more, is
// theirs.
func TestUsersEntry(t *testing.T) {
	p := newPlace(t.TempDir())
	same := `{"mcpServers": {"carrel": {"command": "` + p.host.Program + `", "args": ["mcp", "--client", "claude"]}}}`
	p.write("home/.claude.json", same)
	before := p.tree()
	r := Request{Client: "claude", Scope: User, Name: DefaultName}
	_, err := p.host.Do(Setup, []Request{r}, false)
	p.must(err)
	_, err = p.host.Do(Remove, []Request{r}, false)
	p.must(err)
	if d := differences(before, p.tree()); d != "" {
		t.Error(d)
	}
	for _, more := range []string{`"args": ["mcp", "--client", "claude", "--workspace", "mine"]`, `"args": ["mcp", "--client", "claude"], "env": {"A": "b"}`} {
		p.write("home/.claude.json", `{"mcpServers": {"carrel": {"command": "`+p.host.Program+`", `+more+`}}}`)
		before := p.tree()
		if _, err := p.host.Do(Setup, []Request{r}, false); err == nil || !strings.Contains(err.Error(), "is there already") {
			t.Errorf("%s: %v", more, err)
		}
		_, err = p.host.Do(Remove, []Request{r}, false)
		p.must(err)
		if d := differences(before, p.tree()); d != "" {
			t.Error(d)
		}
	}
}

// TestOtherFileSince: a file that the client prefers and that comes later is no reason to
// leave anything in the one that was used.
func TestOtherFileSince(t *testing.T) {
	p := newPlace(t.TempDir())
	p.write("home/.codex/config.toml", "a = 1\n")
	p.write("home/.config/opencode/opencode.jsonc", "{}")
	requests := []Request{{Client: "codex", Scope: User, Name: DefaultName, Serving: true}, {Client: "opencode", Scope: User, Name: DefaultName, Serving: true}}
	_, err := p.host.Do(Setup, requests, false)
	p.must(err)
	p.write("home/.codex/hooks.json", "{}")
	p.write("home/.config/opencode/opencode.json", "{}")
	for _, r := range requests {
		if got := p.status(r); got.Registered != "yes" || got.Blocked != "while-serving" || !got.Steps {
			t.Errorf("%+v", got)
		}
	}
	_, err = p.host.Do(Remove, requests, false)
	p.must(err)
	for name, want := range map[string]string{"home/.codex/config.toml": "a = 1\n", "home/.config/opencode/opencode.jsonc": "{}", "home/.codex/hooks.json": "{}"} {
		if got := p.tree()[name]; got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
