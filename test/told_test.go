//go:build linux

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"carrel/internal/api"
)

// TestRefusalsAreTold: what the kernel refuses by itself is told like what carrel refuses:
// secrets that cannot be read, and a network that is not there.
func TestRefusalsAreTold(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("curl")
		w.outsideSh("echo KEY=1 > .env; mkdir -p a/b; echo KEY=2 > a/b/.env; echo KEY= > .env.example")
		told := func(want bool, text string, r result) {
			t.Helper()
			if strings.Contains(r.err, text) != want {
				t.Errorf("%q is told: want %v: %s", text, want, r)
			}
		}
		const secrets, network = "hidden: .env, a/b/.env: secrets", "the network is closed: a program inside tried to reach a host"
		quiet := w.run("--", "cat", ".env.example")
		told(false, "hidden:", quiet)
		told(false, network, quiet)
		told(true, secrets, w.run("--", "cat", ".env"))
		shown := w.run("--read", ".env", "--", "sh", "-c", "cat .env && cat a/b/.env")
		if !strings.Contains(shown.out, "KEY=1") || strings.Contains(shown.out, "KEY=2") {
			t.Errorf("with one shown: %s", shown)
		}
		told(true, "hidden: a/b/.env: secrets", shown)
		told(true, network, w.run("--", "curl", "-sS", "-m", "5", "http://192.0.2.1/"))
		told(true, network, w.run("--", "curl", "-sS", "-m", "5", "http://name.example/"))
		told(true, "the network is local", w.run("--network", "local", "--", "curl", "-sS", "-m", "5", "http://192.0.2.1/"))
		told(false, "the network is", w.run("--network", "local", "--", "curl", "-sS", "-m", "5", "http://127.0.0.1:9/"))

		r := w.run("--json", "--", "sh", "-c", "curl -sS -m 5 http://192.0.2.1/ 2> /dev/null; true")
		var got api.Result
		if err := json.Unmarshal([]byte(r.err), &got); err != nil {
			t.Fatalf("%v: %s", err, r)
		}
		if len(got.Denials) != 1 || got.Denials[0].Code != api.CodeNetwork || len(got.Hidden) != 2 {
			t.Errorf("as JSON: %+v", got)
		}
		if out := w.fine("denials", "--json"); !strings.Contains(out, "network closed") {
			t.Errorf("carrel denials says %s", out)
		}
	})
}

// TestUnlistedHostsAreTold: hosts that no rule lists are one line, and those that only hear
// how programs are used another one.
func TestUnlistedHostsAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("curl")
	r := w.run("--allow-host", "name.example:80", "--", "sh", "-c",
		"for h in two.example one.example o1.ingest.sentry.io statsig.anthropic.com; do curl -sS -m 5 https://$h/; done 2> /dev/null; true")
	for _, want := range []string{
		"not reached, as no rule lists them: one.example:443, two.example:443\n", "hint: list one: ",
		"not reached, and nothing needs them: o1.ingest.sentry.io:443, statsig.anthropic.com:443 (", "4 denials",
	} {
		if !strings.Contains(r.err, want) {
			t.Errorf("no %q in: %s", want, r)
		}
	}
}

// TestListedAtOnce: a name that can run code later is told while the run goes on: an event
// and a record.
func TestListedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	cmd := w.startInside("echo x > CLAUDE.md; echo ready; read -r line")
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	eventually(t, "the denial", func() bool { // which is written beside the call
		return strings.Contains(w.fine("denials"), "CLAUDE.md\" was made or changed inside, and was not refused")
	})
}

// TestChangedIsListed: what was there, and can run code later, is told of when it is written
// to, in place or by a rename. The top of the project is not enough.
func TestChangedIsListed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script string }{
		{"CLAUDE.md", "echo x >> CLAUDE.md"},
		{".github/workflows/a.yml", "echo x > n; mv n .github/workflows/a.yml"},
		{"pkg/.vscode/tasks.json", "echo x >> pkg/.vscode/tasks.json"},
		{"pkg/.mcp.json", "truncate -s 0 pkg/.mcp.json"},
		{"sub/.husky/pre-commit", "echo x > n; mv n sub/.husky/pre-commit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.litter = true
			w.outsideSh("git init -q -b main .; mkdir -p pkg/.vscode sub/.husky .github/workflows; for f in CLAUDE.md .github/workflows/a.yml pkg/.vscode/tasks.json pkg/.mcp.json sub/.husky/pre-commit; do echo old > $f; done")
			if listed, _, r := w.listedAfter("cat " + c.name); len(listed) > 0 {
				t.Errorf("reading: %q: %s", listed, r)
			}
			if listed, _, r := w.listedAfter(c.script); len(listed) != 1 || listed[0] != c.name {
				t.Errorf("%q: %s", listed, r)
			}
		})
	}
}
