package clients

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stopped is what a kill is here.
var errStopped = errors.New("stopped")

// until carries out an operation and stops before the nth write; false: there
// are not so many.
func (p *place) until(n int, do func() error) (stopped bool) {
	defer func() {
		stop = func(string) {}
		if r := recover(); r == errStopped {
			stopped = true
		} else if r != nil {
			panic(r)
		}
	}()
	stop = func(string) {
		if n--; n < 0 {
			panic(errStopped)
		}
	}
	p.must(do())
	return false
}

// TestKilledAnywhere: killed between any two writes, and then again while it is
// healed, everything is as after, and removing gives back what was before. The
// user's own entry, which they make between, stays.
func TestKilledAnywhere(t *testing.T) {
	requests := func(p *place) []Request { return all(User, "", true, false) }
	fill := func(p *place) {
		p.write("home/.claude/settings.json", `{"permissions": {"deny": ["Bash"]}}`)
		p.write("home/.codex/config.toml", "model = \"m\"")
	}
	whole := newPlace(t.TempDir())
	fill(whole)
	start := whole.tree()
	_, err := whole.host.Do(Setup, requests(whole), false)
	whole.must(err)
	end := slices.Sorted(maps.Keys(whole.tree()))
	for n := range 100 {
		p := newPlace(t.TempDir())
		fill(p)
		if !p.until(n, func() error { _, err := p.host.Do(Setup, requests(p), false); return err }) {
			if n < 10 {
				t.Fatalf("only %d writes", n)
			}
			break
		}
		p.until(n/2, func() error { _, err := p.host.Heal(); return err })
		if _, err := p.host.Heal(); err != nil {
			t.Fatalf("stopped before write %d: %v", n, err)
		}
		now := p.tree()
		if got := slices.Sorted(maps.Keys(now)); n > 0 && !slices.Equal(got, end) || n == 0 && differences(start, now) != "" {
			t.Fatalf("stopped before write %d: %q, want %q", n, got, end)
		}
		if did, err := p.host.Heal(); err != nil || len(did) > 0 {
			t.Fatalf("healed twice: %q %v", did, err)
		}
		k := (n * 3) % 12
		if p.until(k, func() error { _, err := p.host.Do(Remove, requests(p), false); return err }) {
			if _, err := p.host.Heal(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := p.host.Do(Remove, requests(p), false); err != nil {
			t.Fatal(err)
		}
		if d := differences(start, p.tree()); d != "" {
			t.Fatalf("stopped before write %d, removing before %d:\n%s", n, k, d)
		}
	}
}

// TestKilledElsewhere: who finishes what was killed has other variables, and is another
// carrel; or a server that the user had themselves, equal to ours, stays theirs.
func TestKilledElsewhere(t *testing.T) {
	for _, theirs := range []bool{false, true} {
		for n := 1; killedElsewhere(t, n, theirs); n++ { // before the first write, nobody knows whose it is
			if n == 100 {
				t.Fatal("writes without end")
			}
		}
	}
}

// killedElsewhere stops a setup before write n, and then its removal; false: there are not
// so many writes.
func killedElsewhere(t *testing.T, n int, theirs bool) (more bool) {
	p := newPlace(t.TempDir())
	requests := all(User, "", true, false)
	dirs := map[string]string{"CLAUDE_CONFIG_DIR": p.dir + "/home/a", "CODEX_HOME": p.dir + "/home/b", "XDG_CONFIG_HOME": p.dir + "/home/c"}
	p.write("home/a/settings.json", `{"permissions": {"deny": ["Bash"]}}`)
	p.write("home/b/config.toml", "model = \"m\"")
	p.write("bin/other", "")
	if theirs {
		p.write("home/.gemini/settings.json", fmt.Sprintf(`{"mcpServers": {"carrel": {"command": %q, "args": ["mcp", "--client", "gemini"]}}}`, p.host.Program))
	}
	start := p.tree()

	there := p.host
	there.Getenv = func(name string) string { return dirs[name] }
	more = p.until(n, func() error { _, err := there.Do(Setup, requests, false); return err })
	if !theirs {
		p.host.Program = p.dir + "/bin/other"
	}
	if _, err := p.host.Heal(); err != nil {
		t.Fatalf("stopped before write %d: %v", n, err)
	}
	k := (n * 3) % 12
	p.until(k, func() error { _, err := there.Do(Remove, requests, false); return err })
	if _, err := p.host.Heal(); err != nil {
		t.Fatalf("stopped before write %d, removing before %d: %v", n, k, err)
	}
	if k == 0 { // it had not begun
		if _, err := p.host.Do(Remove, requests, false); err != nil {
			t.Fatal(err)
		}
	}
	if d := differences(start, p.tree()); d != "" {
		t.Fatalf("stopped before write %d, removing before %d:\n%s", n, k, d)
	}
	return more
}

// TestKilledMeanwhile: what somebody wrote in the moment of the kill is kept and told.
func TestKilledMeanwhile(t *testing.T) {
	p := newPlace(t.TempDir())
	p.write("home/.claude.json", "{}")
	requests := all(User, "", false, true)
	if !p.until(1, func() error { _, err := p.host.Do(Setup, requests, false); return err }) {
		t.Fatal("one write only")
	}
	for name, text := range map[string]string{"AAAAAAAAAA": "half", "BBBBBBBBBB.old": "{}", "CCCCCCCCCC.old": "theirs"} {
		p.write("home/..claude.json.carrel-"+name, text)
	}
	did, err := p.host.Heal()
	p.must(err)
	at := filepath.Join(p.dir, "home/..claude.json.carrel-CCCCCCCCCC.old")
	if !slices.ContainsFunc(did, func(s string) bool { return strings.HasSuffix(s, at) }) {
		t.Errorf("told: %q", did)
	}
	left, _ := filepath.Glob(p.dir + "/home/..claude*")
	if text, _ := os.ReadFile(at); !slices.Equal(left, []string{at}) || string(text) != "theirs" {
		t.Errorf("left: %q, %q", left, text)
	}
}

// TestKilledMeanwhileAndRefused: it is told, too, where what is asked for then is refused,
// and with what finishes it where that fails.
func TestKilledMeanwhileAndRefused(t *testing.T) {
	for _, spoilt := range []bool{false, true} {
		p := newPlace(t.TempDir())
		p.write("home/.claude.json", "{}")
		requests := all(User, "", false, true)
		if !p.until(1, func() error { _, err := p.host.Do(Setup, requests, false); return err }) {
			t.Fatal("one write only")
		}
		p.write("home/..claude.json.carrel-CCCCCCCCCC.old", "theirs")
		if spoilt {
			p.write("home/.claude.json", "nope")
		}
		for i := range requests {
			requests[i].Name = "other"
		}
		_, err := p.host.Do(Setup, requests, false)
		want := map[bool]string{false: "one name at a time", true: "finishing the setup"}[spoilt]
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "..claude.json.carrel-CCCCCCCCCC.old") {
			t.Errorf("%v", err)
		}
	}
}

// TestOurs: of a client whose settings cannot be read we have something where the record
// says so, or another file does.
func TestOurs(t *testing.T) {
	p := newPlace(t.TempDir())
	request := all(User, "", false, false)[0]
	p.write("home/.claude.json", "nope")
	if got := p.status(request); got.Err == nil || got.Ours() {
		t.Errorf("nothing was ever put in: %+v", got)
	}
	p.write("home/.claude.json", "{}")
	if _, err := p.host.Do(Setup, []Request{request}, false); err != nil {
		t.Fatal(err)
	}
	if got := p.status(request); got.Err != nil || !got.Ours() {
		t.Errorf("set up: %+v", got)
	}
	p.write("home/.claude.json", "nope")
	if got := p.status(request); got.Err == nil || !got.Ours() {
		t.Errorf("spoilt since: %+v", got)
	}
	p.must(os.RemoveAll(p.dir + "/home/.claude"))
	if got := p.status(request); got.Err == nil || !got.Ours() {
		t.Errorf("only the record is left: %+v", got)
	}
	p.must(os.RemoveAll(p.host.State))
	if got := p.status(request); got.Ours() {
		t.Errorf("and not that either: %+v", got)
	}
}
