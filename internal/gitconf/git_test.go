package gitconf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// git runs the real one, apart from the settings of whoever runs the test.
func git(t interface{ Helper() }, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.Output()
	return string(out), err
}

func needGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is needed to compare with, and is not installed")
	}
}

// listed is what `git config --list -z` writes for these entries.
func listed(list []Entry) string {
	var b strings.Builder
	for i := range list {
		e := &list[i]
		b.WriteString(e.Name())
		if !e.NoValue {
			b.WriteString("\n" + e.Value)
		}
		b.WriteByte(0)
	}
	return b.String()
}

// sameAsGit says whether git reads a file as Parse does, and refuses the same
// ones. Where an entry is odd, inner white space may have become a blank.
func sameAsGit(t *testing.T, dir string, data []byte) error {
	list, err := Parse(data)
	strict, strictErr := ParseStrict(data)
	if strictErr == nil && (err != nil || listed(strict) != listed(list)) {
		return fmt.Errorf("strictly %q, else %q, %v", listed(strict), listed(list), err)
	}
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	out, gitErr := git(t, dir, "config", "--list", "-z", "--no-includes", "-f", file)
	if (gitErr == nil) != (err == nil) {
		return fmt.Errorf("git: %v, %q; we: %v, %q", gitErr, out, err, listed(list))
	}
	if err != nil {
		return nil
	}
	want := listed(list)
	for i := range list {
		if list[i].Odd {
			blanks := strings.NewReplacer("\t", " ", "\r", " ")
			out, want = blanks.Replace(out), blanks.Replace(want)
			break
		}
	}
	if out != want {
		return fmt.Errorf("git reads %q, we %q", out, want)
	}
	return nil
}

var pieces = []string{
	"[", "]", "[core]", "[Remote \"a\"]", "[a.B]", "[a.b \"C\\\"d\\\\\"]", "[x \"\"]", "[x \"a]\"]", "[include]", "key", "Ke-y1", "=", " = ", "value", "\"quo ted\"", "\"", "\\", "\\n", "\\t", "\\\"", "\\\\", "\\\n", "\\b",
	" ", "\t", "  ", "\n", "\r\n", "\r", "#", ";", "# c\n", "\n[core]\n\tk = v\n", "\nurl = https://x/y\n", "é", "\xff", "\x00", "\xef\xbb\xbf", ".", "-", "1", "path", "!sh",
}

// TestParseAgreesWithGit draws files at random: git refuses the same ones, and
// reads the same keys and values from the others.
func TestParseAgreesWithGit(t *testing.T) {
	needGit(t)
	dir := t.TempDir()
	read := 0
	rapid.Check(t, func(rt *rapid.T) {
		var data string
		if rapid.Bool().Draw(rt, "tidy") {
			data = tidyFile(rt)
		} else {
			data = strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(rt, "pieces"), "")
		}
		if list, err := Parse([]byte(data)); err == nil && len(list) > 0 {
			read++
		}
		if err := sameAsGit(t, dir, []byte(data)); err != nil {
			rt.Fatalf("%q: %v", data, err)
		}
	})
	if read < 10 {
		t.Errorf("only %d files could be read: the test shows nothing", read)
	}
}

// tidyFile draws a file that mostly has proper lines.
func tidyFile(t *rapid.T) string {
	value := rapid.SliceOfN(rapid.SampledFrom(append(pieces[14:28:28], "a", "b c", "x#y", "\"#\"", "\" ;\"", "=", "[x]")), 0, 6)
	var b strings.Builder
	b.WriteString(rapid.SampledFrom([]string{"", "\xef\xbb\xbf", "# c\n"}).Draw(t, "start"))
	for range rapid.IntRange(1, 4).Draw(t, "sections") {
		b.WriteString(rapid.SampledFrom([]string{"[core]", "[CORE \"X y\"]", "[a.B]", "[r \"a\\\\b\\\"\"]", "[r \t\"\\q\"]", "[x \"\"]"}).Draw(t, "head"))
		b.WriteString(rapid.SampledFrom([]string{"\n", " ", "\r\n", " # c\n", ""}).Draw(t, "end"))
		for range rapid.IntRange(0, 3).Draw(t, "keys") {
			b.WriteString(rapid.SampledFrom([]string{"\tkey", "K-2", "x "}).Draw(t, "key"))
			if rapid.Bool().Draw(t, "valued") {
				b.WriteString(rapid.SampledFrom([]string{"=", " = ", "\t=\t"}).Draw(t, "is") + strings.Join(value.Draw(t, "value"), ""))
			}
			b.WriteString(rapid.SampledFrom([]string{"\n", "\r\n", "\n\n"}).Draw(t, "eol"))
		}
	}
	return b.String()
}

// TestVetChangeHoldsWhatGitReads: whatever is accepted, git reads the
// dangerous keys from it as before.
func TestVetChangeHoldsWhatGitReads(t *testing.T) {
	needGit(t)
	dir := t.TempDir()
	accepted := 0
	rapid.Check(t, func(rt *rapid.T) {
		parts := []string{baseConfig, "[user]\n", "name = x\n", "[branch \"b\"]\n", "remote = origin\n", "remote = .\\\n", "merge=refs/heads/b\n", "[core]", "hooksPath=x\n", "filemode=true\n", "description = \"a\\n[core]\\nhooksPath=y\"\n", "# x\n", "[alias]\n\tst = status\n"}
		after := baseConfig + strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts[1:]), 0, 6).Draw(rt, "after"), "")
		if VetChange([]byte(baseConfig), []byte(after)) != nil {
			return
		}
		accepted++
		file := filepath.Join(dir, "config")
		if err := os.WriteFile(file, []byte(after), 0o600); err != nil {
			rt.Fatal(err)
		}
		out, err := git(t, dir, "config", "-f", file, "--get-regexp", `^(core\.hookspath|alias\..*|core\.bare)$`)
		if err != nil || out != "core.bare false\nalias.st status\n" {
			rt.Fatalf("%q was accepted; git reads %q, %v", after, out, err)
		}
	})
	if accepted < 5 {
		t.Errorf("only %d files were accepted: the test shows nothing", accepted)
	}
}

// TestVetChangeLetsGitWork runs what people and agents do every day and
// looks at the configuration after each step, as the broker does at each rename.
func TestVetChangeLetsGitWork(t *testing.T) {
	needGit(t)
	dir := t.TempDir()
	run := func(line string) (before, after []byte) {
		t.Helper()
		before, _ = os.ReadFile(filepath.Join(dir, ".git/config"))
		if _, err := git(t, dir, strings.Fields(line)...); err != nil {
			t.Fatalf("git %s: %v", line, err)
		}
		after, _ = os.ReadFile(filepath.Join(dir, ".git/config"))
		return before, after
	}
	run("init -q -b main")
	run("commit -q --allow-empty -m x")
	for _, line := range []string{
		"init -q", "remote add origin https://example.com/a.git", "remote add -t main --mirror=fetch up git@example.com:a/b.git", "remote rename origin source", "remote set-url source ssh://git@example.com/x",
		"remote set-url --push source https://example.com/y", "remote set-branches --add source dev", "config branch.main.remote source", "config branch.main.merge refs/heads/main",
		"checkout -q -b topic --track main", "branch -m topic other", "branch -c other copy", "branch -d copy", "config user.name Ada", "config user.email ada@example.com", "config core.fileMode false", "config pull.rebase true",
		"config --unset pull.rebase", "sparse-checkout init --cone", "config submodule.lib.url https://example.com/lib", "config submodule.lib.active true", "remote remove source", "gc -q", "maintenance run",
	} {
		if before, after := run(line); VetChange(before, after) != nil {
			t.Errorf("git %s: %v", line, VetChange(before, after))
		}
	}
	for _, line := range []string{"config core.hooksPath x", "config alias.x !sh", "config core.fsmonitor true", "config include.path x", "config remote.up.uploadpack x", "config --unset core.hooksPath", "config --rename-section alias pager", "config --remove-section include"} {
		if before, after := run(line); VetChange(before, after) == nil {
			t.Errorf("git %s was accepted", line)
		}
	}
}

func FuzzVetChange(f *testing.F) {
	for _, seed := range []string{baseConfig, "", "[core]hooksPath=x", "[a \"b\\\"\"]\n\tc = \"d\\n\" # e\n", "\xef\xbb\xbf[x]\r\ny\r\n", "[a]\nb=c\\\n d\n", "[a]\nb=c\td\n", "[a.b]\nc", "[user]\nname=x;y\n", "[a]\n\"", "\x00", "[remote \"x\"]\nurl=ext::sh\n", "[branch \"x\"]\nremote=.\n"} {
		f.Add([]byte(baseConfig), []byte(seed))
		f.Add([]byte(seed), []byte(baseConfig+seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, before, after []byte) {
		list, err := ParseStrict(after)
		if same := VetChange(after, after); (same == nil) != (err == nil) {
			t.Fatalf("parsing: %v; the same file twice: %v", err, same)
		}
		if err != nil {
			return
		}
		if again, err := ParseStrict([]byte(rewritten(list))); err != nil || listed(again) != listed(list) {
			t.Fatalf("written again it is %q, %v", listed(again), err)
		}
		if len(after) < 40 { // the real git costs too much for each input
			if err := sameAsGit(t, dir, after); err != nil {
				t.Fatal(err)
			}
		}
		if VetChange(before, after) != nil {
			return
		}
		old, _ := ParseStrict(before)
		if fixedOnly(old) != fixedOnly(list) {
			t.Fatalf("accepted a change of %q to %q", fixedOnly(old), fixedOnly(list))
		}
	})
}

func fixedOnly(list []Entry) string {
	var keep []Entry
	for _, e := range list {
		if harmless(&e) == nil {
			keep = append(keep, e)
		}
	}
	return listed(keep)
}

// rewritten gives a file with these entries in the plainest form.
func rewritten(list []Entry) string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
	var b strings.Builder
	for i := range list {
		e := &list[i]
		b.WriteString("[" + e.Section)
		if e.HasSub {
			b.WriteString(` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(e.Sub) + `"`)
		}
		b.WriteString("]\n" + e.Key)
		if !e.NoValue {
			b.WriteString(` = "` + quote.Replace(e.Value) + `"`)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
