//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestExplainTellsTheTruth: what explain says of a path is what a program
// inside finds, for files in all sorts of places under all sorts of rules.
func TestExplainTellsTheTruth(t *testing.T) {
	flagSets := [][]string{
		nil, {"--home", "full"}, {"--home", "none"}, {"--nested", "full"}, {"--deny", "**/*.pem"}, {"--deny", "sub"}, {"--deny", "sub", "--read", "PROJECT/sub/deep"},
		{"--protect", "sub"}, {"--protect", "**/*.txt", "--deny", "**/*.pem"}, {"--read", "OUTSIDE"}, {"--write", "OUTSIDE"}, {"--write", "OUTSIDE", "--protect", "OUTSIDE/a"}, {"--read", "OUTSIDE", "--write", "OUTSIDE/b", "--deny", "OUTSIDE/b/x.txt"},
		{"--read", "HOME/docs"}, {"--write", "HOME/docs", "--home", "full"}, {"--write", "OUTSIDE/link"}, {"--deny", "link"}, {"--write", "HOME"}, {"--home", "full", "--deny", "HOME/docs"},
	}
	for _, set := range flagSets {
		t.Run(strings.Join(set, " "), func(t *testing.T) {
			asUser(t, func(t *testing.T, p person) {
				w := newWorld(t, p)
				w.litter = true
				if p.uid == 0 || p.uid == plainUID {
					w.need("git")
				}
				w.repository()
				files := []string{
					w.project + "/top.txt", w.project + "/sub/x.txt", w.project + "/sub/deep/y.txt", w.project + "/key.pem", w.project + "/.env", w.project + "/.env.example", w.project + "/.vscode/tasks.json", w.project + "/.envrc",
					w.project + "/.git/hooks/pre-commit", w.project + "/.git/info/exclude", w.outside + "/a/x.txt", w.outside + "/b/x.txt", w.outside + "/top.txt",
					w.home + "/docs/x.txt", w.home + "/.ssh/id_rsa", w.home + "/.aws/credentials", w.home + "/.cargo/bin/tool", w.home + "/.cargo/credentials.toml", w.home + "/.bashrc", w.home + "/.config/app/settings", w.home + "/.claude/.credentials.json", w.home + "/.bash_history",
				}
				for _, f := range files {
					w.write(f, "HOST content\n")
				}
				w.symlink("sub", w.project+"/link")
				w.symlink("a", w.outside+"/link")
				w.must(os.Chmod(w.home+"/.cargo/bin/tool", 0o755))
				flags := make([]string, len(set))
				for i, f := range set {
					flags[i] = strings.NewReplacer("PROJECT", w.project, "OUTSIDE", w.outside, "HOME", w.home).Replace(f)
				}
				w.checkAccess(flags, files, w.explained(flags, files))
			})
		})
	}
}

// explained asks for the access to each path.
func (w *world) explained(flags, paths []string) map[string]string {
	w.t.Helper()
	args := append([]string{"explain", "--json"}, flags...)
	for _, p := range paths {
		args = append(args, "--path", p)
	}
	r := w.carrel(args...)
	var got struct {
		Paths []struct{ Path, Access string }
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || len(got.Paths) != len(paths) {
		w.t.Fatalf("explain: %v %s", err, r)
	}
	access := make(map[string]string)
	for _, p := range got.Paths {
		access[p.Path] = p.Access
	}
	return access
}

// checkAccess tries, in one run, what explain said of each file.
func (w *world) checkAccess(flags, files []string, said map[string]string) {
	w.t.Helper()
	const content = "HOST content\n"
	var tries []string
	for _, f := range files {
		tries = append(tries, "read", f, "--", "write", f, "--")
	}
	verdicts := strings.Split(w.attack(flags, tries[:len(tries)-1]...), "\n")
	if len(verdicts) != 2*len(files) {
		w.t.Fatalf("%q: %d verdicts on %d files: %q", flags, len(verdicts), len(files), verdicts)
	}
	for i, f := range files {
		access, read, write := said[f], verdicts[2*i], verdicts[2*i+1]
		data, err := os.ReadFile(f)
		w.must(err)
		reads, changed := strings.HasPrefix(read, "ok HOST"), string(data) != content
		wantRead, wantWrite := access == "read" || access == "write", access == "write"
		if access != "read" && access != "write" && access != "deny" && access != "private" && access != "none" {
			w.t.Errorf("%q: %s: an access that this test does not know: %q", flags, f, access)
		}
		if reads != wantRead || changed != wantWrite {
			w.t.Errorf("%q: %s: explain says %s; reading gave %q, writing %q, changed on the host: %v", flags, f, access, read, write, changed)
		}
	}
}

// TestExplainRefusesWhatRunRefuses with the same words.
func TestExplainRefusesWhatRunRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	ceiling := w.write(w.outside+"/ceiling.yaml", "network: closed\n")
	for _, flags := range [][]string{{"--network", "open", "--permissions", ceiling}, {"--read", w.outside + "/nothing"}, {"--nested", "x"}, {"--deny", ""}} {
		run, explain := w.run(append(append([]string{}, flags...), "--", "true")...), w.carrel(append(append([]string{"explain"}, flags...), "--", "true")...)
		if run.code != 125 || explain.code != 125 || run.err != explain.err {
			t.Errorf("%q:\nrun: %s\nexplain: %s", flags, run, explain)
		}
	}
}

// TestCeiling: the most that may be granted, whatever is asked for.
func TestCeiling(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	ceiling := w.write(w.outside+"/ceiling.yaml", "network: local\nnested: none\n")
	if r := w.run("--permissions", ceiling, "--network", "open", "--", "true"); r.code != 125 || !strings.Contains(r.err, "network") || !strings.Contains(r.err, "ceiling.yaml:1") {
		t.Errorf("more than the ceiling: %s", r)
	}
	w.fails([]string{"--permissions", ceiling}, []string{"in", "user", "euid"}, "EPERM")
	w.setenv("CARREL_PERMISSIONS", ceiling)
	if r := w.run("--network", "open", "--", "true"); r.code != 125 {
		t.Errorf("by variable: %s", r)
	}
	w.write(ceiling, "netwrok: local\n")
	if r := w.run("--", "true"); r.code != 125 || !strings.Contains(r.err, "ceiling.yaml:1:1") {
		t.Errorf("a broken ceiling: %s", r)
	}
	w.write(w.project+"/ceiling.yaml", "network: open\n")
	w.setenv("CARREL_PERMISSIONS", "ceiling.yaml")
	r := w.run("--", "sh", "-c", "echo owned > ceiling.yaml; mv ceiling.yaml x; rm -f ceiling.yaml; echo owned > ceiling.yaml")
	if data, err := os.ReadFile(w.project + "/ceiling.yaml"); err != nil || string(data) != "network: open\n" {
		t.Errorf("a ceiling inside the project was written by the command: %q %v %s", data, err, r)
	}
}
