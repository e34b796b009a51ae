//go:build linux

package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTour types what README's tour types, in one project from its first line to
// its last, and compares what is printed with what README says. A file that the
// tour shows by cat is written as shown. CARREL_TOUR=write puts what was printed
// into README.
func TestTour(t *testing.T) {
	t.Parallel()
	const path = "../README.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, tour, found := strings.Cut(string(text), "\n## A minute's tour\n")
	tour, after, closed := strings.Cut(tour, "\n## ")
	if !found || !closed {
		t.Fatal("README has no tour")
	}
	w := tourist(t)
	commands := 0
	now := consoleBlock.ReplaceAllStringFunc(tour, func(block string) string {
		var out strings.Builder
		out.WriteString("```console\n")
		for _, part := range strings.Split(consoleBlock.FindStringSubmatch(block)[1], "\n$ ")[1:] {
			command, shown, _ := strings.Cut(part, "\n")
			if shown != "" {
				shown += "\n"
			}
			commands++
			printed := w.typed(command, shown)
			if steady(printed) == steady(shown) {
				printed = shown
			} else {
				t.Errorf("$ %s\nREADME says:\n%s\nprinted:\n%s", command, shown, printed)
			}
			out.WriteString("$ " + command + "\n" + printed)
		}
		return out.String() + "```\n"
	})
	if commands < 15 {
		t.Errorf("the tour has %d commands", commands)
	}
	if os.Getenv("CARREL_TOUR") == "write" {
		w.must(os.WriteFile(path, []byte(before+"\n## A minute's tour\n"+now+"\n## "+after), 0o644))
	}
}

// consoleBlock finds the lines of a block, with the line break before the first.
var consoleBlock = regexp.MustCompile("(?s)```console(\n.*?)\n```\n")

// tourist is a person with the tour's project: a Makefile, a .env, a repository.
func tourist(t *testing.T) *world {
	w := newWorld(t, people()[0])
	w.installAgents()
	w.setenv("PATH", w.base+"/bin:"+w.home+"/.npm-global/bin:/usr/local/bin:/usr/bin:/bin")
	w.litter = true // of Claude Code
	// A commit's directory of objects depends on its time: one that is there already counts as nothing added.
	w.setenv("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
	w.setenv("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
	w.write(w.home+"/.gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n")
	w.write(w.home+"/.ssh/id_ed25519", "a private key\n")
	w.write(w.project+"/Makefile", "all:\n\t@echo built\n")
	w.write(w.project+"/.env", "TOKEN=secret\n")
	w.write(w.project+"/.gitignore", ".env\n")
	w.write(w.project+"/src/main.py", "print('one')\n")
	if r := w.finish(w.command("sh", "-c", "git init -q && git add . && git commit -qm first")); r.code != 0 {
		t.Fatal(r)
	}
	return w
}

// typed gives what a command prints in the project, as it would be in README's.
func (w *world) typed(command, shown string) string {
	w.t.Helper()
	if name, ok := strings.CutPrefix(command, "cat "); ok && shown != "" {
		w.write(w.project+"/"+name, shown)
	}
	r := w.finish(w.command("bash", "-c", "exec 2>&1\n"+command))
	return strings.NewReplacer(w.project, "/home/ada/notes", w.home, "/home/ada").Replace(r.out)
}

// steady puts words in the place of what is another one each time.
func steady(s string) string {
	for _, v := range []struct{ what, word string }{
		{`(?m)^[0-9a-f]{7} `, "COMMIT "},
		{`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`, "TIME"},
		{`\d+\.\d+\.\d+`, "VERSION"},
		{`, \d+ times\n`, ", some times\n"}, // curl asks for each kind of address
	} {
		s = regexp.MustCompile(v.what).ReplaceAllString(s, v.word)
	}
	return s
}
