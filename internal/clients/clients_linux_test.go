package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/settings"

	"pgregory.net/rapid"
)

// place is a home with a project and a carrel.
type place struct {
	dir  string
	host Host
}

func newPlace(dir string) *place {
	p := &place{dir, Host{Home: dir + "/home", Getenv: func(string) string { return "" }, State: dir + "/state", Program: dir + "/bin/carrel", Inside: "/run/carrel/bin/carrel", Project: dir + "/project"}}
	for _, d := range []string{"home", "project", "bin"} {
		p.must(os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	p.must(os.WriteFile(p.host.Program, nil, 0o755))
	return p
}

func (p *place) must(err error) {
	if err != nil {
		panic(err)
	}
}

func (p *place) write(name, text string) {
	path := filepath.Join(p.dir, name)
	p.must(os.MkdirAll(filepath.Dir(path), 0o755))
	p.must(os.WriteFile(path, []byte(text), 0o644))
}

// tree is everything of the home and the project; the state is not looked at.
func (p *place) tree() map[string]string {
	out := map[string]string{}
	for _, at := range []string{"home", "project"} {
		p.must(filepath.WalkDir(filepath.Join(p.dir, at), func(path string, d fs.DirEntry, err error) error {
			name, _ := filepath.Rel(p.dir, path)
			switch {
			case err != nil:
				return err
			case d.IsDir():
				out[name] = "a directory"
			case d.Type()&fs.ModeSymlink != 0:
				out[name], err = os.Readlink(path)
			default:
				var text []byte
				text, err = os.ReadFile(path)
				out[name] = string(text)
			}
			return err
		}))
	}
	return out
}

func differences(a, b map[string]string) string {
	var out []string
	for name := range a {
		if v, ok := b[name]; !ok || v != a[name] {
			out = append(out, fmt.Sprintf("%s: %q, %q", name, a[name], v))
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			out = append(out, name+": only after: "+b[name])
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func all(scope Scope, project string, block, serving bool) []Request {
	var out []Request
	for _, name := range Names() {
		if scope == Project && name == "codex" {
			block = false
		}
		r := Request{Client: name, Scope: scope, Name: DefaultName, Block: block, Serving: serving}
		if scope == Project {
			r.Project = project
		}
		out = append(out, r)
	}
	return out
}

// emptyFile stands for one that is there, with nothing in it.
const emptyFile = "\x00"

// fill gives the place settings of the user's own.
func (p *place) fill(t *rapid.T) {
	pick := func(name string, texts ...string) {
		if text := rapid.SampledFrom(append(texts, "")).Draw(t, name); text != "" {
			p.write(name, strings.TrimPrefix(text, emptyFile))
		}
	}
	pick("home/.claude.json", "{}", "{\n\t\"mcpServers\": {\n\t\t\"mine\": {\"command\": \"x\"}\n\t},\n\t\"n\": 1e400\n}\n", "{\"mcpServers\": {}}")
	pick("home/.claude/settings.json", "{}\n", `{"permissions": {"deny": ["Bash", "Read(./x)", "Bash"]}}`, "{\n  \"permissions\": {\n    \"deny\": [\n      \"Edit\"\n    ]\n  }\n}\r\n", settings.BOM+`{"permissions":{"deny":[]},"hooks":{"PreToolUse":[{"hooks":[]}]}}`)
	pick("home/.codex/config.toml", "model = \"m\" # c", "[mcp_servers.mine]\ncommand = \"x\"\n\n\n", "[features]\r\nhooks = true\r\n", "\n", emptyFile, settings.BOM)
	pick("home/.codex/hooks.json", "{}", `{"hooks": {"Stop": []}}`)
	pick("home/.gemini/settings.json", `{"a":1}`, settings.BOM+"{\n    \"mcpServers\": {},\n    \"hooks\": {\"BeforeTool\": [ ]}\n}", "/* x */ { }")
	pick("home/.config/opencode/opencode.jsonc", "{\n  \"$schema\": \"s\", // s\n  \"mcp\": {},\n}\n", `{"permission": "allow"}`)
	pick("project/.mcp.json", "{}", `{"mcpServers": {"other": {"command": "y"}}}`)
	pick("project/opencode.json", "{ \"mcp\": { } }")
}

// TestPropertySetupRemove: however often it is set up and with what, removing
// gives back every byte, and every directory.
func TestPropertySetupRemove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "clients")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		p := newPlace(dir)
		p.fill(t)
		before := p.tree()
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			scope := rapid.SampledFrom([]Scope{User, Project}).Draw(t, "scope")
			requests := all(scope, p.host.Project, rapid.Bool().Draw(t, "block"), rapid.Bool().Draw(t, "serving"))
			for range 2 {
				if _, err := p.host.Do(Setup, requests, false); err != nil {
					t.Fatal(err)
				}
			}
			again, err := p.host.Do(Setup, requests, true)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range again {
				if len(r.Files) > 0 {
					t.Fatalf("a third time changes %s:\n%s\n%s", r.Files[0].Path, r.Files[0].Before, r.Files[0].After)
				}
			}
			for _, r := range requests {
				if got := p.status(r); got.Registered != "yes" || !got.Skill || got.Err != nil || (got.Blocked != "no") != (r.Block || r.Serving) {
					t.Fatalf("%+v: %+v", r, got)
				}
			}
		}
		for _, scope := range []Scope{Project, User} {
			if _, err := p.host.Do(Remove, all(scope, p.host.Project, false, false), false); err != nil {
				t.Fatal(err)
			}
		}
		if d := differences(before, p.tree()); d != "" {
			t.Fatal(d)
		}
		if left, err := os.ReadDir(p.host.State); err != nil || len(left) != 1 {
			t.Fatalf("in the state: %v %v", left, err)
		}
	})
}

func (p *place) status(r Request) Report {
	reports, err := p.host.Status([]string{r.Client})
	p.must(err)
	i := slices.IndexFunc(reports, func(o Report) bool { return o.same(&r) })
	if i < 0 {
		panic(fmt.Sprintf("no report for %+v in %+v", r, reports))
	}
	return reports[i]
}

// TestNothingWhereOneFails: one file that cannot be, and nothing is written.
func TestNothingWhereOneFails(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(p *place)
		want  string
	}{
		"not JSON":          {func(p *place) { p.write("home/.gemini/settings.json", "{\n nope") }, "home/.gemini/settings.json:2:2: "},
		"not TOML":          {func(p *place) { p.write("home/.codex/config.toml", "a = = 1") }, "home/.codex/config.toml:1:5: "},
		"deny is no list":   {func(p *place) { p.write("home/.claude/settings.json", `{"permissions": {"deny": {}}}`) }, "permissions.deny: want a list"},
		"servers is a list": {func(p *place) { p.write("home/.claude.json", `{"mcpServers": []}`) }, "mcpServers: want an object"},
		"somebody's server": {func(p *place) {
			p.write("home/.claude.json", `{"mcpServers": {"carrel": {"command": "carrel", "args": ["mcp"]}}}`)
		}, "--name"},
		"servers as a value": {func(p *place) { p.write("home/.codex/config.toml", "mcp_servers = {}\n") }, "cannot be added here"},
		"write-protected": {func(p *place) {
			p.write("home/.gemini/settings.json", "{}")
			p.must(os.Chmod(p.dir+"/home/.gemini/settings.json", 0o400))
		}, "write-protected"},
		"somebody's skill":  {func(p *place) { p.write("home/.config/opencode/skills/carrel/SKILL.md", "mine") }, "move it away"},
		"a link to nothing": {func(p *place) { p.must(os.Symlink("nowhere", p.dir+"/home/.claude.json")) }, "following the link"},
		"a FIFO": {func(p *place) {
			p.must(exec.Command("/usr/bin/mkfifo", p.dir+"/home/.claude.json").Run())
		}, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t.TempDir())
			c.spoil(p)
			if name == "a FIFO" {
				if _, err := p.host.Do(Setup, all(User, "", true, false), false); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			before := p.tree()
			_, err := p.host.Do(Setup, all(User, "", true, false), false)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if d := differences(before, p.tree()); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestMeanwhile: who writes at the same moment is not lost, and the edit is made
// anew; who never ends is left alone.
func TestMeanwhile(t *testing.T) {
	for _, times := range []int{1, 3, 1000} {
		p := newPlace(t.TempDir())
		p.write("home/.gemini/settings.json", "{}")
		n := 0
		stop = func(what string) {
			if what == p.dir+"/home/.gemini/settings.json" && n < times {
				n++
				p.write("home/.gemini/settings.json", fmt.Sprintf("{\"n\": %d}", n))
			}
		}
		_, err := p.host.Do(Setup, all(User, "", false, false), false)
		stop = func(string) {}
		text := p.tree()["home/.gemini/settings.json"]
		if times == 1000 {
			if !errors.Is(err, settings.ErrChanged) || text != fmt.Sprintf("{\"n\": %d}", tries) || len(p.tree()) != 4 {
				t.Errorf("%v, %q, %q", err, text, p.tree())
			}
			continue
		}
		if err != nil || !strings.HasPrefix(text, fmt.Sprintf("{\"n\": %d,", times)) || !strings.Contains(text, "carrel") {
			t.Errorf("%v, %q", err, text)
		}
	}
}

// TestLinks: a link stays one, what it leads to is edited.
func TestLinks(t *testing.T) {
	p := newPlace(t.TempDir())
	p.write("home/dotfiles/claude.json", "{\"a\": 1}\n")
	p.must(os.Symlink("dotfiles/claude.json", p.dir+"/home/.claude.json"))
	before := p.tree()
	_, err := p.host.Do(Setup, all(User, "", true, false)[:1], false)
	p.must(err)
	if now := p.tree(); now["home/.claude.json"] != "dotfiles/claude.json" || !strings.Contains(now["home/dotfiles/claude.json"], "carrel") {
		t.Error(now)
	}
	_, err = p.host.Do(Remove, all(User, "", true, false)[:1], false)
	p.must(err)
	if d := differences(before, p.tree()); d != "" {
		t.Error(d)
	}
}

// TestOwnEntries: what the user adds after us stays, equal to ours or not.
func TestOwnEntries(t *testing.T) {
	p := newPlace(t.TempDir())
	requests := all(User, "", true, false)
	_, err := p.host.Do(Setup, requests, false)
	p.must(err)
	at := "home/.claude/settings.json"
	p.write(at, strings.Replace(p.tree()[at], "\"Read\",", "\"Read\", \"Read\", \"Mine\",", 1))
	p.write("home/.claude/skills/carrel/SKILL.md", "changed")
	codex := "home/.codex/config.toml"
	p.write(codex, p.tree()[codex]+"\n[mcp_servers.carrel.tools.Bash]\napproval_mode = \"approve\"\n\n[mine]\nx = 1\n")
	results, err := p.host.Do(Remove, requests, false)
	p.must(err)
	have, err := denied([]byte(p.tree()[at]))
	if err != nil || !slices.Equal(have, []string{"Read", "Mine"}) {
		t.Errorf("denied: %q %v in %s", have, err, p.tree()[at])
	}
	if p.tree()["home/.claude/skills/carrel/SKILL.md"] != "changed" || len(results[0].Notes) != 1 {
		t.Errorf("the skill: %+v", results[0].Notes)
	}
	if got := p.tree()[codex]; !strings.Contains(got, "[mine]\nx = 1\n") || strings.Contains(got, "mcp_servers") {
		t.Errorf("codex: %q", got)
	}
}

// TestEarlierInstall: a carrel that is gone is replaced by this one.
func TestEarlierInstall(t *testing.T) {
	p := newPlace(t.TempDir())
	before := p.tree()
	_, err := p.host.Do(Setup, all(User, "", false, true), false)
	p.must(err)
	p.must(os.MkdirAll(p.dir+"/bin2", 0o755))
	p.must(os.Rename(p.host.Program, p.dir+"/bin2/carrel"))
	old := p.host.Program
	p.host.Program = p.dir + "/bin2/carrel"
	if got := p.status(all(User, "", false, true)[0]); got.Registered != "stale" || got.Blocked != "no" || len(got.Notes) != 2 {
		t.Errorf("%+v", got)
	}
	if did, err := p.host.Heal(); err != nil || len(did) < 4 {
		t.Errorf("%q %v", did, err)
	}
	for name, text := range p.tree() {
		if strings.Contains(text, old) {
			t.Errorf("%s: %s", name, text)
		}
	}
	if got := p.status(all(User, "", false, true)[0]); got.Registered != "yes" || got.Blocked != "while-serving" {
		t.Errorf("%+v", got)
	}
	// Without the record what has our shape is known, and goes.
	p.must(os.Remove(p.host.State + "/" + recordName))
	p.must(os.Rename(p.host.Program, p.dir+"/bin2/away"))
	if did, err := p.host.Heal(); err != nil || len(did) != 4 {
		t.Errorf("%q %v", did, err)
	}
	for name, text := range p.tree() {
		if _, had := before[name]; !had && strings.Contains(text, "--client") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestLease: a gate refuses while a server of the same client is there, and the
// kernel ends that.
func TestLease(t *testing.T) {
	p := newPlace(t.TempDir())
	event := []byte(`{"tool_name": "Bash", "tool_input": {}}`)
	ask := func(client string, always bool, event []byte) string {
		t.Helper()
		why, err := p.host.Refuses(client, always, event)
		if err != nil {
			t.Fatal(err)
		}
		return why
	}
	if ask("claude", false, event) != "" || ask("claude", true, event) == "" || ask("claude", true, []byte(`{"tool_name":"NotebookEdit"}`)) != "" {
		t.Error("without a server")
	}
	a, err := p.host.Serve("claude")
	p.must(err)
	b, err := p.host.Serve("claude")
	p.must(err)
	if ask("claude", false, event) == "" || ask("gemini", false, []byte(`{"tool_name":"write_file"}`)) != "" {
		t.Error("with two servers")
	}
	a.Release()
	if ask("claude", false, event) == "" {
		t.Error("with one of them")
	}
	b.file.Close() // as the kernel does
	if ask("claude", false, event) != "" {
		t.Error("with a server that was killed")
	}
	if did, err := p.host.Heal(); err != nil || len(did) != 1 || !strings.Contains(did[0], "1 leases") {
		t.Errorf("%q %v", did, err)
	}
	if _, err := p.host.Refuses("claude", false, []byte("no")); err == nil {
		t.Error("no event, and no error")
	}
}

// TestFullDisk: the old files stay, nothing is left beside them.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("/usr/bin/mount", "-t", "tmpfs", "-o", "size=256k", "none", dir).CombinedOutput(); err != nil {
		t.Skipf("no mount: %v %s", err, out)
	}
	defer func() {
		if out, err := exec.Command("/usr/bin/umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v %s", err, out)
		}
	}()
	p := newPlace(dir)
	p.host.State = t.TempDir()
	p.write("home/.claude.json", "{\n  \"a\": \""+strings.Repeat("x", 40<<10)+"\"\n}\n")
	p.write("home/.codex/config.toml", "# "+strings.Repeat("x", 20<<10)+"\n")
	for size := 256 << 10; ; size -= 4 << 10 { // as much as there is room for
		if err := os.WriteFile(dir+"/full", bytes.Repeat([]byte("x"), size), 0o600); err == nil {
			break
		}
	}
	before := p.tree()
	_, err := p.host.Do(Setup, all(User, "", true, false), false)
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
	if d := differences(before, p.tree()); d != "" {
		t.Error(d)
	}
	p.must(os.Remove(dir + "/full"))
	if _, err := p.host.Do(Setup, all(User, "", true, false), false); err != nil {
		t.Error(err)
	}
}
