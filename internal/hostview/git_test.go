package hostview

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/gitconf"
	"carrel/internal/policy"
	"pgregory.net/rapid"
)

// gitTool runs the real git as an oracle, with only the configuration that a
// test gives it.
func gitTool(t *testing.T, dir string, env []string, args ...string) ([]byte, error) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal("git is needed to compare with, and is not installed")
	}
	cmd := exec.Command(git, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "GIT_CONFIG_SYSTEM=/dev/null"}, env...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = errors.Join(err, errors.New(errs.String()))
	}
	return out, err
}

// listed writes entries as `git config --list -z` does.
func listed(entries []gitconf.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Name())
		if !e.NoValue {
			b.WriteString("\n" + e.Value)
		}
		b.WriteByte(0)
	}
	return b.String()
}

var gitSamples = []string{
	"", "[user]\nname = A B \n\temail=a@b ; c\n", "[a \"b\\\"c\\\\d\"]\nk = \"x # y\" # z\n", "[A.B]\nK\n", "[a] k = v\n[b]x=\"  \"\n",
	"[a]\nk = one\\\n two\n", "[a]\nk = \"a\\tb\\nc\\\\\\\"\\b\"\n", "\xef\xbb\xbf[a]\nk=v\n", "[a]\r\nk = v\r\n", "[a \"\"]\nk=\n",
	"[a]\nk = v\\", "[a]\nk = \"open\n", "[a]\nk-1 = x;y\n", "[a]\n1k = x\n", "k = v\n", "[a\n]\nk=v\n", "[a \"x]\nk=v", "[a]\nk v\n",
	"[a]\nk = \\q\n", "[a.b \"C d\"]\nk=1\n", "[-a]\nk=\xff\xfe\n", "#c\n;c\n[a];c\nk=v#c", "[a \"x\" ]\nk=v\n", "[a]\nk = a \"b\" c\n", "[]\nk=v\n",
	"[a]\nk=a\x0bb\n", "[a]\nk = x \\\n   y\n", "[a]\nk = \"x\\\ny\"\n", "[a]\n k\n k2 \n", "[a \"b\nc\"]\nk=v\n", "[a]b=c\n[a]\n\n\nb=\n",
}

func TestGitParserAgainstGit(t *testing.T) {
	dir := t.TempDir()
	for _, s := range gitSamples {
		compareWithGit(t, dir, s)
	}
}

// TestGitParserProperty compares on texts made of the bytes that matter.
func TestGitParserProperty(t *testing.T) {
	dir := t.TempDir()
	piece := rapid.SampledFrom([]string{"[", "]", "a", "B", "1", "-", ".", " ", "\t", "\n", "\r\n", "\r", "\"", "\\", "=", "#", ";", "[a]\n", "[a \"b\"]", "k = v\n", "\\n", "\xff"})
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 1, 12).Draw(rt, "text"), "")
		// Versions of Git differ on blanks inside an unquoted Value: some
		// keep them, some write a space for each.
		if strings.ContainsAny(strings.ReplaceAll(text, "\r\n", "\n"), "\t\r") {
			rt.Skip("blanks")
		}
		compareWithGit(t, dir, text)
		if t.Failed() {
			rt.FailNow()
		}
	})
}

func compareWithGit(t *testing.T, dir, text string) {
	t.Helper()
	p := filepath.Join(dir, "config")
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want, gitErr := gitTool(t, dir, nil, "config", "--no-includes", "-f", p, "--list", "-z")
	got, err := gitconf.Parse([]byte(text))
	if (err == nil) != (gitErr == nil) {
		t.Errorf("%q: error %v, git says %v", text, err, gitErr)
	} else if err == nil && listed(got) != string(want) {
		t.Errorf("%q: %q, git reads %q", text, listed(got), want)
	}
}

func FuzzGitConfig(f *testing.F) {
	for _, s := range gitSamples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := gitconf.Parse(data)
		if err != nil {
			return
		}
		keep, _ := filterGit(entries)
		again, err := gitconf.Parse(formatGitConfig(keep))
		if err != nil || listed(again) != listed(keep) {
			t.Fatalf("kept %q, read back %q, %v", listed(keep), listed(again), err)
		}
		for _, e := range keep {
			if strings.HasPrefix(e.Section, "include") || e.Section == "credential" || e.Section == "gpg" {
				t.Fatalf("%s is kept", e.Name())
			}
		}
	})
}

const hostGitconfig = `[user]
	name = Ann "A" Other
	email = ann@example.org
	signingKey = CANARY
[core]
	editor = CANARY
	pager = CANARY
	hooksPath = CANARY
	sshCommand = CANARY
	fsmonitor = CANARY
	askPass = CANARY
	autocrlf = input
	excludesFile = ~/ignore-me
[init]
	defaultBranch = main
	templateDir = CANARY
[credential]
	helper = CANARY
[credential "https://x"]
	username = CANARY
[alias]
	st = status -sb
	evil = !CANARY
	conf = -c core.pager=CANARY log
[url "git@github.com:"]
	insteadOf = https://github.com/
[url "https://u:CANARY@github.com/"]
	insteadOf = gh:
[url "https://CANARY@github.com/"]
	insteadOf = gt:
[url "ext::CANARY"]
	insteadOf = e:
[commit]
	gpgsign = true
	template = CANARY
[gpg]
	program = CANARY
[filter "lfs"]
	clean = git-lfs clean -- %f
	required = true
[filter "evil"]
	clean = CANARY
[diff "pdf"]
	textconv = CANARY
	binary = true
[merge "x"]
	driver = CANARY
[sequence]
	editor = CANARY
[http]
	extraHeader = CANARY
	postBuffer = 1
[safe]
	directory = *
	directory = /srv/repo
[branch "we\"ird"]
	rebase
[pull]
	rebase = true
[include]
	path = more.inc
[includeIf "gitdir:~/src/"]
	path = work.inc
[includeIf "gitdir:~/other/"]
	path = other.inc
[color "diff"]
	new = green bold
[submodule]
	recurse = true
[remote "o"]
	uploadpack = CANARY
[protocol "ext"]
	allow = always
[rerere]
	enabled
`

func TestGitConfig(t *testing.T) {
	v := inspect(t, tree{
		"/home/u/.gitconfig": hostGitconfig, "/home/u/more.inc": "[pull]\nff = only\n[include]\npath = ~/.gitconfig\n",
		"/home/u/work.inc": "[user]\nemail = work@example.org\n", "/home/u/other.inc": "[user]\nemail = CANARY\n",
		"/home/u/.config/git/config": "[fetch]\nprune = true\n[core]\nattributesFile = CANARY\n", "/etc/gitconfig": "[push]\ndefault = simple\n[credential]\nhelper=CANARY\n",
		"/home/u/ignore-me": "*.o\n", testProject + "/.git/": "",
	})
	text := mustFile(t, v, "/home/u/.gitconfig")
	if strings.Contains(text, "CANARY") {
		t.Errorf("something dangerous is left:\n%s", text)
	}
	dir := t.TempDir()
	p := filepath.Join(dir, ".gitconfig")
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := gitTool(t, dir, nil, "config", "-f", p, "--list", "-z")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for _, want := range []string{
		"user.name\nAnn A Other", "user.email\nann@example.org", "user.email\nwork@example.org", "core.autocrlf\ninput",
		"init.defaultbranch\nmain", "alias.st\nstatus -sb", "url.git@github.com:.insteadof\nhttps://github.com/",
		"filter.lfs.clean\ngit-lfs clean -- %f", "diff.pdf.binary\ntrue", "http.postbuffer\n1", "safe.directory\n/srv/repo",
		"safe.directory\n" + testProject, "branch.we\"ird.rebase", "pull.rebase\ntrue", "pull.ff\nonly", "color.diff.new\ngreen bold",
		"submodule.recurse\ntrue", "fetch.prune\ntrue", "push.default\nsimple", "rerere.enabled", "credential.helper\n", "core.askpass\n",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("git does not see %q in\n%s", want, text)
		}
	}
	for _, line := range got {
		name, _, _ := strings.Cut(line, "\n")
		for _, bad := range []string{"include", "gpg.", "commit.", "credential.https", "safe.directory\n*", "core.excludesfile", "remote.", "protocol.", "alias.evil", "alias.conf"} {
			if strings.HasPrefix(line, bad) {
				t.Errorf("%s is left", name)
			}
		}
	}
	if last, _ := gitTool(t, dir, nil, "config", "-f", p, "user.email"); string(last) != "work@example.org\n" {
		t.Errorf("user.email = %q, want the one of the included file", last)
	}
	if mustFile(t, v, "/home/u/.config/git/ignore") != "*.o\n" {
		t.Error("core.excludesFile is not at the default place")
	}
	if !hasNote(v, "signing") || v.Env["GIT_TERMINAL_PROMPT"] != "0" {
		t.Error("no note about signing, or prompts are on")
	}
	if f := mustFile(t, v, "/etc/gitconfig"); strings.Contains(f, "[") {
		t.Errorf("/etc/gitconfig still says something: %q", f)
	}
}

// TestGitIncludeIf compares every condition with git's own answer, in a real
// repository.
func TestGitIncludeIf(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	conditions := []string{
		"gitdir:~/src/", "gitdir:~/src", "gitdir:~/SRC/", "gitdir/i:~/SRC/", "gitdir:src/", "gitdir:p/", "gitdir:p/.git", "gitdir:" + home + "/",
		"gitdir:" + home + "/src/*/.git", "gitdir:" + home + "/*/.git", "gitdir:" + home + "/**/.git", "gitdir:./src/", "gitdir:./", "gitdir:./sr?/p/",
		"gitdir:~/[rst]rc/", "gitdir:~/[!s]rc/", "gitdir:~/src/**/x", "gitdir:**/p/**", "gitdir:~/sr*/", "gitdir:/", "gitdir:", "gitdir:.git",
		"gitdir:~/**", "gitdir:~/src/p/.git/", "gitdir:~/src/p/.git", "gitdir/i:P/.GIT", "gitdir:~/\\src/", "gitdir:~/src**/", "gitdir:~", "gitdir:../",
		"gitdir:~/[[:alpha:]]rc/", "gitdir:~/[a-t]rc/",
	}
	for _, sub := range []string{"src/p", "src/deep/er/p", "top"} {
		project := filepath.Join(home, sub)
		if _, err := gitTool(t, home, nil, "init", "-q", project); err != nil {
			t.Fatal(err)
		}
		for _, c := range conditions {
			compareInclude(t, home, project, c)
		}
	}
	wt := filepath.Join(home, "worktree")
	ident := []string{"-C", filepath.Join(home, "top"), "-c", "user.name=n", "-c", "user.email=e"}
	for _, args := range [][]string{{"commit", "-q", "--allow-empty", "-m", "m"}, {"worktree", "add", "-q", wt}} {
		if _, err := gitTool(t, home, []string{"HOME=/nonexistent"}, append(ident, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []string{"gitdir:~/top/", "gitdir:~/worktree/", "gitdir:~/top/.git/worktrees/*"} {
		compareInclude(t, home, wt, c)
	}
}

func compareInclude(t *testing.T, home, project, condition string) {
	t.Helper()
	text := "[includeIf \"" + strings.ReplaceAll(condition, `\`, `\\`) + "\"]\n\tpath = inc\n"
	for name, content := range map[string]string{".gitconfig": text, "inc": "[user]\n\tname = included\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, _ := gitTool(t, project, []string{"HOME=" + home}, "config", "user.name")
	o := Options{Home: home, Project: project, HomeMode: policy.HomeToolchains}
	in := newInspector(o)
	in.system()
	got := false
	for _, e := range in.gitEntries() {
		got = got || e.Name() == "user.name"
	}
	if got != (len(want) > 0) {
		t.Errorf("%s in %s: included=%v, git says %q", condition, project, got, want)
	}
}

func TestGitBroken(t *testing.T) {
	v := inspect(t, tree{"/home/u/.gitconfig": "[user\nname", "/home/u/.config/git/config": "[user]\nname = X\n"})
	if !hasNote(v, "~/.gitconfig is left out: git configuration, line 1") {
		t.Errorf("notes %q", v.Notes)
	}
	if !strings.Contains(mustFile(t, v, "/home/u/.gitconfig"), "name") {
		t.Error("a broken file took another one with it")
	}
}

func TestGitNoRepository(t *testing.T) {
	v := inspect(t, tree{"/home/u/.gitconfig": "[includeIf \"gitdir:/\"]\npath = x\n", "/home/u/x": "[user]\nname = CANARY\n", testProject + "/.git": "gitdir: /nowhere\n"})
	if strings.Contains(mustFile(t, v, "/home/u/.gitconfig"), "CANARY") {
		t.Error("a condition holds without a repository")
	}
}
