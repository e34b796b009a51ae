//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// twoRuns is an attack in up to two runs on one project. The project is a git
// repository; setup runs outside before, after runs outside at the end.
type twoRuns struct {
	name    string
	setup   string
	flags   []string
	first   string
	second  string
	after   string
	evil    string // must not be in what after prints, nor in what the runs print
	warning string // must be in what carrel says after the first run; "" for any
}

// TestAttacksInTwoRuns: what one run breaks must not open anything to the next,
// or to programs outside.
func TestAttacksInTwoRuns(t *testing.T) {
	tests := []twoRuns{
		{name: "parents of protected names", setup: "mkdir .claude .cargo; echo ok > .claude/settings.json; echo ok > .cargo/config.toml",
			first: "mv .claude c; mkdir .claude; echo EVIL > .claude/settings.json; mv .cargo d; mkdir .cargo; echo EVIL > .cargo/config.toml",
			after: "cat .claude/settings.json .cargo/config.toml", evil: "EVIL"},
		{name: "a HEAD that is away", first: "mv .git/HEAD .git/H2", second: "echo EVIL > .git/hooks/x; echo EVIL >> .git/config; mv .git/H2 .git/HEAD",
			after: "cat .git/hooks/* .git/config", evil: "EVIL"},
		{name: "a commondir of the main repository", first: "echo . > .git/commondir", second: "echo EVIL > .git/hooks/x", after: "rm -f .git/commondir; cat .git/hooks/*", evil: "EVIL",
			warning: "WARNING: .git/commondir"},
		{name: "a closed .git", first: "chmod 0 .git", second: "chmod 755 .git; echo EVIL >> .git/config", after: "chmod 755 .git; cat .git/config", evil: "EVIL"},
		{name: "another worktree's commondir", setup: "git worktree add -q ../tree-$$; ls -d ../tree-* > .git/tree", first: "echo EVIL > $(echo .git/worktrees/*/commondir)",
			after: "cat .git/worktrees/*/commondir; git worktree remove --force $(cat .git/tree)", evil: "EVIL"},
		{name: "a submodule's HEAD", setup: "mkdir -p .git/modules/a/b/hooks; touch .git/modules/a/b/HEAD .git/modules/a/b/config", first: "mv .git/modules/a/b/HEAD .git/modules/a/b/H",
			second: "echo EVIL > .git/modules/a/b/hooks/x; echo EVIL >> .git/modules/a/b/config", after: "cat .git/modules/a/b/config .git/modules/a/b/hooks/*", evil: "EVIL"},
		{name: "protected names that are links", setup: "mkdir ed gh; echo ok > rc; ln -s ed .vscode; ln -s rc .envrc; rm -rf .git/hooks; ln -s ../gh .git/hooks",
			first: "echo EVIL > .vscode/tasks.json; echo EVIL > .envrc; echo EVIL > .git/hooks/pre-commit; rm -rf gh; mkdir gh; echo EVIL > gh/pre-commit",
			after: "cat ed/* rc gh/*", evil: "EVIL"},
		{name: "a link that is replaced is named", setup: "mkdir ed; ln -s ed .vscode", first: "rm .vscode; mkdir .vscode", warning: "WARNING: .vscode"},
		{name: "what the configuration names", setup: "mkdir -p tools/hooks; touch shared; git config core.hooksPath tools/hooks; git config include.path ../shared",
			first: "echo EVIL > tools/hooks/post-commit; echo EVIL >> shared; mv tools t; mkdir -p tools/hooks; echo EVIL > tools/hooks/x", after: "cat shared tools/hooks/*", evil: "EVIL"},
		{name: "a closed directory under a deny", setup: "mkdir -p deep a/b; echo EVIL > deep/k.pem; echo EVIL > a/b/c", flags: []string{"--deny", "**/*.pem", "--deny", "a/b/c"},
			first: "chmod 0 deep a/b a", second: "chmod 755 deep a a/b; cat deep/k.pem a/b/c", after: "chmod 755 deep a; chmod 755 a/b", evil: "EVIL"},
		{name: "a path too long to name", setup: "mkdir deep; echo EVIL > deep/k.pem", flags: []string{"--deny", "**/*.pem"},
			first:  `python3 -c "` + program("review/makes_a_long_path.py") + `"`,
			second: `python3 -c "` + program("review/enters_a_long_path.py") + `"`, evil: "EVIL"},
		{name: "the parent of a protected match", setup: "mkdir -p ci/x; echo ok > ci/x/build.sh", flags: []string{"--protect", "**/build.sh"},
			first: "mv ci/x ci/y; mkdir -p ci/x; echo EVIL > ci/x/build.sh", after: "cat ci/x/build.sh", evil: "EVIL"},
		{name: "a set-user-id file", first: "cp /bin/sh s; chmod 4755 s; chmod u+s s; stat -c 'mode %a' s", evil: "mode 4"},
	}
	eachPerson(t, func(t *testing.T, p person) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) { newWorld(t, p).twoRuns(tt) })
		}
	})
}

func (w *world) twoRuns(tt twoRuns) {
	w.t.Helper()
	w.need("git", "python3")
	w.repository()
	if tt.setup != "" {
		w.outsideSh(tt.setup)
	}
	said := ""
	for i, script := range []string{tt.first, tt.second} {
		if script == "" {
			continue
		}
		r := w.run(append(append([]string{}, tt.flags...), "--", "bash", "-c", script)...)
		if r.code == 125 {
			w.t.Fatalf("the run did not start: %s", r)
		}
		// A refusal is better than a warning.
		if i == 0 && !strings.Contains(r.err, tt.warning) && !strings.Contains(r.err, "carrel: denied: ") {
			w.t.Errorf("no word of %q: %s", tt.warning, r)
		}
		said += r.out
	}
	if tt.after != "" {
		said += w.plain("bash", "-c", tt.after).out
	}
	if tt.evil != "" && strings.Contains(said, tt.evil) {
		w.t.Errorf("the attack worked:\n%s", said)
	}
}

// TestOuterRepositoryStaysOut: breaking one's own repository does not make the
// one around it the project.
func TestOuterRepositoryStaysOut(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("git")
		w.outsideSh("git init -q; echo outer > outer.txt; git init -q inner")
		w.project += "/inner"
		w.run("--", "mv", ".git/HEAD", ".git/H2")
		if r := w.run("--", "bash", "-c", "cat ../outer.txt; echo changed > ../outer.txt"); strings.Contains(r.out, "outer") {
			t.Errorf("the outer repository is visible: %s", r)
		}
		if got := w.read(w.project + "/../outer.txt"); got != "outer\n" {
			t.Errorf("the outer repository was changed: %q", got)
		}
	})
}

// TestLinksOutOfTheProject: a repository does not choose what a user's rule
// grants, what is masked elsewhere, or whether carrel starts.
func TestLinksOutOfTheProject(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.home+"/.ssh/id_ed25519", "SECRET")
		w.symlink(w.home+"/.ssh", w.project+"/notes")
		for _, flag := range []string{"--read", "--write"} {
			for _, place := range []string{"notes", "notes/id_ed25519", ":project/notes"} {
				r := w.run(flag, place, "--", "cat", "notes/id_ed25519")
				if r.code != 125 || strings.Contains(r.out, "SECRET") || !strings.Contains(r.err, "leads out of the project") {
					t.Errorf("%s %s: %s", flag, place, r)
				}
			}
		}
		for _, to := range []string{"/usr", "/dev/null", "/", "/run", ".", "nowhere", "/proc/self/root"} {
			w.symlink(to, w.project+"/.env")
			if r := w.run("--", "sh", "-c", "echo started"); r.out != "started\n" {
				t.Errorf(".env -> %s: %s", to, r)
			}
			w.must(os.Remove(w.project + "/.env"))
		}
		w.outsideSh("mkfifo .envrc .npmrc .mcp.json; git init -q; ln -s $HOME .git/modules")
		if r := w.run("--", "sh", "-c", "echo started"); r.out != "started\n" {
			t.Errorf("FIFOs under protected names: %s", r)
		}
	})
}

// TestFloodOfLinks: requests from inside are bounded in memory, log and output.
func TestFloodOfLinks(t *testing.T) {
	w := newWorld(t, ordinary(t))
	w.need("python3")
	r := w.run("--", "python3", "-c", program("review/flood_of_links.py"))
	if r.out != "done\n" || len(r.err) > 200_000 || strings.Count(r.err, "denied:") > 100 {
		t.Errorf("%d bytes, %d denials", len(r.err), strings.Count(r.err, "denied:"))
	}
}

// TestInitCannotBeEnded: PID 1 takes every signal that a process inside may send.
func TestInitCannotBeEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	if r := w.run("--", "bash", "-c", "for s in $(seq 1 64); do kill -$s 1 2>/dev/null; done; echo alive"); r.out != "alive\n" || r.code != 0 {
		t.Errorf("%s", r)
	}
}

// TestDeviceNodesKeepTheirModes: what is bound from the host's /dev is the
// host's own node.
func TestDeviceNodesKeepTheirModes(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		before, _ := os.Stat("/dev/full")
		w.run("--", "sh", "-c", "chmod 600 /dev/full; chown $(id -u) /dev/full; touch -d 2000-01-01 /dev/full")
		after, _ := os.Stat("/dev/full")
		if before.Mode() != after.Mode() {
			_ = os.Chmod("/dev/full", before.Mode().Perm())
			t.Errorf("mode %v became %v", before.Mode(), after.Mode())
		}
	})
}

// TestTmpAsTheProject: the private /tmp would swallow the work.
func TestTmpAsTheProject(t *testing.T) {
	w := newWorld(t, ordinary(t))
	w.project = "/tmp"
	if r := w.run("--", "true"); r.code != 125 || !strings.Contains(r.err, "--write /tmp") {
		t.Errorf("%s", r)
	}
}

// TestRecognitionDoesNotWait: what a repository puts where carrel looks for an
// agent's package cannot hold the start.
func TestRecognitionDoesNotWait(t *testing.T) {
	w := newWorld(t, ordinary(t))
	w.outsideSh("mkdir -p node_modules/@anthropic-ai/claude-code; mkfifo node_modules/@anthropic-ai/claude-code/package.json package.json .yarnrc.yml")
	for _, command := range []string{"npx @anthropic-ai/claude-code", "node node_modules/@anthropic-ai/claude-code/cli.js", "yarn dlx @anthropic-ai/claude-code"} {
		r := w.plain("timeout", append([]string{"10", w.bin, "explain", "--"}, strings.Fields(command)...)...)
		if r.code == 124 || !strings.Contains(r.out, "none recognised") {
			t.Errorf("%s: %s", command, r)
		}
	}
}
