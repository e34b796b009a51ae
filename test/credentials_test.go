//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// agentScript puts a program in the person's PATH that is recognised as an agent
// and runs a shell script, with the words behind its name.
func (w *world) agentScript(name, script string) {
	w.t.Helper()
	w.script(w.home+"/bin/"+name, "#!/bin/bash\n"+script+"\n")
	w.setenv("PATH", w.home+"/bin:"+w.base+"/bin:/usr/local/bin:/usr/bin:/bin")
}

// inProject runs carrel in another directory of the person's.
func (w *world) inProject(dir string, args ...string) result {
	w.t.Helper()
	w.mkdir(dir, 0o700)
	cmd := w.command(w.bin, args...)
	cmd.Dir = dir
	return w.finish(cmd)
}

const firstLogin = `{"claudeAiOauth":{"accessToken":"a1","refreshToken":"r1","expiresAt":1000,"scopes":["user:inference"],"subscriptionType":"max","helper":"evil"},"apiKeyHelper":"evil"}`

// TestFirstLoginInAShell: a login that is made in `carrel shell --agent` is there in the
// next run of this project, in another one's, and outside.
func TestFirstLoginInAShell(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.litter = true // the login is to be on the host afterwards
		w.agentScript("claude", `if [ "$1" = login ]; then printf '%s' "$2" > ~/.claude/.credentials.json; else cat ~/.claude/.credentials.json; fi`)
		login := w.home + "/.claude/.credentials.json"

		// The canary: in a shell of nobody the login stays in that shell.
		r := w.carrel("shell", "--", "-c", "mkdir -p ~/.claude; ~/bin/claude login '"+firstLogin+"'; cat ~/.claude/.credentials.json")
		if exists(login) {
			t.Fatalf("a shell without --agent made a login: %s", r)
		}
		r = w.carrel("shell", "--agent", "claude", "--", "-c", "claude login '"+firstLogin+"'")
		if r.code != 0 || !strings.Contains(r.err, "a login was made inside") {
			t.Errorf("the shell: %s", r)
		}
		got := w.read(login)
		for _, want := range []string{`"r1"`, `"user:inference"`, `"max"`} {
			if !strings.Contains(got, want) {
				t.Errorf("the login outside misses %s: %s", want, got)
			}
		}
		if strings.Contains(got, "evil") {
			t.Errorf("more than a login came out: %s", got)
		}
		if st, err := os.Stat(login); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", st, err)
		}
		for _, dir := range []string{w.project, w.home + "/src/other"} {
			if r := w.inProject(dir, "claude"); r.code != 0 || !strings.Contains(r.out, `"r1"`) {
				t.Errorf("in %s: %s", dir, r)
			}
		}
	})
}

// TestShellOfAnAgentThatIsNotThere: the shell starts and says what installs it; an agent
// that nobody knows is refused.
func TestShellOfAnAgentThatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	r := w.carrel("shell", "--agent", "claude", "--", "-c", `echo "$CLAUDE_CONFIG_DIR"; test -d ~/.claude; claude`)
	if r.code != 127 || !strings.Contains(r.err, "npm install -g @anthropic-ai/claude-code") || r.out != w.home+"/.claude\n" {
		t.Errorf("without the program: %s", r)
	}
	r = w.carrel("shell", "--agent", "cloud", "--", "-c", "echo started")
	if r.code != 125 || r.out != "" || !strings.Contains(r.err, `"cloud"`) || !strings.Contains(r.err, "claude, ") {
		t.Errorf("an unknown agent: %s", r)
	}
}

// TestParallelRenewals: tokens that work for one renewal only are renewed in two
// workspaces of two projects, and outside, while all run. Each goes on with what
// another has renewed; none comes with an old one.
func TestParallelRenewals(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		login := w.write(w.home+"/.claude/.credentials.json", `{"claudeAiOauth":{"refreshToken":"r1","expiresAt":1000}}`)
		// Each waits for its turn's token to be in its own file, and renews it.
		w.agentScript("claude", program("credentials/renews_in_turn.sh"))
		other := w.home + "/src/other"
		w.mkdir(other, 0o700)
		second := make(chan result, 1)
		cmd := w.command(w.bin, "claude", "2", "5")
		cmd.Dir = other
		go func() { second <- w.finish(cmd) }()
		third := make(chan result, 1)
		same := w.command(w.bin, "claude", "3") // in the first one's project, on the same copy
		go func() { third <- w.finish(same) }()
		outside := make(chan result, 1)
		host := w.command(w.home+"/bin/claude", "4")
		go func() { outside <- w.finish(host) }()
		first := w.finish(w.command(w.bin, "claude", "1", "6"))
		for name, r := range map[string]result{"first": first, "second": <-second, "third": <-third, "outside": <-outside} {
			if r.code != 0 || strings.Contains(r.err, "not merged") {
				t.Errorf("the %s: %s", name, r)
			}
		}
		if got := w.read(login); !strings.Contains(got, `"r7"`) {
			t.Errorf("the host has %s", got)
		}
		if r := w.inProject(other, "shell", "--agent", "claude", "--", "-c", "cat ~/.claude/.credentials.json"); !strings.Contains(r.out, `"r7"`) {
			t.Errorf("the second project has %s", r)
		}
	})
}

// TestLoginOfAKilledRun: what was renewed inside is not lost with its supervisor.
func TestLoginOfAKilledRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true // of the killed one, which the next takes away
	w.write(w.home+"/.codex/auth.json", `{"tokens":{"refresh_token":"r1"},"last_refresh":"2026-01-01T00:00:00Z"}`)
	w.agentScript("codex", `case "$*" in
*renew) printf '{"tokens":{"refresh_token":"r2"},"last_refresh":"2026-02-01T00:00:00Z"}' > ~/.codex/auth.json; echo renewed; sleep 60;;
*) cat ~/.codex/auth.json;;
esac`)
	cmd := w.command(w.bin, "codex", "renew")
	out, err := cmd.StdoutPipe()
	w.must(err)
	w.must(w.start(cmd))
	_, err = out.Read(make([]byte, 1))
	w.must(err)
	w.must(cmd.Process.Kill())
	_ = cmd.Wait()
	if r := w.carrel("codex", "show"); r.code != 0 || !strings.Contains(r.out, "r2") {
		t.Errorf("after it: %s", r)
	}
	if got := w.read(w.home + "/.codex/auth.json"); !strings.Contains(got, "r2") {
		t.Errorf("outside: %s", got)
	}
}

// TestLoginOfAWorkspaceThatStays: what is renewed in one is on the host while it runs, and
// what is renewed outside is in it.
func TestLoginOfAWorkspaceThatStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	login := w.write(w.home+"/.codex/auth.json", `{"tokens":{"refresh_token":"r1"},"last_refresh":"2026-01-01T00:00:00Z"}`)
	w.agentScript("codex", `while [ $# -gt 1 ]; do shift; done; eval "$1"`)
	w.fineQuietly("start", "fix", "--agent", "codex")
	defer w.fineQuietly("stop", "fix")
	renew := func(n string) string {
		return `printf '{"tokens":{"refresh_token":"r` + n + `"},"last_refresh":"2026-0` + n + `-01T00:00:00Z"}' > ~/.codex/auth.json`
	}
	await := func(n string) string { return "until grep -qs r" + n + " ~/.codex/auth.json; do sleep 0.02; done" }
	w.fineQuietly("exec", "fix", "--", "codex", renew("2"))
	if r := w.plain("sh", "-c", await("2")); r.code != 0 {
		t.Fatalf("it does not come out: %s, %s", r, w.read(login))
	}
	w.outsideSh(renew("3"))
	w.fineQuietly("exec", "fix", "--", "codex", await("3"))
}

func (w *world) fineQuietly(args ...string) {
	w.t.Helper()
	if r := w.finish(w.command(w.bin, args...)); r.code != 0 {
		w.t.Fatalf("%q: %s", args, r)
	}
}
